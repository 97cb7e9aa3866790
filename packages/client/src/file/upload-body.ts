import { LazaretError, UnreadableFileError } from "../errors.ts";
import { bytesIn } from "../http/read-bytes.ts";
import type { CallOptions, OpenBody } from "../http/send.ts";
import { type FileInput, openFile } from "./open-file.ts";

export interface Progress {
  sentBytes: number;
  /** Undefined for a stream whose size nobody told. */
  totalBytes: number | undefined;
}

export interface FileOptions extends CallOptions {
  /** Called for each piece that goes out; begins at 0 again when the call is tried again. */
  onProgress?: ((progress: Progress) => void) | undefined;
  /** Bytes of a stream, where they are known: tells the server, and `totalBytes`. */
  size?: number | undefined;
}

/** What stands around the file on the wire. */
export interface Frame {
  before: Uint8Array;
  after: Uint8Array;
}

export interface OpenUpload extends OpenBody {
  content: ReadableStream<Uint8Array>;
  /** Bytes of the file that have gone out. */
  readonly sentBytes: number;
  /** True when that is the whole file. */
  readonly whole: boolean;
}

/** The file as a request's body. It is read as fast as the connection takes it, and never held in memory. */
export async function openUpload(file: FileInput, options: FileOptions, frame?: Frame): Promise<OpenUpload> {
  const source = await openFile(file).catch((error: unknown) => {
    throw readFailure(error);
  });
  const sizeBytes = options.size ?? source.sizeBytes;
  const framing = frame ? frame.before.length + frame.after.length : 0;
  let sentBytes = 0;
  let ended = false;
  let closed = false;
  let failure: LazaretError | undefined;

  async function* pieces(): AsyncGenerator<Uint8Array, void> {
    if (frame) yield frame.before;
    for await (const chunk of source.chunks) {
      const bytes = bytesOf(chunk);
      if (bytes.length === 0) continue;
      sentBytes += bytes.length;
      if (sentBytes > (sizeBytes ?? Number.POSITIVE_INFINITY)) throw changed(`more than ${sizeBytes}`);
      options.onProgress?.({ sentBytes, totalBytes: sizeBytes });
      yield bytes;
    }
    if (sentBytes < (sizeBytes ?? 0)) throw changed(`${sentBytes} of ${sizeBytes}`);
    // A stream that was let go of also comes to an end.
    ended = !closed;
    if (frame) yield frame.after;
  }

  const iterator = pieces();
  const content = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await iterator.next();
          if (done) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          failure = readFailure(error);
          controller.error(failure);
        }
      },
    },
    { highWaterMark: 0 },
  );
  return {
    content,
    ...(sizeBytes !== undefined && { sizeBytes: sizeBytes + framing }),
    get sentBytes() {
      return sentBytes;
    },
    get whole() {
      // A server that was told the size may answer before the end of the file is noticed here.
      return ended || sentBytes === sizeBytes;
    },
    get failure() {
      return failure;
    },
    close() {
      closed = true;
      source.close();
    },
  };
}

/** A stream with an encoding has replaced what it could not decode: its text is not the file. */
function bytesOf(chunk: unknown): Uint8Array {
  const bytes = bytesIn(chunk);
  if (bytes) return bytes;
  throw new UnreadableFileError(`the stream gave a ${typeof chunk} instead of bytes`, {
    code: "unreadable_file",
    hint: "use a stream without an encoding, and not in object mode",
  });
}

function changed(bytes: string): LazaretError {
  return new UnreadableFileError(`the file had ${bytes} bytes: it changed while it was read, or its size is wrong`, {
    code: "unreadable_file",
  });
}

function readFailure(error: unknown): LazaretError {
  if (error instanceof LazaretError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new UnreadableFileError(`cannot read the file to its end: ${reason}`, {
    code: "unreadable_file",
    cause: error,
  });
}
