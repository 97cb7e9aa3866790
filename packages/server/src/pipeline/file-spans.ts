import { EngineUnavailable } from "../model/faults.ts";
import { sourceWord } from "../model/job-card.ts";
import { noteOf, type Report } from "../model/report.ts";
import type { Source } from "../model/source.ts";
import { linkFields, type Span } from "../traces/spans.ts";

/** The spans of one file that is fetched and scanned: these are two at the same time, as engines see bytes while they arrive. */
export interface FileSpans {
  /** For whoever fetches; there is none of an upload, whose bytes come with the request. */
  readonly fetching: Span | undefined;
  scanning(): void;
  /** The last byte was read. */
  fetched(): void;
  reported(report: Report): void;
  /** It came to no report. */
  failed(error: unknown): void;
}

export function fileSpans(above: Span, source: Source): FileSpans {
  const fetching = fetchSpan(above, source);
  let scan: Span | undefined;

  function end(fields: Parameters<Span["end"]>[0]): void {
    fetching?.end(fields);
    scan?.end(fields);
  }

  return {
    fetching,
    scanning() {
      scan = above.child("scan");
    },
    fetched: () => fetching?.end(),
    reported(report) {
      const { failure } = report;
      end({ ...noteOf(report), status: failure?.statusCode });
    },
    failed(error) {
      // Why we stopped is nobody's failure but ours, and said in the span above.
      end(error instanceof EngineUnavailable ? { error: error.message } : { error: "given up" });
    },
  };
}

function fetchSpan(above: Span, source: Source): Span | undefined {
  if (source.kind === "upload") return undefined;
  if (source.kind === "object") return above.child("object", { source: sourceWord(source) });
  return above.child("download", linkFields(source.url));
}
