import type { Job } from "./job.ts";

/** What the queue does with a job now. */
export type Settlement =
  /** As `job`, for the history; without one it leaves nothing behind. */
  | { kind: "done"; job?: Job }
  /** Run again after a delay, as `job`: with the report and the counts it has by now. */
  | { kind: "again"; afterSeconds: number; job: Job; why?: string }
  /** To the dead letters, as `job`. */
  | { kind: "buried"; reason: string; job: Job };

/**
 * As a worker of an older version settles: nothing goes to the history.
 * @internal
 */
export const done: Settlement = { kind: "done" };

/** A settlement as fields of a log line. */
export function noteOfSettlement(settled: Settlement): { settlement: string; after_seconds?: number; reason?: string } {
  if (settled.kind === "again") return { settlement: "again", after_seconds: settled.afterSeconds };
  if (settled.kind === "buried") return { settlement: "buried", reason: settled.reason };
  return { settlement: "done" };
}
