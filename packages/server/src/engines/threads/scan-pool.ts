import { setTimeout as pause } from "node:timers/promises";
import { findings } from "@lazaret/contract";
import { EngineUnavailable } from "../../model/faults.ts";
import { type LiteralFilter, literalFilter } from "../rules/literal-filter.ts";
import type { RuleSource } from "../rules/rule-files.ts";
import {
  FULL_LIMITS,
  LIGHT_LIMITS,
  LIGHT_TIME_LIMIT_MS,
  SMALL_FILE_BYTES,
  THREAD_GROWTH_LIMITS,
  type ThreadMemory,
} from "./scan-limits.ts";
import type { Outcome, ThreadSetup } from "./scan-protocol.ts";
import { type MemberShow, type Reply, type ScanWorker, startScanWorker } from "./scan-worker.ts";
import type { Spooled } from "./spool.ts";
import { type ScanTask, waitingLine } from "./waiting-line.ts";

/**
 * Threads that look at files. As many as there are processors take files of any size; one more takes small files only, so that
 * these never wait behind large ones. Each file has a thread for itself. The next file is one of the share that has fewest threads, and
 * of that share the one that came first.
 *
 * The first is there from the start, and shows that the rules compile; each of the others is started when a file waits for it, as it
 * takes memory, and time at the start, that a service with little to do never gets back.
 *
 * A thread is replaced when it overruns the time limit, dies, has grown too large, or the rules have changed. One that has
 * grown goes on with the next files until the new one is there. One that dies of itself is our fault: the file that it had
 * is looked at once more, by the thread that replaces it, and only if that dies too it is unscannable.
 */
export interface ScanPool {
  /**
   * Looks at a file and all that is in it; members that the other has not seen are shown to it. Throws `EngineUnavailable`
   * when no thread can be had, and what showing throws. The file must stay open until this settles.
   */
  run(file: Spooled, options: RunOptions): Promise<Outcome>;
  /** False if no rule matches these bytes, by the rules that a file gets that comes now. Members of them are not looked at. Of large contents nothing is said. */
  mayMatch(content: Uint8Array): boolean;
  /** From then on files are looked at with these rules. Throws `RulesRefused`, and keeps the old ones. */
  changeRules(sources: readonly RuleSource[]): Promise<readonly string[]>;
  /** The same object for as long as files are looked at with the same rules; undefined while threads differ in theirs. */
  edition(): object | undefined;
  census(): Census;
  close(): Promise<void>;
}

interface RunOptions {
  signal: AbortSignal;
  /** On whose account: threads go to the share that has fewest of them. */
  share?: string | undefined;
  other?: MemberShow | undefined;
}

/** Threads that are there, of those that there may be. */
export interface Census {
  alive: number;
  most: number;
  lastFailure: string | undefined;
  /** Threads started since the beginning. */
  started: number;
  /** Of all that are there, each at its last answer. */
  memory: ThreadMemory;
}

export interface PoolOptions {
  setup: Omit<ThreadSetup, "control" | "limits">;
  threads: number;
  timeLimitMs: number;
  /** A thread that has grown by more than this at the end of a file is replaced. */
  growthLimits?: ThreadMemory;
  /** A thread died in the middle of its work; `again` says whether what it had is looked at once more. */
  onLoss(message: string, again: boolean): void;
}

interface Slot {
  lane: "any" | "small";
  /** A file has waited for it. Without a thread it is about to get one. */
  wanted: boolean;
  worker: ScanWorker | undefined;
  busy: boolean;
  /** Which set of rules its thread has. */
  edition: number;
  /** A thread for it is being started. */
  filling: boolean;
  /** That thread, started, waits for the end of the file that the old one looks at. */
  next: { worker: ScanWorker; edition: number } | undefined;
  /** The thread before died of this file, or while it had it: it goes first. */
  again: ScanTask | undefined;
}

