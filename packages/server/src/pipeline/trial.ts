import { Busy } from "../model/faults.ts";
import { shareOf } from "../model/job.ts";
import type { JobRun } from "../queue/worker.ts";
import type { HeldBytes } from "../scan/admission.ts";
import type { Company } from "../scan/company.ts";
import type { Engine } from "../scan/engine.ts";
import type { InspectOptions } from "./inspect.ts";

export interface TrialParts {
  /** Knows nothing of company. */
  engine: Engine;
  company: Pick<Company, "enterAlone">;
  /** Takes in bytes to their end. What they throw comes through. */
  hold(bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<HeldBytes>;
}

/**
 * Lets a suspect be scanned alone. All its bytes are here before that, so that nobody else waits for a source that drips; that the trial
 * begins is durable before an engine sees them. It is alone until `turn` is disposed of. Throws `Busy` when its time was over before its turn
 * came, which says nothing about the file.
 */
export function admitAlone(
  { job, scanSignal, beginTrial }: Pick<JobRun, "job" | "scanSignal" | "beginTrial">,
  { company, hold }: TrialParts,
  turn: DisposableStack,
): NonNullable<InspectOptions["admit"]> {
  return async (bytes, signal) => {
    using undo = new DisposableStack();
    const held = await hold(bytes, signal);
    undo.defer(held.release);
    const suspect = { share: shareOf(job), failedTrials: job.failedTrials };
    const leave = await company.enterAlone(suspect, signal).catch((error: unknown) => {
      throw scanSignal.aborted ? error : new Busy("others were scanned alone all the time");
    });
    turn.defer(leave);
    await beginTrial();
    const leaving = undo.move();
    return { bytes: held.read(), leave: () => leaving.dispose() };
  };
}
