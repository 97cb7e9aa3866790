import { isWhole } from "../../flow/whole-bytes.ts";
import { EngineUnavailable } from "../../model/faults.ts";
import { type ClamdAddress, describeAddress } from "./address.ts";
import { dial } from "./dial.ts";
import { beforeTheEnd, type Reply, readReply } from "./reply.ts";

/**
 * One connection to clamd in IDSESSION mode. Streams are sent one after the other; clamd answers them by their number,
 * in any order, while others are being sent.
 *
 *   each stream: its turn ── INSTREAM ──▶ sending ── zero chunk ──▶ waiting ── reply ──▶ done
 *   the session: any error, a reply out of turn, an abort while sending ──▶ dead, and all its streams with it
 *
 * A dead session is never used again. clamd goes on scanning after a client has hung up, so an abort while waiting
 * lets the caller go but leaves the session waiting: `settled` tells when clamd is really done with it.
 */
export interface Session {
  /** Sends the bytes and answers with clamd's reply. Throws what `bytes` throws, `signal.reason`, or a fault. */
  scan(bytes: StreamBytes, options: StreamOptions): Promise<Reply>;
  /** Resolves when clamd holds no thread for this session any more. Undefined: it holds none. */
  settled(): Promise<void> | undefined;
  /** Nothing is sent or waited for, and it can be used. */
  readonly idle: boolean;
  readonly alive: boolean;
  close(): void;
}

type StreamBytes = AsyncIterable<Uint8Array>;

interface StreamOptions {
  signal: AbortSignal;
  /** Called when all bytes are sent, but not yet the end: clamd has not begun to look at them. */
  beforeEnd?: (bytesSent: number) => Promise<void> | void;
}

export interface SessionOptions {
  connectTimeoutMs: number;
  /** How long clamd may take for its reply once all bytes are sent. */
  replyTimeoutMs: number;
}

/** A stream that clamd has not answered yet. */
interface Pending {
  ended: boolean;
  /** Set while it is sent: no more of it is wanted. */
  interrupt?: () => void;
  resolve(reply: Reply): void;
  reject(error: unknown): void;
}

