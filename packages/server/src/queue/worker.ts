import { removeItem } from "../flow/remove-item.ts";
import { saidLately } from "../flow/said-lately.ts";
import { firstOf, pause } from "../flow/time-limit.ts";
import type { Log, LogFields } from "../log.ts";
import { type Job, shareOf } from "../model/job.ts";
import { sourceWord } from "../model/job-card.ts";
import { noteOfSettlement, type Settlement } from "../model/settlement.ts";
import type { Span, Spans } from "../traces/spans.ts";
import { afterFault } from "./after-fault.ts";
import { type HeldShares, type JobQueue, LEASE_SECONDS, type Lease, POISON } from "./job-queue.ts";
import { type PlacesOptions, places } from "./places.ts";
import { type NewStep, runLife } from "./run-life.ts";
import { runSpan } from "./run-span.ts";
import { onTrial, settleTrial, suspicionOf } from "./suspect.ts";

/**
 * Takes jobs and runs them, a bounded number at once, and of one share (`shareOf`) only a part of that.
 *
 *   take ─▶ run ─▶ settle (done, again, buried)
 *             │
 *             ├ lease lost: somebody else has the job; what we did is not written
 *             ├ stopped: put back at once, as far as it got
 *             ├ the queue cannot be reached (a full disk): put back for a while, as far as it got
 *             └ threw (a bug of ours): the same, longer each time, and buried with the error at the fifth
 *
 * Meanwhile it holds one place at a time (`Places`).
 *
 * A worker that dies settles nothing: its leases run out, and all it had becomes suspect. A suspect that is not scanned yet has a place
 * among few, and is scanned alone; who dies in that three times is poison.
 *
 *   lease ran out ─▶ suspect ──a place to try──▶ trial begins (saved) ──▶ report ─▶ to deliver
 *                      ▲  └─no place: put back─┐         └─died─┐
 *                      └───────────────────────┴────────────────┴──three times──▶ buried
 */
export interface Worker {
  /**
   * Takes no more jobs and puts those back that fetch or scan, so that others have them at once; lets those that deliver
   * finish for at most `graceMs`, and puts back the rest. A run that hangs even then is left behind after a moment.
   */
  stop(graceMs: number): Promise<void>;
  readonly running: number;
}

/** What a run may do to its job before it is settled. */
export interface JobRun {
  readonly job: Job;
  /** The job as it was last saved, or was to be: what was written may seem to have failed. */
  readonly progress: Job;
  /** For fetching and scanning: aborts as soon as the worker stops, while the run's own signal leaves time to deliver. */
  readonly scanSignal: AbortSignal;
  /** Writes progress. Throws `LeaseLost` when the job is somebody else's by now. */
  save(job: Job): Promise<void>;
  /** It is to be scanned alone. */
  readonly suspect: boolean;
  /** Durable when it resolves: from then on until the next write the job answers for the worker's death. Throws as `save` does. */
  beginTrial(): Promise<void>;
  /** The place to scan, which a job whose source is slow leaves to others while it waits. */
  readonly place: ScanPlace;
  /**
   * Leaves the place to scan to the next job and holds one to finish, as nothing is fetched or scanned from here on. False when too many
   * finish already, of all or of its share: then it stays where it is, and should not stay for long.
   */
  scanned(): boolean;
  /**
   * From here on the job only waits for a receiver: it leaves its place to the next, so that a slow one holds up nobody.
   * Throws `Busy` when too many jobs deliver already, of all or of its share.
   */
  delivering(): void;
  /** Adds to the job's life, which is written with the job. */
  record(step: NewStep): void;
  /** Adds to the run's one log line. */
  note(fields: LogFields): void;
  readonly span?: Span | undefined;
}

interface ScanPlace {
  /** Throws `Busy` when too many wait already, of all or of its share. */
  leave(): void;
  /** Waits until there is a place again. Throws `signal.reason`. */
  retake(signal: AbortSignal): Promise<void>;
}

