import { read } from "node:fs";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import { bareThread } from "../../flow/bare-thread.ts";
import type { ShownMember, ShownVerdict } from "../clamd/show-members.ts";
import { THREAD_HEAP_MB, THREAD_YOUNG_HEAP_MB, type ThreadMemory } from "./scan-limits.ts";
import {
  CONTROL,
  type LoadedRules,
  type OtherEngine,
  type Outcome,
  type ShownMembers,
  type ThreadMessage,
  type ThreadRequest,
  type ThreadSetup,
} from "./scan-protocol.ts";
import type { Spooled } from "./spool.ts";

/** How the scan of one file ended. Only `answer` is about the file; after `overrun` and `lost` the thread is gone. */
export type Reply =
  | { kind: "answer"; outcome: Outcome }
  | { kind: "no-answer"; message: string }
  /** Members could not be shown. */
  | { kind: "fault"; error: unknown }
  | Ended;

type Ended = { kind: "overrun" } | { kind: "lost"; message: string };

/** Where members are shown that clamd has not come across by itself. */
export interface MemberShow extends OtherEngine {
  show(members: readonly ShownMember[], signal: AbortSignal): Promise<ShownVerdict>;
}

interface ScanOptions {
  timeLimitMs: number;
  signal: AbortSignal;
  other: MemberShow | undefined;
}

/** One thread, seen from outside. One request at a time. */
export interface ScanWorker {
  /** Missing where it has none. */
  readonly rules: LoadedRules | undefined;
  /** False once it has ended, was killed, or said something that makes no sense. */
  readonly usable: boolean;
  readonly memoryAtStart: ThreadMemory;
  /** As it was at its last answer. */
  readonly memory: ThreadMemory;
  scan(file: Spooled, options: ScanOptions): Promise<Reply>;
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
export async function startScanWorker(setup: Omit<ThreadSetup, "control">): Promise<ScanWorker> {
  const shared = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT * CONTROL.count);
  const control = new Int32Array(shared);
  const worker = new Worker(new URL("./scan-thread.ts", import.meta.url), {
    name: "lazaret-scan",
    workerData: { ...setup, control: shared } satisfies ThreadSetup,
    // What meets hostile bytes needs no secrets.
    ...bareThread(),
    resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MB, maxYoungGenerationSizeMb: THREAD_YOUNG_HEAP_MB },
  });
  const messages = messagesOf(worker);
  let number = 0;
  let usable = true;

  const first = await messages.next();
  if (first.kind === "refused") {
    await worker.terminate();
    throw new RulesRefused(first.message);
  }
  if (first.kind !== "ready") {
    throw new Error(`cannot start a scan thread: ${first.kind === "lost" ? first.message : first.kind}`);
  }

  let { memory } = first;

  /** Sends a request and waits for its answer; kills the thread when that takes too long. */
  async function ask(
    request: ThreadRequest,
    timeLimitMs: number,
    {
      signal,
      onMembers,
      onKill,
    }: { signal?: AbortSignal; onMembers?(members: ShownMembers): void; onKill?(): void } = {},
  ): Promise<ThreadMessage | Ended> {
    let overrun = false;
    const kill = (): void => {
      overrun = true;
      onKill?.();
      void worker.terminate();
    };
    let timer = setTimeout(kill, timeLimitMs);
    const callOff = (): void => {
      Atomics.store(control, CONTROL.calledOff, request.number);
      clearTimeout(timer);
      timer = setTimeout(kill, NOTICE_MS);
    };
    signal?.addEventListener("abort", callOff, { once: true });
    if (signal?.aborted) callOff();

    let answer = messages.next();
    // Copied here and handed over: of a part of a larger buffer all would be copied, others' bytes as well.
    const file =
      request.file.kind === "memory" ? { ...request.file, bytes: new Uint8Array(request.file.bytes) } : request.file;
    worker.postMessage({ ...request, file }, file.kind === "memory" ? [file.bytes.buffer] : []);
    let message = await answer;
    while (message.kind === "members") {
      answer = messages.next();
      onMembers?.(message.members);
      message = await answer;
    }
    clearTimeout(timer);
    signal?.removeEventListener("abort", callOff);
    if ("memory" in message) memory = message.memory;
    if (overrun || message.kind === "lost") usable = false;
    // What it had said before it was killed came too late: nobody has shown its members.
    return overrun ? { kind: "overrun" } : message;
  }

  /** Looks at a file while what comes out of it is shown to clamd. */
  async function scan(file: Spooled, { timeLimitMs, signal, other }: ScanOptions): Promise<Reply> {
    number += 1;
    Atomics.store(control, CONTROL.bytesUnderWay, 0);
    const stop = new AbortController();
    const giveUp = (): void => stop.abort(signal.reason);
    signal.addEventListener("abort", giveUp, { once: true });
    if (signal.aborted) giveUp();
    const shows: Promise<void>[] = [];
    let found: (Outcome & { kind: "infected" | "unscannable" }) | undefined;
    let fault: { error: unknown } | undefined;

    async function show(members: ShownMembers): Promise<void> {
      const { shown, bytes } = asShown(members);
      try {
        if (stop.signal.aborted || !other) return;
        const verdict = await other.show(shown, stop.signal);
        // The files of a thread that was killed are closed, and their numbers may be other files' by now.
        if (verdict.kind === "clean" || stop.signal.aborted) return;
        const path = members.kind === "file" ? members.path : (members.paths[verdict.index] ?? "");
        if (verdict.kind === "infected") {
          found = { kind: "infected", finding: verdict.finding, member: path };
          stop.abort();
        } else if (!found) found = { kind: "unscannable", finding: verdict.finding, detail: `clamd, in ${path}` };
      } catch (error) {
        if (found?.kind !== "infected" && !signal.aborted) fault ??= { error };
        stop.abort();
      } finally {
        Atomics.sub(control, CONTROL.bytesUnderWay, Math.max(1, bytes));
        Atomics.notify(control, CONTROL.bytesUnderWay);
      }
    }

    const request: ThreadRequest = {
      number,
      file,
      other: other && { gets: other.gets, opens: other.opens },
    };
    const message = await ask(request, timeLimitMs, {
      signal: stop.signal,
      onMembers: (members) => void shows.push(show(members)),
      onKill: () => stop.abort(),
    });
    // Whoever has found something need not wait for the rest; nobody waits for members of a file that has no answer.
    const answered = message.kind === "answer";
    if (!answered || message.outcome.kind === "infected" || message.outcome.kind === "crowded") stop.abort();
    await Promise.all(shows);
    signal.removeEventListener("abort", giveUp);
    if (message.kind === "ready" || message.kind === "refused" || message.kind === "members") return confused(message);
    if (found?.kind === "infected") return { kind: "answer", outcome: found };
    if (!answered) return fault && message.kind === "no-answer" ? { kind: "fault", ...fault } : message;
    if (message.outcome.kind === "infected" || message.outcome.kind === "crowded") return message;
    if (fault) return { kind: "fault", ...fault };
    return found && message.outcome.kind === "clean" ? { ...message, outcome: found } : message;
  }

  function confused(message: ThreadMessage): Ended {
    usable = false;
    return { kind: "lost", message: `it said ${message.kind}, which was not the question` };
  }

  return {
    rules: first.rules,
    memoryAtStart: first.memory,
    get usable() {
      return usable;
    },
    get memory() {
      return memory;
    },
    scan,
    async stop() {
      await worker.terminate();
    },
  };
}