/** What goes wrong once the bytes are on their way may be due to the bytes. */
const LOOKING = { whileScanning: true };
/** Up to this size a file is copied into one piece. */
const COPIED_BYTES = 16 * 1024;
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
  const pending = new Map<number, Pending>();
  let dead = false;
  let commands = 0;
  let received = "";
  let sending: number | undefined;
  /** Those who wait until the streams before theirs are sent. */
  const line: (() => void)[] = [];
  let turnTaken = false;
  let onDrain: (() => void) | undefined;
  /** clamd still works for somebody who has gone: to be closed when it is done. */
  let doomed = false;
  const whenSettled: (() => void)[] = [];

  function die(reason: Error): void {
    if (dead) return;
    dead = true;
    socket.destroy();
    for (const stream of pending.values()) {
      stream.reject(reason);
      stream.interrupt?.();
    }
    pending.clear();
    onDrain?.();
    for (const settle of whenSettled.splice(0)) settle();
  }

  socket.setEncoding("latin1");
  socket.on("data", (text: string) => {
    received += text;
    const lines = received.split(/[\0\n]/);
    received = lines.pop() ?? "";
    if (received.length > LONGEST_REPLY)
      return die(new EngineUnavailable(`clamd at ${where} sent an endless reply`, LOOKING));
    takeReplies(lines);
  });
  // Counts from the last byte that went either way. As long as nothing is waited for it means nothing.
  socket.setTimeout(options.replyTimeoutMs);
  socket.on("timeout", () => {
    if (![...pending.values()].some((stream) => stream.ended)) return;
    die(new EngineUnavailable(`clamd at ${where} gave no verdict within ${options.replyTimeoutMs / 1000} s`, LOOKING));
  });
  socket.on("drain", () => onDrain?.());
  socket.on("error", (cause) =>
    die(new EngineUnavailable(`the connection to clamd at ${where} broke`, { cause, whileScanning: true })),
  );
  socket.on("close", () =>
    die(new EngineUnavailable(`clamd at ${where} closed the connection without a verdict`, LOOKING)),
  );
  socket.write(HELLO);

  /** None of the replies that came together counts unless all of them are in turn. */
  function takeReplies(lines: readonly string[]): void {
    const [first = ""] = lines;
    if (lines.length === 1 && pending.has(numberOf(first))) {
      takeReply(numberOf(first), first);
      return;
    }
    const replies = new Map(lines.map((line) => [numberOf(line), line]));
    if (replies.size < lines.length || [...replies.keys()].some((number) => !pending.has(number))) {
      die(new EngineUnavailable(`clamd at ${where} answered out of turn`, LOOKING));
      return;
    }
    for (const [number, line] of replies) takeReply(number, line);
  }

  /** Some failures carry no number: they are about the stream that is being sent, or that was sent last. */
  function numberOf(line: string): number {
    const [, digits] = /^(\d{1,9}): /.exec(line) ?? [];
    return digits === undefined ? (sending ?? commands) : Number(digits);
  }

  function takeReply(number: number, line: string): void {
    const stream = pending.get(number);
    // Gone with a failure that came together with this reply.
    if (!stream) return;
    pending.delete(number);
    // What is still to be sent clamd has not seen: its word came before the end.
    if (number === commands && socket.writableLength > 0) stream.ended = false;
    const reply = stream.ended ? readReply(line, number) : beforeTheEnd(readReply(line, number));
    stream.resolve(reply);
    stream.interrupt?.();
    onDrain?.();
    // After a failure, or a reply that did not wait for the end of the stream, a session is not to be trusted.
    if (reply.kind === "failure") die(new EngineUnavailable(`clamd gave no verdict: ${reply.text}`, LOOKING));
    else if (!stream.ended) die(givenUp());
    if (pending.size > 0) return;
    if (doomed) die(givenUp());
    for (const settle of whenSettled.splice(0)) settle();
  }

  /** Sends every chunk as it comes; stops as soon as the stream is interrupted, whether or not more chunks come. */
  async function send(bytes: StreamBytes, stream: Pending): Promise<number> {
    const iterator = bytes[Symbol.asyncIterator]();
    let sent = 0;
    let ended = false;
    let interrupt: ((end: IteratorResult<Uint8Array>) => void) | undefined;
    stream.interrupt = () => {
      ended = true;
      interrupt?.({ done: true, value: undefined });
    };
    // Not Promise.race: that would keep every chunk alive until the stream is over.
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
      if (next.done || ended) return sent;
      // To clamd an empty chunk is the end of the stream.
      if (next.value.byteLength === 0) continue;
      const length = Buffer.allocUnsafe(4);
      length.writeUInt32BE(next.value.byteLength);
      corkForThisTurn();
      socket.write(length);
      const room = socket.write(next.value);
      sent += next.value.byteLength;
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

  /** Sends what is here, without the end of it. */
  function sendWhole(content: Uint8Array): void {
    socket.cork();
    socket.write(commandFor(content));
    socket.write(content);
  }

  /** From the command to the end of the stream. */
  async function sendAll(bytes: StreamBytes, number: number, options: StreamOptions): Promise<void> {
    const stream = pending.get(number);
    if (!stream) return;
    let size = 0;
    let small: Buffer | undefined;
    if (isWhole(bytes)) {
      const content = bytes.takeAll();
      size = content.byteLength;
      if (size <= COPIED_BYTES) small = inOnePiece(content);
      else sendWhole(content);
    } else size = await send(bytes, stream);
    const ready = pending.has(number) ? options.beforeEnd?.(size) : undefined;
    if (ready) {
      if (small) socket.write(small.subarray(0, -END_OF_STREAM.length));
      socket.uncork();
      await ready;
    }
    options.signal.throwIfAborted();
    if (pending.has(number)) {
      stream.ended = true;
      socket.write(small && !ready ? small : END_OF_STREAM);
    }
    socket.uncork();
  }

  function leaveTurn(): void {
    const next = line.shift();
    if (next) next();
    else turnTaken = false;
  }

  return {
    get idle() {
      return !dead && pending.size === 0 && sending === undefined;
    },

    get alive() {
      return !dead;
    },

    settled: () => (pending.size === 0 ? undefined : new Promise((resolve) => void whenSettled.push(resolve))),

    async scan(bytes, streamOptions) {
      const { signal: scanSignal } = streamOptions;
      scanSignal.throwIfAborted();
      if (dead) throw new EngineUnavailable(`the session with clamd at ${where} is closed`);
      if (turnTaken) await new Promise<void>((resolve) => void line.push(resolve));
      turnTaken = true;
      if (dead || scanSignal.aborted) {
        leaveTurn();
        scanSignal.throwIfAborted();
        throw givenUp();
      }
      commands += 1;
      const number = commands;
      sending = number;
      const { promise: reply, resolve, reject } = Promise.withResolvers<Reply>();
      // While it is sent nobody waits for it.
      reply.catch(ignore);
      const stream: Pending = { ended: false, resolve, reject };
      pending.set(number, stream);
      const abandon = (): void => {
        if (sending === number) die(givenUp());
        else reject(scanSignal.reason);
      };
      scanSignal.addEventListener("abort", abandon, { once: true });
      const sent = (): void => {
        if (sending !== number) return;
        sending = undefined;
        leaveTurn();
      };
      try {
        await sendAll(bytes, number, streamOptions);
        sent();
        return await reply;
      } catch (error) {
        if (!stream.ended) die(givenUp());
        else if (pending.size === 0) die(givenUp());
        else doomed = true;
        throw error;
      } finally {
        sent();
        scanSignal.removeEventListener("abort", abandon);
      }
    },

    close() {
      die(new EngineUnavailable("the session was closed"));
    },
  };
}

/** To clamd an empty chunk is the end of the stream: nothing has no length either. */
function commandFor({ byteLength }: Uint8Array, andMore = 0): Buffer {
  const hasLength = byteLength > 0;
  const command = Buffer.allocUnsafe(INSTREAM.length + (hasLength ? 4 : 0) + andMore);
  command.set(INSTREAM);
  if (hasLength) command.writeUInt32BE(byteLength, INSTREAM.length);
  return command;
}

/** A small file leaves in one piece, from the command to the end of the stream. */
function inOnePiece(content: Uint8Array): Buffer {
  const piece = commandFor(content, content.byteLength + END_OF_STREAM.length);
  piece.set(content, piece.length - content.byteLength - END_OF_STREAM.length);
  piece.set(END_OF_STREAM, piece.length - END_OF_STREAM.length);
  return piece;
}

function givenUp(): EngineUnavailable {
  return new EngineUnavailable("the session with clamd was given up");
}

function ignore(): void {}
