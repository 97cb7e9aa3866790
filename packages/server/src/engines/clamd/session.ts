import { removeItem } from "../../flow/remove-item.ts";
import { isWhole } from "../../flow/whole-bytes.ts";
import { EngineUnavailable } from "../../model/faults.ts";
import { type ClamdAddress, describeAddress } from "./address.ts";
import { dial } from "./dial.ts";
import { commandFor, END_OF_STREAM, inOnePiece, ONE_PIECE_BYTES, type StreamBytes, streamWriter } from "./instream.ts";
import { beforeTheEnd, printable, type Reply, readReply } from "./reply.ts";

/**
 * One connection to clamd in IDSESSION mode. Streams are sent one after the other; clamd answers them by their number,
 * in any order, while others are being sent.
 *
 *   each stream: its turn ── INSTREAM ──▶ sending ── zero chunk ──▶ waiting ── reply ──▶ done
 *   the session: a lost connection, a reply out of turn, an abort while sending ──▶ dead, and all its streams with it
 *                a failure at one stream ──▶ takes no more ── the others are answered ──▶ dead
 *
 * A dead session is never used again. clamd goes on scanning after a client has hung up, so an abort while waiting
 * lets the caller go but leaves the session waiting: `settled` and `answered` tell when clamd is really done with it.
 */
export interface Session {
  /** Sends the bytes and answers with clamd's reply. Throws what `bytes` throws, `signal.reason`, or a fault. */
  scan(bytes: StreamBytes, options: StreamOptions): Promise<Reply>;
  /** Resolves when clamd holds no thread for this session any more. Undefined: it holds none. */
  settled(): Promise<void> | undefined;
  /** Nothing is sent or waited for, and it can be used. */
  readonly idle: boolean;
  readonly alive: boolean;
  /** Another stream is no worse off than on a session of its own: none is being sent, clamd is late with none, and little is on its way. */
  readonly takesMore: boolean;
  close(): void;
}

/** The session ended for the sake of another stream, or it is not clear for whose. This one may be sent again. */
export class GivenUp extends EngineUnavailable {
  constructor(text = "the session with clamd was given up", options?: { whileScanning: boolean; cause?: Error }) {
    super(text, options);
    this.name = "GivenUp";
  }
}

interface StreamOptions {
  signal: AbortSignal;
  /** Called when all bytes are sent, but not yet the end: clamd has not begun to look at them. */
  beforeEnd?: (bytesSent: number) => Promise<void> | void;
  /** Called once, when clamd holds no thread for it any more, or never did: that may be long after whoever waited has gone. */
  answered?: (() => void) | undefined;
}

export interface SessionOptions {
  connectTimeoutMs: number;
  /** How long clamd may take for its reply once all bytes are sent. */
  replyTimeoutMs: number;
}

/** A stream that clamd has not answered yet. */
interface Pending {
  number: number;
  since: number;
  /** How much had been written before it. */
  beginsAt: number;
  ended: boolean;
  /** How much had been written by its end, of all that was. */
  endsAt: number;
  /** Set while it is sent: no more of it is wanted. */
  interrupt?: () => void;
  resolve(reply: Reply): void;
  reject(error: unknown): void;
  answered: (() => void) | undefined;
}

/** What goes wrong once the bytes are on their way may be due to the bytes. */
const LOOKING = { whileScanning: true };
/** Most replies take milliseconds. */
const LATE_MS = 1000;
/** Of streams that share a session: what the system takes at once, so that what we see of it is what has left. */
const ON_THEIR_WAY_BYTES = 128 * 1024;
const HELLO = Buffer.from("zIDSESSION\0");
/** A reply is a short line; a peer that sends more than this is not clamd. */
const LONGEST_REPLY = 8192;

