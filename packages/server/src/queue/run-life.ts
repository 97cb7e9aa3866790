import type { Job } from "../model/job.ts";
import { BEGUN, type Life, type LifeStep, lived } from "../model/life.ts";
import type { Settlement } from "../model/settlement.ts";
import type { DeadLetter, Lease } from "./job-queue.ts";

/** What happens to a job in one run. It is written with whatever else is written of the job, and never by itself. */
export interface RunLife {
  /** Since the job was due. */
  readonly waitedMs: number;
  record(step: NewStep): void;
  /** The job as it is to be written. */
  of<Written extends Job>(job: Written): Written;
  /** The same of its last writing, which is a step too. */
  settled(settlement: Settlement): Settlement;
}

export type NewStep = Omit<LifeStep, "at"> & { at?: number };

/** A message for people may be of any length. */
const LONGEST_DETAIL = 200;

export function runLife({ job, attempt }: Pick<Lease, "job" | "attempt">, now: () => number): RunLife {
  const before = job.life ?? BEGUN;
  const steps: LifeStep[] = [];

  function record(step: NewStep): void {
    const { at = now(), detail = "" } = step;
    steps.push(
      detail.length > LONGEST_DETAIL ? { ...step, at, detail: detail.slice(0, LONGEST_DETAIL) } : { ...step, at },
    );
  }

  const of = <Written extends Job>(written: Written): Written => ({ ...written, life: lived(before, ...steps) });

  const waited = waitedMs(before, job, now());
  record({ what: "taken", ms: waited, attempt });
  return {
    waitedMs: waited,
    record,
    of,
    settled(settlement) {
      if (settlement.kind === "done") {
        record({ what: "done" });
        return settlement.job ? { ...settlement, job: of(settlement.job) } : settlement;
      }
      if (settlement.kind === "buried") {
        record({ what: "buried", detail: settlement.reason });
        return { ...settlement, job: of(settlement.job) };
      }
      const { afterSeconds, why } = settlement;
      record({ what: "put_back", ms: Math.round(afterSeconds * 1000), ...(why !== undefined && { detail: why }) });
      return { ...settlement, job: of(settlement.job) };
    },
  };
}

/** The life of a dead letter. Who is taken too often is buried by the queue itself, which adds no step to what it cannot open. */
export function buriedLife(life: Life = BEGUN, { buriedAt, reason }: Pick<DeadLetter, "buriedAt" | "reason">): Life {
  if (life.steps.at(-1)?.what === "buried") return life;
  return lived(life, { at: buriedAt, what: "buried", detail: reason.slice(0, LONGEST_DETAIL) });
}

/** Since it was due. What a run that died did was not written, and counts as waiting. */
export function waitedMs({ steps }: Life = BEGUN, { submittedAt }: Job, now: number): number {
  const last = steps.at(-1);
  const dueAt = last ? last.at + (last.what === "put_back" ? (last.ms ?? 0) : 0) : submittedAt;
  return Math.max(0, now - dueAt);
}
