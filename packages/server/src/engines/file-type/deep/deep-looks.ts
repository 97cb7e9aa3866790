import { Worker } from "node:worker_threads";
import type { Kind } from "../kinds.ts";
import type { Sample } from "../sample.ts";

export interface DeepQuestion {
  id: number;
  sample: Sample;
  quickKind: Kind;
}

export type DeepAnswer = { kind: "ready" } | { kind: "answer"; id: number; name: string };

export interface DeepLooksOptions {
  /** A look that takes longer is given up, its thread ended. */
  workLimitMs: number;
  /** A question not answered after this long, waiting for its turn included, is given up. */
  answerLimitMs: number;
  /** After a thread that did not even start, the next one is tried this much later. */
  restartAfterMs: number;
  /** The module that answers questions. */
  thread: URL;
}

/** Deep looks, one after another, on a thread that is ended and started anew when it overruns or dies. */
export interface DeepLooks {
  /** The name of what it is, or nothing when that could not be told in time. Never throws. */
  ask(sample: Sample, quickKind: Kind, signal: AbortSignal): Promise<string | undefined>;
  /** What is wrong, if the thread does not start; otherwise nothing. */
  fault(): string | undefined;
  /** How many threads had to be ended, or ended by themselves, since the start. */
  lost(): number;
  close(): Promise<void>;
}

/** Room for what the detectors allocate for 128 KB of sample; a thread that wants more is ended by V8. */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 };

interface Waiting {
  question: DeepQuestion;
  answer(name: string | undefined): void;
}

export function deepLooks(options: DeepLooksOptions): DeepLooks {
  const line: Waiting[] = [];
  let asked = 0;
  let lost = 0;
  let fault: string | undefined;
  let mayStartAt = 0;
  let closed = false;
  let current: Waiting | undefined;
  let workClock: NodeJS.Timeout | undefined;
  let thread: { worker: Worker; ready: boolean } | undefined;

  function start(): void {
    if (closed || thread || performance.now() < mayStartAt) return;
    const worker = new Worker(options.thread, { resourceLimits: RESOURCE_LIMITS, execArgv: [], env: {} });
    const started = { worker, ready: false };
    thread = started;
    // Questions under way keep the process alive by their clocks; an idle thread need not.
    worker.unref();
    worker.on("message", (answer: DeepAnswer) => {
      if (thread !== started) return;
      if (answer.kind === "ready") {
        started.ready = true;
        fault = undefined;
      } else if (answer.id === current?.question.id) {
        settle(answer.name);
      }
      next();
    });
    worker.on("error", (error: unknown) => threadEnded(started, error instanceof Error ? error.message : "unknown"));
    worker.on("exit", () => threadEnded(started, "it ended"));
  }

  function settle(name: string | undefined): void {
    clearTimeout(workClock);
    current?.answer(name);
    current = undefined;
  }

  function threadEnded(ended: { ready: boolean }, reason: string): void {
    if (thread !== ended) return;
    thread = undefined;
    lost++;
    settle(undefined);
    if (!ended.ready) {
      fault = `cannot start the file type thread: ${reason}`;
      mayStartAt = performance.now() + options.restartAfterMs;
      for (const waiting of line.splice(0)) waiting.answer(undefined);
    }
    next();
  }

  function next(): void {
    if (line.length > 0) start();
    if (current || !thread?.ready) return;
    const { worker } = thread;
    const asking = thread;
    current = line.shift();
    if (!current) return;
    // Runs on when nobody waits for the answer any more: the thread must come free in any case.
    workClock = setTimeout(() => {
      void worker.terminate();
      threadEnded(asking, "it took too long");
    }, options.workLimitMs);
    worker.postMessage(current.question, transferred(current.question.sample));
  }

  function ask(sample: Sample, quickKind: Kind, signal: AbortSignal): Promise<string | undefined> {
    if (closed || signal.aborted || (fault !== undefined && performance.now() < mayStartAt)) {
      return Promise.resolve(undefined);
    }
    return new Promise((resolve) => {
      const giveUp = (): void => {
        const place = line.indexOf(waiting);
        if (place >= 0) line.splice(place, 1);
        waiting.answer(undefined);
      };
      const answerClock = setTimeout(giveUp, options.answerLimitMs);
      const waiting: Waiting = {
        question: { id: ++asked, sample: ownCopy(sample), quickKind },
        answer(name) {
          clearTimeout(answerClock);
          signal.removeEventListener("abort", giveUp);
          resolve(name);
        },
      };
      signal.addEventListener("abort", giveUp, { once: true });
      line.push(waiting);
      next();
    });
  }

  start();
  return {
    ask,
    fault: () => fault,
    lost: () => lost,
    async close() {
      closed = true;
      const worker = thread?.worker;
      thread = undefined;
      settle(undefined);
      for (const waiting of line.splice(0)) waiting.answer(undefined);
      await worker?.terminate();
    },
  };
}

/** What is sent is handed over, not copied again; the caller keeps its own. */
function ownCopy({ head, tail, sizeBytes }: Sample): Sample {
  const copy = new Uint8Array(head);
  return { head: copy, tail: tail === head ? copy : new Uint8Array(tail), sizeBytes };
}

function transferred({ head, tail }: Sample): ArrayBuffer[] {
  return [...new Set([head.buffer, tail.buffer])].filter((buffer) => buffer instanceof ArrayBuffer);
}