/** Resolves when the first thread is there; throws `RulesRefused` when the rules do not compile. */
export async function startScanPool(options: PoolOptions): Promise<ScanPool> {
  const { growthLimits = THREAD_GROWTH_LIMITS } = options;
  let { rules } = options.setup;
  let edition = 1;
  let mark = {};
  let closed = false;
  let lastFailure: string | undefined;
  let started = 0;
  const slots: Slot[] = Array.from({ length: options.threads + 1 }, (_, index) => {
    const lane = index < options.threads ? "any" : "small";
    const empty = { worker: undefined, busy: false, edition: 0, filling: false, next: undefined, again: undefined };
    return { lane, wanted: index === 0, ...empty };
  });
  const line = waitingLine();
  const underway = new Set<Promise<void>>();

  async function fill(slot: Slot): Promise<void> {
    const limits = slot.lane === "small" ? LIGHT_LIMITS : FULL_LIMITS;
    for (;;) {
      const next = edition;
      const worker = await startScanWorker({ ...options.setup, ...(rules && { rules }), limits });
      started += 1;
      if (!closed && next === edition) {
        lastFailure = undefined;
        slot.next = { worker, edition: next };
        await change(slot);
        return;
      }
      await worker.stop();
      if (closed) return;
    }
  }

  /** Puts the new thread in the place of the old one, if that is not in the middle of a file. */
  async function change(slot: Slot): Promise<void> {
    const { worker: old, next } = slot;
    if (!next || slot.busy) return;
    Object.assign(slot, { ...next, next: undefined });
    dispatch();
    await old?.stop();
  }

  /** Tries until it works, or once while the old thread is there; those who wait are told if no thread is left at all. */
  async function refill(slot: Slot): Promise<void> {
    if (slot.filling) return;
    slot.filling = true;
    while (!closed) {
      try {
        await fill(slot);
        break;
      } catch (error) {
        lastFailure = error instanceof Error ? error.message : String(error);
        if (slots.every(({ worker }) => worker === undefined))
          failWaiting(`no scan thread can be started: ${lastFailure}`);
        if (slot.worker) break;
        await pause(RETRY_MS, undefined, { ref: false });
      }
    }
    slot.filling = false;
  }

  /** Its thread is gone, or has the wrong rules. */
  async function startOver(slot: Slot): Promise<void> {
    const old = slot.worker;
    slot.worker = undefined;
    await old?.stop();
    await refill(slot);
  }

  function inBackground(work: Promise<void>): void {
    underway.add(work);
    void work.finally(() => underway.delete(work));
  }

  function failWaiting(message: string): void {
    const waiting = [...line.empty(), ...slots.flatMap(({ again }) => again ?? [])];
    for (const slot of slots) slot.again = undefined;
    for (const task of waiting) task.fail(new EngineUnavailable(message));
  }

  function dispatch(): void {
    for (const slot of slots) {
      if (slot.busy || !slot.worker) continue;
      const { worker, lane } = slot;
      const task = slot.again ?? line.take(lane);
      slot.again = undefined;
      if (task) void occupy(slot, worker, task);
    }
    startMore();
  }

  /** A thread for each file that none takes and none is being started for. */
  function startMore(): void {
    for (const slot of slots.filter(({ wanted }) => !wanted)) {
      const coming = slots.filter(({ wanted, worker }) => wanted && !worker).length;
      if (closed || line.count(slot.lane) <= coming) continue;
      slot.wanted = true;
      inBackground(refill(slot));
    }
  }

  /** Holds the slot for as long as the scan takes, and replaces its thread if that has become necessary. */
  async function occupy(slot: Slot, worker: ScanWorker, task: ScanTask): Promise<void> {
    slot.busy = true;
    line.begun(task);
    await scan(slot, worker, task);
    line.ended(task);
    slot.busy = false;
    if (slot.next) inBackground(change(slot));
    else if (!worker.usable || slot.edition !== edition) inBackground(startOver(slot));
    // One start at a time: the others' turn comes with their next file.
    else if (hasGrown(worker, growthLimits) && !slots.some(({ filling }) => filling)) inBackground(refill(slot));
    dispatch();
  }

  async function scan(slot: Slot, worker: ScanWorker, task: ScanTask): Promise<void> {
    const begun = performance.now();
    const { usedMs } = task;
    const leftMs = options.timeLimitMs - usedMs;
    const timeLimitMs = slot.lane === "small" ? Math.min(LIGHT_TIME_LIMIT_MS, leftMs) : leftMs;
    const reply = await worker.scan(task.file, { timeLimitMs, signal: task.signal, other: task.other });
    const again = reply.kind === "lost" && !task.lost && !task.signal.aborted;
    if (reply.kind === "lost" && !closed) options.onLoss(reply.message, again);
    if (again && !closed) slot.again = Object.assign(task, { lost: true, usedMs: usedMs + performance.now() - begun });
    else conclude(slot, task, reply);
  }

  function conclude(slot: Slot, task: ScanTask, reply: Reply): void {
    if (closed) task.fail(new EngineUnavailable("the rules engine is closed"));
    else if (task.signal.aborted) task.fail(task.signal.reason);
    else if (reply.kind === "no-answer") {
      task.fail(new EngineUnavailable(`a scan thread gave up: ${reply.message}`, { whileScanning: true }));
    } else if (reply.kind === "fault") task.fail(reply.error);
    else if (slot.lane === "small" && isTooMuch(reply)) {
      line.putBack(Object.assign(task, { small: false }));
    } else task.settle(outcomeOf(reply));
  }

  for (const slot of slots.filter(({ wanted }) => wanted)) await fill(slot);
  let filter = filterOf(slots[0]?.worker);

  return {
    mayMatch: (content) => content.length > SMALL_FILE_BYTES || filter.mayMatch(content),

    async run(file, { signal, share = "", other }) {
      signal.throwIfAborted();
      if (closed) throw new EngineUnavailable("the rules engine is closed");
      return new Promise<Outcome>((resolve, reject) => {
        const done = <Value>(use: (value: Value) => void): ((value: Value) => void) => {
          return (value) => {
            signal.removeEventListener("abort", giveUp);
            use(value);
          };
        };
        const task = line.add({ file, signal, share, other, settle: done(resolve), fail: done(reject) });
        function giveUp(): void {
          const slot = slots.find(({ again }) => again === task);
          if (slot) slot.again = undefined;
          if (slot || line.remove(task)) done(reject)(signal.reason);
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
      filter = filterOf(trial);
      mark = {};
      // What was started before has the old rules.
      const outdated = slots.flatMap(({ next }) => next ?? []);
      for (const slot of slots) slot.next = undefined;
      await Promise.all(outdated.map(({ worker }) => worker.stop()));
      // One after the other, so that the rest go on; a busy thread is replaced when it is done.
      for (const slot of slots) if (!slot.busy && slot.worker && slot.edition !== edition) await startOver(slot);
      return trial.rules?.warnings ?? [];
    },

    edition: () => (slots.every((slot) => !slot.worker || slot.edition === edition) ? mark : undefined),

    census() {
      const workers = slots.flatMap(({ worker }) => worker ?? []);
      const sum = (part: keyof ThreadMemory): number => workers.reduce((bytes, { memory }) => bytes + memory[part], 0);
      const memory = {
        heapBytes: sum("heapBytes"),
        externalBytes: sum("externalBytes"),
        rulesBytes: sum("rulesBytes"),
      };
      return { alive: workers.length, most: slots.length, lastFailure, started, memory };
    },

    async close() {
      closed = true;
      failWaiting("the rules engine is closed");
      await Promise.all(slots.flatMap(({ worker, next }) => [worker?.stop(), next?.worker.stop()]));
      await Promise.allSettled(underway);
    },
  };
}

const RETRY_MS = 1000;

/** By what a thread says of the rules that it has compiled itself. */
function filterOf(worker: ScanWorker | undefined): LiteralFilter {
  return literalFilter(worker?.rules?.requirements ?? { kind: "unknown", why: "there are no rules" });
}

function hasGrown({ memory, memoryAtStart }: ScanWorker, by: ThreadMemory): boolean {
  const parts = ["heapBytes", "externalBytes", "rulesBytes"] as const;
  return parts.some((part) => memory[part] - memoryAtStart[part] > by[part]);
}

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
