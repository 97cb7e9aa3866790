import { setTimeout as pause } from "node:timers/promises";
import { findings } from "@lazaret/contract";
import { EngineUnavailable } from "../../scan/engine.ts";
import type { RuleSource } from "../rules/yara/compile-rules.ts";
import { FULL_LIMITS, LIGHT_LIMITS, LIGHT_TIME_LIMIT_MS, RULES_MEMORY_BYTES } from "./scan-limits.ts";
import type { Outcome, ThreadSetup } from "./scan-protocol.ts";
import { type MemberShow, type Reply, type ScanWorker, startScanWorker } from "./scan-worker.ts";
import type { Spooled } from "./spool.ts";
import { type Job, waitingLine } from "./waiting-line.ts";

/**
 * Threads that look at files. As many as there are processors take files of any size, in the order they came; one more
 * takes small files only, so that these never wait behind large ones. Each file has a thread for itself.
 *
 * A thread is replaced when it overruns the time limit, dies, has grown too large, or the rules have changed.
 */
export interface ScanPool {
  /**
   * Looks at a file and all that is in it; members that the other has not seen are shown to it. Throws `EngineUnavailable`
   * when no thread can be had, and what showing throws. The file must stay open until this settles.
   */
  run(file: Spooled, options: { signal: AbortSignal; other?: MemberShow | undefined }): Promise<Outcome>;
  /** From then on files are looked at with these rules. Throws `RulesRefused`, and keeps the old ones. */
  changeRules(sources: readonly RuleSource[]): Promise<readonly string[]>;
  /** Threads that are there, of those that should be. */
  census(): { alive: number; wanted: number; lastFailure: string | undefined };
  close(): Promise<void>;
}

export interface PoolOptions {
  setup: Omit<ThreadSetup, "control" | "joined" | "limits">;
  threads: number;
  timeLimitMs: number;
  /** How long small files may wait for others to be glanced at with. */
  gatherMs?: number;
  /** A thread was lost in the middle of a file. */
  onLoss(message: string): void;
}

interface Slot {
  lane: "any" | "small";
  worker: ScanWorker | undefined;
  busy: boolean;
  /** Which set of rules its thread has. */
  edition: number;
}

