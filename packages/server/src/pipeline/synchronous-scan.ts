import type { Report } from "../model/report.ts";
import type { Source } from "../model/source.ts";
import type { Account } from "../model/tenant.ts";
import { newJobId } from "../queue/job-queue.ts";
import type { Admission } from "../scan/admission.ts";
import type { AskedDigest } from "../scan/engine.ts";
import type { Span } from "../traces/spans.ts";
import { finishScanNow, type ObjectSteps, onAccountOf } from "./finish-object.ts";
import { inspect, type Stages } from "./inspect.ts";
import type { KeepFinding } from "./keep-finding.ts";

export interface SynchronousScanOptions {
  /** So many at once, the next ones in a line. */
  line: Admission;
  stages: Stages;
  objects: ObjectSteps;
  keepFinding: KeepFinding;
}

/** Ends with `stop`, which it aborts itself when the scan loses its place. Throws `Busy`, `TooSlow`, `EngineUnavailable`, or its reason. */
export type SynchronousScan = (source: Source, asked: Asked, stop: AbortController) => Promise<Report>;

/** By whom, with which request, and how large the file may be. */
interface Asked {
  account: Account;
  requestId: string;
  maxBytes: number;
  digestOf?: AskedDigest["of"];
  span?: Span | undefined;
}

/** Scans whose results somebody waits for. */
export function synchronousScan(options: SynchronousScanOptions): SynchronousScan {
  const { line, stages, objects, keepFinding } = options;
  return async (source, { account, requestId, maxBytes, digestOf, span }, stop) => {
    const { signal } = stop;
    signal.throwIfAborted();
    const place = line.join(account.tenant, (reason) => stop.abort(reason));
    try {
      const report = await inspect(source, stages, {
        maxBytes,
        digestOf,
        account,
        signal,
        span,
        admit: (bytes) => place.admit(bytes, signal),
      });
      // An upload that is too big, or was cut off, is refused: it was not scanned.
      const refused = source.kind === "upload" && report.failure !== undefined;
      if (!refused) stages.meter?.verdict("sync", source.kind, report.verdict.kind);
      if (source.kind !== "object") {
        if (!refused && report.verdict.kind !== "clean")
          await keepFinding({ id: newJobId(), account, source, report, requestId });
        return report;
      }
      const announce: ObjectSteps["announce"] = (scan, signal) =>
        objects.announce({ ...scan, tenant: account.tenant }, signal);
      const id = newJobId();
      const finished = await finishScanNow(source, report, {
        steps: onAccountOf(account, { ...objects, announce }),
        keep: ({ report, action }) => keepFinding({ id, account, source, report, requestId, action }),
      });
      return finished.report;
    } finally {
      place.leave();
    }
  };
}