export async function openSession(
  address: ClamdAddress,
  options: SessionOptions,
  signal: AbortSignal,
): Promise<Session> {
  const socket = await dial(address, options.connectTimeoutMs, signal);
  const out = streamWriter(socket);
  const where = describeAddress(address);
  /** In the order in which they were begun. */
  const pending: Pending[] = [];
  let dead = false;
  let commands = 0;
  let received = "";
  let sending: number | undefined;
  /** Those who wait until the streams before theirs are sent. */
  const line: (() => void)[] = [];
  let turnTaken = false;
  /** To be closed when clamd is done with those who are left: it works for somebody who has gone, or has failed somebody. */
  let doomed = false;
  let failed = false;
  const whenSettled: (() => void)[] = [];

  function die(reason: Error): void {
    if (dead) return;
    dead = true;
    socket.destroy();
    for (const stream of pending.splice(0)) {
      stream.reject(reason);
      stream.interrupt?.();
      stream.answered?.();
    }
    out.goOn();
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
    if (!pending.some((stream) => stream.ended)) return;
    die(new EngineUnavailable(`clamd at ${where} gave no verdict within ${options.replyTimeoutMs / 1000} s`, LOOKING));
  });
  // After a failure clamd may close it for the sake of that one.
  const gone = (text: string, cause?: Error): void =>
    die(new (failed ? GivenUp : EngineUnavailable)(text, { ...LOOKING, ...(cause && { cause }) }));
  socket.on("error", (cause) => gone(`the connection to clamd at ${where} broke`, cause));
  socket.on("close", () => gone(`clamd at ${where} closed the connection without a verdict`));
  out.write(HELLO);

  const isPending = (number: number): boolean => pending.some((stream) => stream.number === number);

  /** None of the replies that came together counts unless all of them are in turn. */
  function takeReplies(lines: readonly string[]): void {
    const [first = ""] = lines;
    const number = lines.length === 1 ? numberOf(first) : undefined;
    if (number !== undefined && isPending(number)) {
      takeReply(number, first);
      return;
    }
    const replies = new Map<number, string>();
    for (const line of lines) {
      const its = numberOf(line);
      if (its === undefined) {
        die(new GivenUp(`clamd gave no verdict: ${printable(line)}`, LOOKING));
        return;
      }
      if (replies.has(its) || !isPending(its)) {
        die(new EngineUnavailable(`clamd at ${where} answered out of turn`, LOOKING));
        return;
      }
      replies.set(its, line);
    }
    for (const [its, line] of replies) takeReply(its, line);
  }

  /** Some failures carry no number: they are about the stream that is being sent, or the only one that was. Undefined: about one of several. */
  function numberOf(line: string): number | undefined {
    const [, digits] = /^(\d{1,9}): /.exec(line) ?? [];
    if (digits !== undefined) return Number(digits);
    return sending ?? (pending.length > 1 ? undefined : (pending[0]?.number ?? commands));
  }

  function takeReply(number: number, line: string): void {
    const stream = pending.find((each) => each.number === number);
    // Gone with a failure that came together with this reply.
    if (!stream) return;
    // What is still to be sent clamd has not seen: its word came before the end.
    if (stream.ended && stream.endsAt > out.left) {
      if (number === commands) stream.ended = false;
      // Of what leaves in one piece with others it is not known how much has left. Members of archives are sent again by nobody.
      else if (stream.answered) return void die(new GivenUp());
    }
    removeItem(pending, stream);
    const reply = stream.ended ? readReply(line, number) : beforeTheEnd(readReply(line, number));
    stream.resolve(reply);
    stream.interrupt?.();
    out.goOn();
    // After that a session is not to be trusted; those who have been heard to their end are answered by their numbers all the same.
    if (reply.kind === "failure" || line.endsWith(" ERROR")) {
      failed = true;
      doomed = true;
    }
    if (!stream.ended || (doomed && pending.length === 0)) die(new GivenUp());
    stream.answered?.();
    if (pending.length === 0) for (const settle of whenSettled.splice(0)) settle();
  }

  async function sendPieces(bytes: StreamBytes, stream: Pending, options: StreamOptions): Promise<void> {
    const size = await out.sendChunks(bytes, stream);
    const ready = pending.includes(stream) ? options.beforeEnd?.(size) : undefined;
    if (ready) {
      socket.uncork();
      await ready;
    }
    options.signal.throwIfAborted();
    if (pending.includes(stream)) end(stream, END_OF_STREAM);
    socket.uncork();
  }

  /** What is all here. Undefined: it has left. */
  function sendWhole(content: Uint8Array, stream: Pending, options: StreamOptions): Promise<void> | undefined {
    const isSmall = content.byteLength <= ONE_PIECE_BYTES;
    if (!isSmall) {
      socket.cork();
      out.write(commandFor(content));
      out.write(content);
    }
    const ready = options.beforeEnd?.(content.byteLength);
    if (isSmall && !ready) {
      // Those who come in the same turn leave together.
      if (pending.length > 1) out.corkForThisTurn();
      end(stream, inOnePiece(content));
      return undefined;
    }
    if (isSmall) out.write(inOnePiece(content).subarray(0, -END_OF_STREAM.length));
    else if (!ready) end(stream, END_OF_STREAM);
    socket.uncork();
    return ready?.then(() => {
      options.signal.throwIfAborted();
      if (!dead) end(stream, END_OF_STREAM);
    });
  }

  function end(stream: Pending, last: Buffer): void {
    stream.ended = true;
    stream.endsAt = out.written + last.length;
    out.write(last);
  }

  function leaveTurn(): void {
    const next = line.shift();
    if (next) next();
    else turnTaken = false;
  }

  return {
    get idle() {
      return !dead && pending.length === 0 && sending === undefined;
    },

    get alive() {
      return !dead;
    },

    get takesMore() {
      if (dead || doomed || turnTaken) return false;
      const [oldest] = pending;
      if (!oldest) return true;
      return out.written - oldest.beginsAt < ON_THEIR_WAY_BYTES && performance.now() - oldest.since < LATE_MS;
    },

    settled: () => (pending.length === 0 ? undefined : new Promise((resolve) => void whenSettled.push(resolve))),

    async scan(bytes, streamOptions) {
      const { signal: scanSignal, answered } = streamOptions;
      if (dead || scanSignal.aborted) {
        answered?.();
        scanSignal.throwIfAborted();
        throw new EngineUnavailable(`the session with clamd at ${where} is closed`);
      }
      if (turnTaken) await new Promise<void>((resolve) => void line.push(resolve));
      turnTaken = true;
      if (dead || scanSignal.aborted) {
        leaveTurn();
        answered?.();
        scanSignal.throwIfAborted();
        throw new GivenUp();
      }
      commands += 1;
      const number = commands;
      sending = number;
      const { promise: reply, resolve, reject } = Promise.withResolvers<Reply>();
      // While it is sent nobody waits for it.
      reply.catch(ignore);
      const stream: Pending = {
        number,
        since: performance.now(),
        beginsAt: out.written,
        ended: false,
        endsAt: 0,
        resolve,
        reject,
        answered,
      };
      pending.push(stream);
      const abandon = (): void => {
        if (sending === number) die(new GivenUp());
        else reject(scanSignal.reason);
      };
      scanSignal.addEventListener("abort", abandon, { once: true });
      const sent = (): void => {
        if (sending !== number) return;
        sending = undefined;
        leaveTurn();
      };
      try {
        const leaving = isWhole(bytes)
          ? sendWhole(bytes.takeAll(), stream, streamOptions)
          : sendPieces(bytes, stream, streamOptions);
        if (leaving) await leaving;
        sent();
        return await reply;
      } catch (error) {
        if (!stream.ended || pending.length === 0) die(new GivenUp());
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

function ignore(): void {}
