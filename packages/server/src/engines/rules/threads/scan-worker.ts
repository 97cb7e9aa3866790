import { Worker } from "node:worker_threads";
import { JOINED_BYTES, joinedContents } from "../look/joined-contents.ts";
import type { Outcome } from "../look/look-inside.ts";
import { THREAD_HEAP_MB, THREAD_YOUNG_HEAP_MB } from "../scan-limits.ts";
import type { ThreadMessage, ThreadRequest, ThreadSetup } from "./scan-protocol.ts";
import type { Spooled } from "./spool.ts";

/** How the look at one file ended. Only `answer` is about the file; after `overrun` and `lost` the thread is gone. */
export type Reply =
  | { kind: "answer"; outcome: Outcome; memoryBytes: number }
  | { kind: "no-answer"; message: string }
  | Ended;

type Ended = { kind: "overrun" } | { kind: "lost"; message: string };

/** One thread, seen from outside. One request at a time. */
export interface ScanWorker {
  readonly warnings: readonly string[];
  /** Whether the rules allow for glances. */
  readonly glances: boolean;
  look(file: Spooled, timeLimitMs: number, signal: AbortSignal): Promise<Reply>;
  /** Which of these small files, for all of which there must be room, are clean for certain. Of the others nothing is known. */
  glance(
    files: readonly Uint8Array[],
    timeLimitMs: number,
  ): Promise<{ kind: "glanced"; clean: readonly boolean[] } | Ended>;
  stop(): Promise<void>;
}

/** The rules do not compile. Told in the compiler's words. */
export class RulesRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = "RulesRefused";
  }
}

/** A thread that was told that nobody waits any more gets this long to notice. */
const NOTICE_MS = 2000;

/** Resolves when the rules are compiled; throws `RulesRefused` when they cannot be. */
export async function startScanWorker(setup: Omit<ThreadSetup, "calledOff" | "joined">): Promise<ScanWorker> {
  const calledOff = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const joined = new SharedArrayBuffer(JOINED_BYTES);
  const contents = joinedContents(new Uint8Array(joined));
  const worker = new Worker(new URL("./scan-thread.ts", import.meta.url), {
    name: "lazaret-rules",
    workerData: { ...setup, calledOff, joined } satisfies ThreadSetup,
    resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MB, maxYoungGenerationSizeMb: THREAD_YOUNG_HEAP_MB },
    // What meets hostile bytes needs no secrets.
    env: {},
    execArgv: [],
  });
  const next = messagesOf(worker);
  let number = 0;

  const first = await next();
  if (first.kind === "refused") {
    await worker.terminate();
    throw new RulesRefused(first.message);
  }
  if (first.kind !== "ready") {
    throw new Error(`cannot start a scan thread: ${first.kind === "lost" ? first.message : first.kind}`);
  }

  /** Sends a request and waits for its answer; kills the thread when that takes too long. */
  async function ask(
    request: ThreadRequest,
    timeLimitMs: number,
    signal?: AbortSignal,
  ): Promise<ThreadMessage | Ended> {
    let overrun = false;
    const kill = (): void => {
      overrun = true;
      void worker.terminate();
    };
    let timer = setTimeout(kill, timeLimitMs);
    const callOff = (): void => {
      Atomics.store(new Int32Array(calledOff), 0, request.number);
      clearTimeout(timer);
      timer = setTimeout(kill, NOTICE_MS);
    };
    signal?.addEventListener("abort", callOff, { once: true });
    if (signal?.aborted) callOff();

    const answer = next();
    worker.postMessage(request);
    const message = await answer;
    clearTimeout(timer);
    signal?.removeEventListener("abort", callOff);
    return message.kind === "lost" && overrun ? { kind: "overrun" } : message;
  }

  return {
    warnings: first.warnings,
    glances: first.glances,
    async look(file, timeLimitMs, signal) {
      number += 1;
      const message = await ask({ kind: "look", number, file }, timeLimitMs, signal);
      return message.kind === "ready" || message.kind === "refused" || message.kind === "glanced"
        ? confused(message)
        : message;
    },
    async glance(files, timeLimitMs) {
      number += 1;
      contents.clear();
      const taken = files.filter((file) => contents.add(file)).length;
      const message = await ask({ kind: "glance", number, lengths: contents.lengths }, timeLimitMs);
      if (message.kind === "glanced" && taken === files.length) return message;
      return message.kind === "overrun" || message.kind === "lost" ? message : confused(message);
    },
    async stop() {
      await worker.terminate();
    },
  };
}

function confused(message: ThreadMessage): Ended {
  return { kind: "lost", message: `it said ${message.kind}, which was not the question` };
}

/** The thread's messages, each to be waited for before it is asked for; its end is the last one, over and over. */
function messagesOf(worker: Worker): () => Promise<ThreadMessage | Ended> {
  let hear: (message: ThreadMessage | Ended) => void = () => {};
  let end: Ended | undefined;
  let reason = "it ended by itself";
  worker.on("message", (message: ThreadMessage) => hear(message));
  worker.on("error", (error) => {
    reason = error.message;
  });
  worker.once("exit", () => {
    end = { kind: "lost", message: reason };
    hear(end);
  });
  return () =>
    new Promise((resolve) => {
      if (end) resolve(end);
      else hear = resolve;
    });
}
