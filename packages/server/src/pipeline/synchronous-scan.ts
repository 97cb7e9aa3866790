import { SYNC_MAX_FILE_BYTES } from "@lazaret/contract";
import { firstOf } from "../flow/time-limit.ts";
import type { Report } from "../model/report.ts";
import type { Source } from "../model/source.ts";
import { type AdmissionOptions, admission } from "../scan/admission.ts";
import { finishScanNow, type ObjectSteps } from "./finish-object.ts";
import type { InspectOptions } from "./inspect.ts";

export interface SynchronousScanOptions extends Pick<AdmissionOptions, "slots" | "longestLine" | "hold"> {
  inspect(source: Source, options: InspectOptions): Promise<Report>;
  objects: ObjectSteps;
}

/** Throws `Busy`, `TooSlow`, `EngineUnavailable`, or `signal.reason`. */
export type SynchronousScan = (source: Source, keyDigest: string, signal: AbortSignal) => Promise<Report>;

/** Scans whose results somebody waits for: so many at once, the next ones in a line. */
export function synchronousScan(options: SynchronousScanOptions): SynchronousScan {
  const { inspect, objects, ...admitted } = options;
  const line = admission(admitted);
  return async (source, keyDigest, given) => {
    given.throwIfAborted();
    const lost = new AbortController();
    const place = line.join(keyDigest, (reason) => lost.abort(reason));
    using either = firstOf([given, lost.signal]);
    const { signal } = either;
    try {
      const report = await inspect(source, {
        maxBytes: SYNC_MAX_FILE_BYTES,
        signal,
        admit: (bytes) => place.admit(bytes, signal),
      });
      return source.kind === "object" ? (await finishScanNow(source, report, objects)).report : report;
    } finally {
      place.leave();
    }
  };
}
