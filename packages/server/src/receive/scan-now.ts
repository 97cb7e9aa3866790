import { findings, fitSyncResult, type Installation } from "@lazaret/contract";
import type { Report } from "../model/report.ts";
import { noteOf } from "../model/report-note.ts";
import type { Source } from "../model/source.ts";
import { tooBig } from "./body/upload.ts";
import type { Answer, ApiRequest } from "./exchange.ts";
import { Problem } from "./problem.ts";
import { renderResult } from "./render-result.ts";

export interface ScanNowOptions {
  /** Fetches, waits for a slot and scans. Throws `Busy`, `TooSlow`, `EngineUnavailable`, or `signal.reason`. */
  scan(source: Source, keyDigest: string, signal: AbortSignal): Promise<Report>;
  timeoutMs: number;
  /** Calls `fire` after so long, unless what it answers is called before. */
  timer?: (ms: number, fire: () => void) => () => void;
  installation: Installation;
}

export type ScanNow = (request: ApiRequest, wanted: { source: Source; keyDigest: string }) => Promise<Answer>;

/** A scan whose result is the answer to the request, within the synchronous API's time. */
export function scanNow({ scan, timeoutMs, timer = realTimer, installation }: ScanNowOptions): ScanNow {
  return async (request, { source, keyDigest }) => {
    const stop = new AbortController();
    const inTime = timer(timeoutMs, () => stop.abort(tooSlow(request, timeoutMs)));
    const clientGone = (): void => stop.abort(request.signal.reason);
    request.signal.addEventListener("abort", clientGone, { once: true });
    try {
      request.signal.throwIfAborted();
      const report = await scan(source, keyDigest, stop.signal);
      request.note(noteOf(report));
      if (source.kind === "upload" && report.failure?.finding === findings.tooBig) throw tooBig();
      return { status: 200, json: fitSyncResult(renderResult(report), installation) };
    } finally {
      inTime();
      request.signal.removeEventListener("abort", clientGone);
    }
  };
}

function realTimer(ms: number, fire: () => void): () => void {
  const timer = setTimeout(fire, ms);
  return () => clearTimeout(timer);
}

/** Whose fault it was decides the answer: a body that still trickles in is the client's. */
function tooSlow(request: ApiRequest, timeoutMs: number): Problem {
  const seconds = timeoutMs / 1000;
  if (request.bodyBegun && !request.bodyArrived) {
    return new Problem(408, "request_timeout", { message: `the body did not arrive within ${seconds} s` });
  }
  return new Problem(504, findings.timeout, {
    message: `no verdict within ${seconds} s`,
    hint: "use the asynchronous API for files that take longer",
  });
}
