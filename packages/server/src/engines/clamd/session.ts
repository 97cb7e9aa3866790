import { connect, type Socket } from "node:net";
import { EngineUnavailable } from "../../model/faults.ts";
import { type ClamdAddress, connectOptions, describeAddress } from "./address.ts";
import { type Reply, readReply } from "./reply.ts";

/**
 * One connection to clamd in IDSESSION mode, one scan at a time.
 *
 *   idle ── INSTREAM ──▶ sending ── zero chunk ──▶ waiting ── reply ──▶ idle
 *     any error, a reply out of turn, an abort while sending ──▶ dead
 *
 * A dead session is never used again. clamd goes on scanning after a client has hung up, so an abort while waiting
 * lets the caller go but leaves the session waiting: `settled` tells when clamd is really done with it.
 */
export interface Session {
  /** Sends the bytes and answers with clamd's reply. Throws what `bytes` throws, `signal.reason`, or a fault. */
  scan(bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Reply>;
  /** Resolves when clamd holds no thread for this session any more. */
  settled(): Promise<void>;
  readonly idle: boolean;
  close(): void;
}

export interface SessionOptions {
  connectTimeoutMs: number;
  /** How long clamd may take for its reply once all bytes are sent. */
  replyTimeoutMs: number;
}

/** What goes wrong once the bytes are on their way may be due to the bytes. */
const LOOKING = { whileLooking: true };
/** Not worth waiting for what comes next. */
const LARGE_CHUNK_BYTES = 16 * 1024;
const HELLO = Buffer.from("zIDSESSION\0");
const INSTREAM = Buffer.from("zINSTREAM\0");
const END_OF_STREAM = Buffer.alloc(4);
/** A reply is a short line; a peer that sends more than this is not clamd. */
const LONGEST_REPLY = 8192;

export async function openSession(
  address: ClamdAddress,
  options: SessionOptions,
  signal: AbortSignal,
): Promise<Session> {
  const socket = await dial(address, options.connectTimeoutMs, signal);
  const where = describeAddress(address);
  let state: "idle" | "sending" | "waiting" | "dead" = "idle";
  let commands = 0;
  let received = "";
  let onReply: ((reply: string) => void) | undefined;
  let onFault: ((error: Error) => void) | undefined;
  let onDrain: (() => void) | undefined;
  let repliedEarly = false;
  let busy: Promise<void> = Promise.resolve();

  function die(reason: Error): void {
    if (state === "dead") return;
    state = "dead";
    socket.destroy();
    onFault?.(reason);
    onDrain?.();
  }

  socket.setEncoding("latin1");
  socket.on("data", (text: string) => {
    received += text;
    const end = received.search(/[\0\n]/);
    if (end === -1) {
      if (received.length > LONGEST_REPLY)
        die(new EngineUnavailable(`clamd at ${where} sent an endless reply`, LOOKING));
      return;
    }
    const reply = received.slice(0, end);
    const rest = received.slice(end + 1);
    received = "";
    if (!onReply || rest !== "") return die(new EngineUnavailable(`clamd at ${where} answered out of turn`, LOOKING));
    repliedEarly = state === "sending";
    const answer = onReply;
    onReply = undefined;
    answer(reply);
    onDrain?.();
  });
  socket.on("timeout", () =>
    die(new EngineUnavailable(`clamd at ${where} gave no verdict within ${options.replyTimeoutMs / 1000} s`, LOOKING)),
  );
  socket.on("drain", () => onDrain?.());
  socket.on("error", (cause) =>
    die(new EngineUnavailable(`the connection to clamd at ${where} broke`, { cause, whileLooking: true })),
  );
  socket.on("close", () =>
    die(new EngineUnavailable(`clamd at ${where} closed the connection without a verdict`, LOOKING)),
  );
  socket.write(HELLO);

  /** The reply to the running command, whenever it comes; also one that comes before all bytes are sent. */
  function nextReply(): Promise<string> {
    return new Promise((resolve, reject) => {
      onReply = resolve;
      onFault = reject;
    });
  }

  /** Sends every chunk as it comes; stops as soon as `over` is settled, whether or not more chunks come. */
  async function send(bytes: AsyncIterable<Uint8Array>, over: Promise<void>): Promise<void> {
    const iterator = bytes[Symbol.asyncIterator]();
    let ended = false;
    let interrupt: ((end: IteratorResult<Uint8Array>) => void) | undefined;
    void over.then(() => {
      ended = true;
      interrupt?.({ done: true, value: undefined });
    });
    // Not Promise.race: that would keep every chunk alive until `over` is settled.
    const nextChunk = (): Promise<IteratorResult<Uint8Array>> =>
      new Promise((resolve, reject) => {
        interrupt = resolve;
        iterator.next().then(resolve, reject);
      });

    corkForThisTurn();
    socket.write(INSTREAM);
    for (;;) {
      const next = await nextChunk();
      if (ended) void iterator.return?.().catch(ignore);
      if (next.done || ended) return;
      // To clamd an empty chunk is the end of the stream.
      if (next.value.byteLength === 0) continue;
      const length = Buffer.allocUnsafe(4);
      length.writeUInt32BE(next.value.byteLength);
      corkForThisTurn();
      socket.write(length);
      const room = socket.write(next.value);
      if (next.value.byteLength >= LARGE_CHUNK_BYTES || !room) socket.uncork();
      if (!room && socket.writableNeedDrain) await drained();
    }
  }

  /** A small file leaves in one packet, from the command to the end of the stream. */
  function corkForThisTurn(): void {
    if (socket.writableCorked > 0) return;
    socket.cork();
    setImmediate(() => socket.uncork());
  }

  function drained(): Promise<void> {
    return new Promise((resolve) => {
      onDrain = resolve;
    });
  }

  return {
    get idle() {
      return state === "idle";
    },

    settled: () => busy,

    async scan(bytes, scanSignal) {
      scanSignal.throwIfAborted();
      if (state !== "idle") throw new EngineUnavailable(`the session with clamd at ${where} is not idle`);
      state = "sending";
      commands += 1;
      const number = commands;
      const reply = nextReply();
      busy = reply.then(ignore, ignore);
      const abandon = (): void => {
        if (state === "sending") die(givenUp());
      };
      scanSignal.addEventListener("abort", abandon, { once: true });
      try {
        await send(bytes, busy);
        scanSignal.throwIfAborted();
        if (state === "sending") {
          state = "waiting";
          socket.write(END_OF_STREAM);
          socket.setTimeout(options.replyTimeoutMs);
        }
        const text = await orAborted(reply, scanSignal);
        socket.setTimeout(0);
        const outcome = repliedEarly ? beforeTheEnd(readReply(text, number)) : readReply(text, number);
        // After a failure, or a reply that did not wait for the end of the stream, a session is not to be trusted.
        if (outcome.kind === "failure" || repliedEarly) die(givenUp());
        else state = "idle";
        return outcome;
      } catch (error) {
        if (state === "sending") die(givenUp());
        else void busy.then(() => die(givenUp()));
        throw error;
      } finally {
        scanSignal.removeEventListener("abort", abandon);
      }
    },

    close() {
      die(new EngineUnavailable("the session was closed"));
    },
  };
}

async function dial(address: ClamdAddress, timeoutMs: number, signal: AbortSignal): Promise<Socket> {
  const where = describeAddress(address);
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const socket = connect(connectOptions(address));
    const timer = setTimeout(() => fail(new Error(`no answer within ${timeoutMs / 1000} s`)), timeoutMs);
    const giveUp = (): void =>
      end(() => {
        socket.on("error", ignore).destroy();
        reject(signal.reason);
      });
    const end = (then: () => void): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", giveUp);
      socket.removeAllListeners();
      then();
    };
    const fail = (cause: Error): void =>
      end(() => {
        socket.on("error", ignore).destroy();
        reject(new EngineUnavailable(`cannot reach clamd at ${where}`, { cause }));
      });
    socket.once("error", fail);
    socket.once("connect", () => end(() => resolve(socket)));
    signal.addEventListener("abort", giveUp, { once: true });
  });
}

function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(signal.reason);
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", giveUp));
  });
}

/** Of a stream that was not sent to its end, the only verdict to believe is that it cannot be scanned. */
function beforeTheEnd(reply: Reply): Reply {
  if (reply.kind === "failure" || reply.verdict.kind === "unscannable") return reply;
  return { kind: "failure", text: `a verdict of ${reply.verdict.kind} before the end of the stream` };
}

function givenUp(): EngineUnavailable {
  return new EngineUnavailable("the session with clamd was given up");
}

function ignore(): void {}
