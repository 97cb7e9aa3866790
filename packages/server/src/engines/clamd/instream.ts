import type { Socket } from "node:net";

/** A stream as clamd wants it: the command, chunks that each have their length before them, and a length of nothing. */
const INSTREAM = Buffer.from("zINSTREAM\0");
export const END_OF_STREAM = Buffer.alloc(4);
/** Not worth waiting for what comes next. */
const LARGE_CHUNK_BYTES = 16 * 1024;
/** So much is copied into one piece, which leaves at once. */
export const ONE_PIECE_BYTES = 16 * 1024;

/** To clamd an empty chunk is the end of the stream: nothing has no length either. */
export function commandFor({ byteLength }: Uint8Array, andMore = 0): Buffer {
  const hasLength = byteLength > 0;
  const command = Buffer.allocUnsafe(INSTREAM.length + (hasLength ? 4 : 0) + andMore);
  command.set(INSTREAM);
  if (hasLength) command.writeUInt32BE(byteLength, INSTREAM.length);
  return command;
}

/** A small file leaves in one piece, from the command to the end of the stream. */
export function inOnePiece(content: Uint8Array): Buffer {
  const piece = commandFor(content, content.byteLength + END_OF_STREAM.length);
  piece.set(content, piece.length - content.byteLength - END_OF_STREAM.length);
  piece.set(END_OF_STREAM, piece.length - END_OF_STREAM.length);
  return piece;
}

export type StreamBytes = AsyncIterable<Uint8Array>;

interface Interruptible {
  /** Set while it is sent: no more of it is wanted. */
  interrupt?: () => void;
}

/** What is written to a connection, one stream after the other. */
export interface StreamWriter {
  /** Bytes, from the beginning. */
  readonly written: number;
  /** Of these, how many are known to have left us. */
  readonly left: number;
  write(bytes: Uint8Array): boolean;
  /** Answers how many bytes the stream had. */
  sendChunks(bytes: StreamBytes, stream: Interruptible): Promise<number>;
  corkForThisTurn(): void;
  /** Nobody is to wait for room any longer. */
  goOn(): void;
}

export function streamWriter(socket: Socket): StreamWriter {
  let written = 0;
  let onDrain: (() => void) | undefined;
  socket.on("drain", () => onDrain?.());

  function write(bytes: Uint8Array): boolean {
    written += bytes.byteLength;
    return socket.write(bytes);
  }

  /** Sends every chunk as it comes; stops as soon as the stream is interrupted, whether or not more chunks come. */
  async function sendChunks(bytes: StreamBytes, stream: Interruptible): Promise<number> {
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
    write(INSTREAM);
    for (;;) {
      const next = await nextChunk();
      if (ended) void iterator.return?.().catch(ignore);
      if (next.done || ended) return sent;
      // To clamd an empty chunk is the end of the stream.
      if (next.value.byteLength === 0) continue;
      const length = Buffer.allocUnsafe(4);
      length.writeUInt32BE(next.value.byteLength);
      corkForThisTurn();
      write(length);
      const room = write(next.value);
      sent += next.value.byteLength;
      if (next.value.byteLength >= LARGE_CHUNK_BYTES || !room) socket.uncork();
      if (!room && socket.writableNeedDrain) await drained();
    }
  }

  /** What is written until then leaves in one packet. */
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
    get written() {
      return written;
    },
    get left() {
      return written - socket.writableLength;
    },
    write,
    sendChunks,
    corkForThisTurn,
    goOn: () => onDrain?.(),
  };
}

function ignore(): void {}