/** Resolves when all threads are there; throws `RulesRefused` when the rules do not compile. */
export async function startScanPool(options: PoolOptions): Promise<ScanPool> {
  let { rules } = options.setup;
  let edition = 1;
  let closed = false;
  let lastFailure: string | undefined;
  const slots: Slot[] = Array.from({ length: options.threads + 1 }, (_, index) => {
    return { lane: index < options.threads ? "any" : "small", worker: undefined, busy: false, edition: 0 };
  });
  const line = waitingLine(options.gatherMs ?? 0, dispatch);
  const underway = new Set<Promise<void>>();

  async function fill(slot: Slot): Promise<void> {
    const limits = slot.lane === "small" ? LIGHT_LIMITS : FULL_LIMITS;
    for (;;) {
      slot.edition = edition;
      const worker = await startScanWorker({ ...options.setup, ...(rules && { rules }), limits });
      if (!closed && slot.edition === edition) {
        slot.worker = worker;
        lastFailure = undefined;
        dispatch();
        return;
      }
      await worker.stop();
      if (closed) return;
    }
  }

  /** Tries until it works; those who wait meanwhile are told if no thread is left at all. */
  async function refill(slot: Slot): Promise<void> {
    const old = slot.worker;
    slot.worker = undefined;
    await old?.stop();
    while (!closed) {
      try {
        return await fill(slot);
      } catch (error) {
        lastFailure = error instanceof Error ? error.message : String(error);
        if (slots.every(({ worker }) => worker === undefined))
          failWaiting(`no scan thread can be started: ${lastFailure}`);
        await pause(RETRY_MS, undefined, { ref: false });
      }
    }
  }

  function inBackground(work: Promise<void>): void {
    underway.add(work);
    void work.finally(() => underway.delete(work));
  }

  function failWaiting(message: string): void {
    for (const job of line.empty()) job.fail(new EngineUnavailable(message));
  }

  function dispatch(): void {
    for (const slot of slots) {
      if (slot.busy || !slot.worker) continue;
      const jobs = line.take({ smallOnly: slot.lane === "small", glances: slot.worker.glances });
      const [first] = jobs;
      if (first) void occupy(slot, jobs.length > 1 ? glance(slot.worker, jobs) : look(slot, slot.worker, first));
    }
  }

  /** Holds the slot for as long as the work takes, and replaces its thread if that has become necessary. */
  async function occupy(slot: Slot, work: Promise<{ fit: boolean }>): Promise<void> {
    slot.busy = true;
    const { fit } = await work;
    slot.busy = false;
    if (!fit || slot.edition !== edition) inBackground(refill(slot));
    dispatch();
  }

  /** Many small files at once; whatever is not clean for certain is looked at by itself. */
  async function glance(worker: ScanWorker, jobs: Job[]): Promise<{ fit: boolean }> {
    const contents = jobs.map(({ file }) => (file.kind === "memory" ? file.bytes : new Uint8Array()));
    const reply = await worker.glance(contents, options.timeLimitMs);
    for (const [index, job] of [...jobs.entries()].reverse()) {
      if (closed) job.fail(new EngineUnavailable("the rules engine is closed"));
      else if (job.signal.aborted) job.fail(job.signal.reason);
      else if (reply.kind === "glanced" && reply.clean[index]) job.settle({ kind: "clean" });
      else line.putBack(Object.assign(job, { glanced: true }));
    }
    return { fit: reply.kind === "glanced" };
  }

  async function look(slot: Slot, worker: ScanWorker, job: Job): Promise<{ fit: boolean }> {
    const timeLimitMs =
      slot.lane === "small" ? Math.min(LIGHT_TIME_LIMIT_MS, options.timeLimitMs) : options.timeLimitMs;
    const reply = await worker.look(job.file, { timeLimitMs, signal: job.signal, other: job.other });
    if (reply.kind === "lost" && !closed) options.onLoss(reply.message);
    conclude(slot, job, reply);
    if (reply.kind === "answer") return { fit: reply.memoryBytes <= RULES_MEMORY_BYTES };
    return { fit: reply.kind === "no-answer" || reply.kind === "fault" };
  }

  function conclude(slot: Slot, job: Job, reply: Reply): void {
    if (closed) job.fail(new EngineUnavailable("the rules engine is closed"));
    else if (job.signal.aborted) job.fail(job.signal.reason);
    else if (reply.kind === "no-answer") {
      job.fail(new EngineUnavailable(`a scan thread gave up: ${reply.message}`, { whileLooking: true }));
    } else if (reply.kind === "fault") job.fail(reply.error);
    else if (slot.lane === "small" && isTooMuch(reply)) {
      line.putBack(Object.assign(job, { small: false }));
    } else job.settle(outcomeOf(reply));
  }

  const started = await Promise.allSettled(slots.map(fill));
  const failed = started.find((one) => one.status === "rejected");
  if (failed) {
    await Promise.all(slots.map((slot) => slot.worker?.stop()));
    throw failed.reason;
  }

  return {
    async run(file, { signal, other }) {
      signal.throwIfAborted();
      if (closed) throw new EngineUnavailable("the rules engine is closed");
      return new Promise<Outcome>((resolve, reject) => {
        const done = <Value>(use: (value: Value) => void): ((value: Value) => void) => {
          return (value) => {
            signal.removeEventListener("abort", giveUp);
            use(value);
          };
        };
        const job = line.add({ file, signal, other, settle: done(resolve), fail: done(reject) });
        function giveUp(): void {
          if (line.remove(job)) reject(signal.reason);
        }
        signal.addEventListener("abort", giveUp);
        dispatch();
      });
    },

    async changeRules(next) {
      if (!rules) throw new Error("these threads have no rules");
      const changed = { ...rules, sources: next };
      const trial = await startScanWorker({ ...options.setup, rules: changed, limits: LIGHT_LIMITS });
      await trial.stop();
      rules = changed;
      edition += 1;
      // One after the other, so that the rest go on; a busy thread is replaced when it is done.
      for (const slot of slots) if (!slot.busy && slot.worker && slot.edition !== edition) await refill(slot);
      return trial.warnings;
    },

    census() {
      return { alive: slots.filter(({ worker }) => worker !== undefined).length, wanted: slots.length, lastFailure };
    },

    async close() {
      closed = true;
      failWaiting("the rules engine is closed");
      await Promise.all(slots.map((slot) => slot.worker?.stop()));
      await Promise.allSettled(underway);
    },
  };
}

const RETRY_MS = 1000;

function outcomeOf(reply: Exclude<Reply, { kind: "no-answer" | "fault" }>): Outcome {
  if (reply.kind === "answer") return reply.outcome;
  if (reply.kind === "overrun") return { kind: "unscannable", finding: findings.timeout, detail: "it took too long" };
  return { kind: "unscannable", finding: findings.engineError, detail: reply.message };
}

/** The thread kept for small files gives up early, or is made to. */
function isTooMuch(reply: Reply): boolean {
  if (reply.kind === "overrun") return true;
  if (reply.kind !== "answer" || reply.outcome.kind !== "unscannable") return false;
  return reply.outcome.finding === findings.limitsExceeded;
}
