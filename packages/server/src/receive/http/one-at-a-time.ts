import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * A connection whose client may send requests before it has the answers to those before (pipelining). node:http parses all
 * that it reads at once, a thousand requests out of 64 KB, and keeps them and their answers whether or not anybody reads
 * them. Here the parser gets a connection's bytes request by request: the next one is parsed when the answer to the one
 * before has left, and the rest waits with the socket not being read.
 */
export interface Connection {
  /** Resolves when every request before this one is answered; never, when the connection is gone by then. Undefined: it is now. */
  turn(message: IncomingMessage, response: ServerResponse): Promise<void> | undefined;
  /** A request is being answered, or waits to be, or has begun to arrive after another. */
  readonly busy: boolean;
  /** There is more behind the request that is being answered. */
  readonly more: boolean;
  /** What came behind the request that is being answered may be lost in part: it has to be the last one. */
  readonly last: boolean;
}

/** A body of which nobody said how long it is is not searched for its end more often than once in so many bytes. */
const BODY_PIECE_BYTES = 1024;
/** Where every request's headers end, and every chunked body. */
const BLANK_LINE = Buffer.from("\r\n\r\n");

function isChunked({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined;
}

/** The length of a body, where its headers say it. */
function promisedBytes(message: IncomingMessage): number {
  return isChunked(message) ? 0 : Number(message.headers["content-length"] ?? 0);
}

/**
 * Asks for another protocol, which nobody here speaks. The parser stops behind it, and node:http forgets what else it was given: that would be
 * the headers of another request, whose body is then taken for one. So it gets nothing else, and where that is not sure, the connection ends.
 */
function isUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined;
}

/** To be called when node:http has begun to listen to the socket. */
export function oneAtATime(socket: Socket): Connection {
  const waiting: (() => void)[] = [];
  let current: IncomingMessage | undefined;
  /** What is still to come of the body that arrives; 0 where nobody said how long it is. */
  let bodyBytes = 0;
  /** A part of the next request's headers may have been parsed. */
  let inHeaders = false;
  let last = false;
  let rest: Buffer | undefined;
  let held = false;
  let following = false;

  // What node:http listens to the socket with. Asking for the bytes ourselves makes it let go of the socket's handle.
  const [parse] = socket.listeners("data") as ((bytes: Buffer) => void)[];
  if (!parse) throw new Error("node:http does not read this connection");
  socket.off("data", parse);
  socket.on("data", (bytes: Buffer) => {
    rest = rest ? Buffer.concat([rest, bytes]) : bytes;
    feed();
  });
  // node:http pauses its parser too, when the client does not read.
  socket.on("drain", feed);
  socket.once("close", () => {
    rest = undefined;
    waiting.length = 0;
  });

  /** The next piece, which holds the end of at most one request; of very few behind a body whose length is not known. */
  function pieceOf(bytes: Buffer): Buffer {
    const inBody = current && !current.complete;
    if (inBody && bodyBytes > 0) return bodyBytes < bytes.length ? bytes.subarray(0, bodyBytes) : bytes;
    const end = bytes.indexOf(BLANK_LINE, inBody ? BODY_PIECE_BYTES : 0);
    return end === -1 ? bytes : bytes.subarray(0, end + BLANK_LINE.length);
  }

  function parsePiece(piece: Buffer): void {
    const before = current;
    parse?.(piece);
    // Whether it ended with a request's headers, or with its body, and held nothing behind them.
    const isExact = before ? bodyBytes > 0 : !inHeaders;
    if (before) bodyBytes -= piece.length;
    else if (current) {
      // What it has of its body by now, nobody has read: it has just begun.
      bodyBytes = current.complete ? 0 : promisedBytes(current) - current.readableLength;
      last ||= isUpgrade(current) && (!isExact || isChunked(current));
    }
    inHeaders = !current || (current.complete && !isExact);
  }

  function mayParse(): boolean {
    if (socket.destroyed || socket.writableEnded || following || waiting.length > 0 || current?.complete) return false;
    if (last && !current) return false;
    return !("_paused" in socket && socket._paused === true);
  }

  function feed(): void {
    while (rest && mayParse()) {
      const piece = pieceOf(rest);
      rest = piece.length === rest.length ? undefined : rest.subarray(piece.length);
      parsePiece(piece);
    }
    if (rest && !held) {
      held = true;
      socket.pause();
    } else if (!rest && held) {
      held = false;
      socket.resume();
    }
  }

  function goOn(): void {
    following = false;
    if (socket.destroyed) return;
    waiting.shift()?.();
    feed();
  }

  function take(message: IncomingMessage, response: ServerResponse): void {
    current = message;
    // Who knows how much of one that has waited was parsed before.
    bodyBytes = 0;
    // The one of the answer before, should it still run.
    socket.setTimeout(0);
    response.once("close", () => {
      current = undefined;
      if (!waiting.length && !rest) return;
      // After the turn of all others: a client that sends a thousand requests at once is one of many.
      following = true;
      setImmediate(goOn);
    });
  }

  return {
    get busy() {
      return current !== undefined || waiting.length > 0 || rest !== undefined;
    },
    get more() {
      return waiting.length > 0 || rest !== undefined;
    },
    get last() {
      return last;
    },
    turn(message, response) {
      if (!current && !following) {
        take(message, response);
        return undefined;
      }
      return new Promise((resolve) => {
        waiting.push(() => {
          if (isUpgrade(message)) {
            socket.destroy();
            return;
          }
          take(message, response);
          resolve();
        });
      });
    },
  };
}