export interface WorkerOptions extends PlacesOptions {
  queue: JobQueue;
  run(run: JobRun, signal: AbortSignal): Promise<Settlement>;
  /** Of the shares that have another weight than 1, as they are now. */
  weights?: () => ReadonlyMap<string, number>;
  /** False while taking jobs would be in vain, such as with the engine down. */
  mayTake?: () => boolean;
  log: Log;
  spans?: Spans | undefined;
  leaseSeconds?: number;
  /** Milliseconds since 1970. */
  now?: () => number;
}

/**
 * Somebody else has the job now, or will have it soon.
 * @internal a test tells it from other failures
 */
export class LeaseLost extends Error {
  constructor() {
    super("the lease of the job was lost");
    this.name = "LeaseLost";
  }
}

class Stopping extends Error {}

const PAUSE_MS = 1000;
/** When only those could be served who hold nothing, this often is enough to ask for them. */
const ASK_FOR_OTHERS_MS = 25;
/** For runs that are cut off to be put back. */
const SETTLE_MS = 1000;
/** How long a suspect is put back for when others are tried. */
const SUSPECT_SECONDS = 2;

export function startWorker(options: WorkerOptions): Worker {
  const { queue, jobsAtOnce, log } = options;
  const { mayTake = () => true, leaseSeconds = LEASE_SECONDS, now = Date.now } = options;
  const { weights = () => new Map<string, number>() } = options;
  const { toScan, enter } = places(options, (share) => weights().get(share) ?? 1);
  const shares: HeldShares = {
    held: toScan.held,
    perShare: jobsAtOnce,
    get weights() {
      return weights();
    },
  };
  const stopTaking = new AbortController();
  const stopScanning = new AbortController();
  const stopRunning = new AbortController();
  const running: Promise<void>[] = [];
  const beats = new Set<NodeJS.Timeout>();
  const whenFree: (() => void)[] = [];
  const said = saidLately();
  let askedForOthersAt = 0;

  /** Those who wait for a place check again. */
  function wake(): void {
    for (const check of whenFree.splice(0)) check();
  }

  async function takeForever(): Promise<void> {
    while (!stopTaking.signal.aborted) {
      try {
        if (!mayTake()) await pause(PAUSE_MS, stopTaking.signal);
        else if (toScan.free === 0) await new Promise<void>((resolve) => whenFree.push(resolve));
        else if (askedForOthers()) await untilFree((signal) => pause(ASK_FOR_OTHERS_MS, signal));
        else if ((await takeSome(toScan.free)) === 0) await untilFree((signal) => queue.wait(signal, shares));
      } catch (error) {
        if (!said(messageOf(error))) log.error("queue", { error: messageOf(error), ...hintOf(error) });
        await pause(PAUSE_MS, stopTaking.signal);
      }
    }
  }

  /** Whether we have just asked for jobs of other shares than those that run. */
  function askedForOthers(): boolean {
    if (!toScan.onlyForOthers) return false;
    if (performance.now() - askedForOthersAt < ASK_FOR_OTHERS_MS) return true;
    askedForOthersAt = performance.now();
    return false;
  }

  async function takeSome(limit: number): Promise<number> {
    const leases = await queue.take(limit, shares);
    for (const lease of leases) {
      const work: Promise<void> = workOn(lease).finally(() => {
        removeItem(running, work);
        wake();
      });
      running.push(work);
    }
    return leases.length;
  }

  /** Waits, but not longer than until a place is free, which may be for a share that was passed over; or we stop. */
  async function untilFree(wait: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    using waiting = firstOf([stopTaking.signal]);
    // With a reason, because to make one up takes longer than all the rest of it.
    const end = (): void => waiting.abort("a place is free");
    whenFree.push(end);
    try {
      await wait(waiting.signal);
    } catch (error) {
      if (!waiting.signal.aborted) throw error;
    } finally {
      removeItem(whenFree, end);
    }
  }

  async function workOn(lease: Lease): Promise<void> {
    const started = performance.now();
    const place = enter(shareOf(lease.job), wake);
    const { job, suspect, poison } = suspicionOf(lease);
    using end = firstOf([stopRunning.signal]);
    using endScan = firstOf([stopScanning.signal]);
    let lost = false;
    const lose = (): void => {
      lost = true;
      end.abort(new LeaseLost());
      endScan.abort(end.signal.reason);
    };
    const beat = setInterval(() => void heartbeat(lease, lose), (leaseSeconds * 1000) / 3);
    beats.add(beat);
    const span = options.spans && runSpan(options.spans, lease, now());
    const { tenant, key } = job;
    const notes: Record<string, LogFields[string]> = { tenant, key: key || undefined, otel_trace_id: span?.traceId };
    const life = runLife({ ...lease, job }, now);
    let tried = false;
    const run: JobRun & { progress: Job } = {
      job,
      progress: job,
      scanSignal: endScan.signal,
      async save(job) {
        run.progress = job;
        if (!(await lease.save(life.of(job)))) throw new LeaseLost();
      },
      suspect,
      async beginTrial() {
        tried = true;
        // Not as progress: whatever else is written takes it back.
        if (!(await lease.save(life.of(onTrial(run.progress, lease))))) throw new LeaseLost();
      },
      place: {
        leave: place.toWait,
        retake: (signal) => place.back(suspect, signal),
      },
      scanned: place.toFinish,
      delivering: place.toDeliver,
      record: life.record,
      note: (fields) => void Object.assign(notes, fields),
      span,
    };
    async function tryOrRun(): Promise<Settlement> {
      if (!suspect) return options.run(run, end.signal);
      run.note({ suspect });
      if (poison) return { kind: "buried", reason: POISON, job };
      if (!place.toTry()) return { kind: "again", afterSeconds: SUSPECT_SECONDS, job, why: "others are scanned alone" };
      return options.run(run, end.signal);
    }

    const settle = (settlement: Settlement): Promise<boolean> => {
      const written = life.settled(settlement);
      return tried ? settleTrial(lease, written, () => pause(PAUSE_MS, end.signal)) : lease.settle(written);
    };

    const outcome = await tryOrRun()
      .then(
        async (settlement) =>
          (await settle(settlement)) ? noteOfSettlement(settlement) : { settlement: "lease lost" },
        async (error) => {
          if (lost || error instanceof LeaseLost) return { settlement: "lease lost" };
          const stopped = stopScanning.signal.aborted;
          const next = stopped
            ? ({ kind: "again", afterSeconds: 0, job: run.progress, why: "the worker stopped" } as const)
            : afterFault(run.progress, error);
          await settle(next);
          if (stopped) return { settlement: "put back" };
          return { settlement: next.kind === "buried" ? "buried" : "fault", error: messageOf(error) };
        },
      )
      .catch((error: Error) => ({ settlement: "fault", error: error.message }));
    clearInterval(beat);
    beats.delete(beat);
    place.leave();
    wake();
    span?.end({ ...outcome, ...notes });
    const say = "error" in outcome ? log.error : log;
    say("job", {
      job_id: lease.job.id,
      trace_id: lease.job.traceId,
      source: sourceWord(lease.job.source),
      attempt: lease.attempt,
      ...outcome,
      waited_ms: life.waitedMs,
      ms: Math.round(performance.now() - started),
      ...notes,
    });
  }

  async function heartbeat(lease: Lease, lose: () => void): Promise<void> {
    // A queue that cannot be asked right now has not taken the job from us; the next beat will show.
    const kept = await lease.extend().catch(() => true);
    if (!kept) lose();
  }

  const taking = takeForever();
  return {
    get running() {
      return running.length;
    },
    async stop(graceMs) {
      stopTaking.abort(new Stopping());
      stopScanning.abort(new Stopping("the worker is stopping"));
      wake();
      await taking;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(() => {
          stopRunning.abort(new Stopping("the worker is stopping"));
          timer = setTimeout(resolve, SETTLE_MS);
        }, graceMs);
      });
      await Promise.race([Promise.allSettled(running), late]);
      clearTimeout(timer);
      // The lease of a run that hangs is not extended any more: another worker has the job when it runs out.
      for (const beat of beats) clearInterval(beat);
    },
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function hintOf(error: unknown): { hint?: string } {
  return error instanceof Error && "hint" in error ? { hint: String(error.hint) } : {};
}