const readAt = promisify(read);
const PIECE_BYTES = 256 * 1024;

function asShown(members: ShownMembers): { shown: ShownMember[]; bytes: number } {
  const elsewhere = members.shownElsewhere && { shownElsewhere: members.shownElsewhere };
  if (members.kind === "file") {
    const { descriptor, start, size } = members;
    const read = (): AsyncIterable<Uint8Array> => stretch(descriptor, start, size);
    return { shown: [{ size, read, ...elsewhere }], bytes: size };
  }
  if (elsewhere) {
    const { bytes } = members;
    return { shown: [{ size: bytes.length, read: () => once(bytes), ...elsewhere }], bytes: bytes.length };
  }
  let at = 0;
  const shown = members.lengths.map((length) => {
    at += length;
    return members.bytes.subarray(at - length, at);
  });
  return { shown, bytes: members.bytes.length };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** The thread, which waits meanwhile, has the file open; so have we. */
async function* stretch(descriptor: number, start: number, size: number): AsyncGenerator<Uint8Array> {
  for (let done = 0; done < size; ) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, size - done));
    const { bytesRead } = await readAt(descriptor, piece, 0, piece.length, start + done);
    if (bytesRead === 0) throw new Error("cannot read a member: its file is shorter than what was written");
    yield piece.subarray(0, bytesRead);
    done += bytesRead;
  }
}

/** The thread's messages, in order; its end is the last one, over and over. */
function messagesOf(worker: Worker): { next(): Promise<ThreadMessage | Ended> } {
  const arrived: ThreadMessage[] = [];
  let hear: ((message: ThreadMessage | Ended) => void) | undefined;
  let end: Ended | undefined;
  let reason = "it ended by itself";
  worker.on("message", (message: ThreadMessage) => {
    const listener = hear;
    hear = undefined;
    if (listener) listener(message);
    else arrived.push(message);
  });
  worker.on("error", (error) => {
    reason = error.message;
  });
  worker.once("exit", () => {
    end = { kind: "lost", message: reason };
    hear?.(end);
  });
  return {
    next: () =>
      new Promise((resolve) => {
        const message = arrived.shift() ?? end;
        if (message) resolve(message);
        else hear = resolve;
      }),
  };
}
