import type { Log, LogFields } from "../log.ts";
import { Busy } from "../model/faults.ts";
import type { Job } from "../model/job.ts";
import type { Settlement } from "../model/settlement.ts";
import { sourceWord } from "./job-card.ts";
import { type JobQueue, LEASE_SECONDS, type Lease } from "./job-queue.ts";

/**
 * Takes jobs and runs them, a bounded number at once.
 *
 *   take ─▶ run ─▶ settle (done, again, buried)
 *             │
 *             ├ lease lost: somebody else has the job; what we did is not written
 *             ├ stopped: put back at once, as far as it got
 *             └ threw (a full disk, a bug of ours): put back for a while, as far as it got
 *
 * A worker that dies settles nothing: its lease runs out and counts as an attempt, and the third such death buries the job.
 */
export interface Worker {
  /** Takes no more jobs, lets those under way finish for at most `graceMs`, and puts back the rest. */
  stop(graceMs: number): Promise<void>;
  readonly running: number;
}

/** What a run may do to its job before it is settled. */
export interface JobRun {
  readonly job: Job;
  /** The job as it was last saved. */
  readonly progress: Job;
  /** Writes progress. Throws `LeaseLost` when the job is somebody else's by now. */
  save(job: Job): Promise<void>;
  /**
   * From here on the job only waits for a receiver: it leaves its slot to the next, so that a slow one holds up nobody.
   * Throws `Busy` when too many jobs deliver already.
   */
  delivering(): void;
  /** Adds to the run's one log line. */
  note(fields: LogFields): void;
}

export interface WorkerOptions {
  queue: JobQueue;
  run(run: JobRun, signal: AbortSignal): Promise<Settlement>;
  /** Jobs that fetch and scan at once. */
  jobsAtOnce: number;
  /** Jobs that deliver at once, on top. */
  deliveriesAtOnce: number;
  /** False while taking jobs would be in vain, such as with the engine down. */
  mayTake?: () => boolean;
  log: Log;
  leaseSeconds?: number;
}

/** Somebody else has the job now, or will have it soon. */
export class LeaseLost extends Error {
  constructor() {
    super("the lease of the job was lost");
    this.name = "LeaseLost";
  }
}

class Stopping extends Error {}

const PAUSE_MS = 1000;
const AFTER_FAULT_SECONDS = 30;

export function startWorker(options: WorkerOptions): Worker {
  const { queue, jobsAtOnce, deliveriesAtOnce, log, mayTake = () => true, leaseSeconds = LEASE_SECONDS } = options;
  const stopTaking = new AbortController();
  const stopRunning = new AbortController();
  const running = new Set<Promise<void>>();
  let scanning = 0;
  let delivering = 0;
  let slotFree = Promise.withResolvers<void>();

  /** Those who wait for a slot look again. */
  function wake(): void {
    slotFree.resolve();
    slotFree = Promise.withResolvers();
  }

  async function takeForever(): Promise<void> {
    while (!stopTaking.signal.aborted) {
      try {
        if (!mayTake()) await pause(PAUSE_MS, stopTaking.signal);
        else if (scanning >= jobsAtOnce) await slotFree.promise;
        else if ((await takeSome(jobsAtOnce - scanning)) === 0) await waitForJobs();
      } catch (error) {
        log.error("queue", { error: error instanceof Error ? error.message : String(error) });
        await pause(PAUSE_MS, stopTaking.signal);
      }
    }
  }

  async function takeSome(limit: number): Promise<number> {
    const leases = await queue.take(limit);
    for (const lease of leases) {
      scanning += 1;
      const work: Promise<void> = workOn(lease).finally(() => {
        running.delete(work);
        wake();
      });
      running.add(work);
    }
    return leases.length;
  }

  /** Until a job may be due, or we stop. */
  async function waitForJobs(): Promise<void> {
    await queue.wait(stopTaking.signal).catch((error) => {
      if (!stopTaking.signal.aborted) throw error;
    });
  }

  async function workOn(lease: Lease): Promise<void> {
    const started = performance.now();
    const end = new AbortController();
    let lost = false;
    const lose = (): void => {
      lost = true;
      end.abort(new LeaseLost());
    };
    // Not AbortSignal.any, which is dear: there is one of these for every job.
    const stop = (): void => end.abort(stopRunning.signal.reason);
    stopRunning.signal.addEventListener("abort", stop, { once: true });
    const beat = setInterval(() => void heartbeat(lease, lose), (leaseSeconds * 1000) / 3);
    const notes: Record<string, LogFields[string]> = {};
    let progress = lease.job;
    let inSlot = true;
    let delivers = false;
    const leave = (): void => {
      if (!inSlot) return;
      inSlot = false;
      scanning -= 1;
      wake();
    };
    const run: JobRun = {
      job: lease.job,
      get progress() {
        return progress;
      },
      async save(job) {
        if (!(await lease.save(job))) throw new LeaseLost();
        progress = job;
      },
      delivering() {
        if (delivering >= deliveriesAtOnce) throw new Busy(`${deliveriesAtOnce} jobs deliver already`);
        delivering += 1;
        delivers = true;
        leave();
      },
      note: (fields) => void Object.assign(notes, fields),
    };
    const outcome = await options
      .run(run, end.signal)
      .then(
        async (settlement) => ((await lease.settle(settlement)) ? words(settlement) : { settlement: "lease lost" }),
        async (error) => {
          if (lost || error instanceof LeaseLost) return { settlement: "lease lost" };
          const stopped = stopRunning.signal.aborted;
          await lease.settle({ kind: "again", afterSeconds: stopped ? 0 : AFTER_FAULT_SECONDS, job: progress });
          if (stopped) return { settlement: "put back" };
          return { settlement: "fault", error: error instanceof Error ? error.message : String(error) };
        },
      )
      .catch((error: Error) => ({ settlement: "fault", error: error.message }));
    clearInterval(beat);
    stopRunning.signal.removeEventListener("abort", stop);
    leave();
    if (delivers) delivering -= 1;
    const say = outcome.settlement === "fault" ? log.error : log;
    say("job", {
      job_id: lease.job.id,
      trace_id: lease.job.traceId,
      source: sourceWord(lease.job.source),
      attempt: lease.attempt,
      ...outcome,
      ms: Math.round(performance.now() - started),
      ...notes,
    });
  }

  async function heartbeat(lease: Lease, lose: () => void): Promise<void> {
    // A queue that cannot be asked right now has not taken the job from us; the next beat will tell.
    const kept = await lease.extend().catch(() => true);
    if (!kept) lose();
  }

  const taking = takeForever();
  return {
    get running() {
      return running.size;
    },
    async stop(graceMs) {
      stopTaking.abort(new Stopping());
      wake();
      await taking;
      const cut = setTimeout(() => stopRunning.abort(new Stopping("the worker is stopping")), graceMs);
      await Promise.allSettled(running);
      clearTimeout(cut);
    },
  };
}

function words(settlement: Settlement): { settlement: string; after_s?: number; reason?: string } {
  if (settlement.kind === "again") return { settlement: "again", after_s: settlement.afterSeconds };
  if (settlement.kind === "buried") return { settlement: "buried", reason: settlement.reason };
  return { settlement: "done" };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, { once: true });
  });
}
