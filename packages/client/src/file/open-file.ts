import { UnreadableFileError } from "../errors.ts";
import { bytesIn, chunksOf } from "../http/read-bytes.ts";

/** A file: a path, bytes in memory, a Blob, or a stream of bytes. */
export type FileContent = string | URL | Blob | ArrayBuffer | Uint8Array | ReadableStream<Uint8Array> | ByteStream;

/** Node streams are of this kind. */
export type ByteStream = AsyncIterable<Uint8Array | ArrayBuffer>;

/**
 * A file, or a function that answers one. A stream alone can be read once, so that a call with it is never tried
 * again; a function is asked again for each try.
 */
export type FileInput = FileContent | (() => FileContent | Promise<FileContent>);

export interface OpenFile {
  chunks: AsyncIterable<unknown>;
  sizeBytes?: number | undefined;
  /** Lets go of the file, also in the midst of a read. Waits for nothing that may never come. */
  close(): void;
}

const CHUNK_BYTES = 64 * 1024;

export function isReplayable(file: FileInput): boolean {
  return typeof file === "function" || !(isWebStream(file) || isByteStream(file));
}

/** Whether it is something that `openFile` can open, other than a path. */
export function isFile(value: unknown): boolean {
  return (
    typeof value === "function" ||
    bytesIn(value) !== undefined ||
    isBlob(value) ||
    isWebStream(value) ||
    isByteStream(value)
  );
}

export async function openFile(file: FileInput): Promise<OpenFile> {
  const content: unknown = typeof file === "function" ? await file() : file;
  if (typeof content === "string" || content instanceof URL) return openPath(content);
  const bytes = bytesIn(content);
  if (bytes) return openMemory(bytes);
  if (isBlob(content)) return { ...openWebStream(content.stream()), sizeBytes: content.size };
  if (isWebStream(content)) return openWebStream(content);
  if (isByteStream(content)) return openByteStream(content);
  throw new UnreadableFileError("cannot read what was given as a file", {
    code: "invalid_file",
    hint: "a file is a path, a Blob, bytes, a stream of bytes, or a function that answers one of them",
  });
}

function isBlob(value: unknown): value is Blob {
  return typeof value === "object" && value !== null && "stream" in value && "size" in value;
}

function isWebStream(value: unknown): value is ReadableStream<unknown> {
  return typeof value === "object" && value !== null && "getReader" in value;
}

function isByteStream(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

function openMemory(bytes: Uint8Array): OpenFile {
  async function* slices(): AsyncGenerator<Uint8Array, void> {
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
  }
  return { chunks: slices(), sizeBytes: bytes.length, close() {} };
}

function openWebStream(stream: ReadableStream<unknown>): OpenFile {
  const reader = stream.getReader();
  return { chunks: chunksOf(reader), close: () => void reader.cancel().catch(() => {}) };
}

/** A stream of the caller's, or one that was made for us. A Node stream is destroyed at the end, another one told. */
function openByteStream(stream: AsyncIterable<unknown> & Partial<NodeStream>): OpenFile {
  const iterator = stream[Symbol.asyncIterator]();
  // One that fails before it is read from would end the whole process; whoever reads it is told anyway.
  stream.on?.("error", () => {});
  return {
    // Without `return`, which would destroy the stream: that is left to close.
    chunks: { [Symbol.asyncIterator]: () => ({ next: () => iterator.next() }) },
    close() {
      // An HTTP request, whose sender still waits for the caller's answer: destroying it would cut them off.
      if ("socket" in stream) return;
      if (stream.destroy) stream.destroy();
      else iterator.return?.().catch(() => {});
    },
  };
}

interface NodeStream {
  on(event: "error", listener: () => void): unknown;
  destroy(): unknown;
}

async function openPath(path: string | URL): Promise<OpenFile> {
  // Imported here and nowhere else, so that bundles for runtimes without files can be made.
  const { open } = await import(/* webpackIgnore: true */ /* @vite-ignore */ "node:fs/promises").catch((cause) => {
    throw unreadable("cannot open a path: this runtime has no files", cause);
  });
  const handle = await open(path).catch((cause: Error) => {
    throw unreadable(`cannot open the file: ${cause.message}`, cause);
  });
  const stats = await handle.stat();
  if (stats.isDirectory()) {
    await handle.close();
    throw unreadable(`cannot read ${path}: it is a folder`);
  }
  const stream = handle.createReadStream({ highWaterMark: CHUNK_BYTES });
  // Files that are made while they are read say 0, and pipes do too.
  const sizeBytes = stats.isFile() && stats.size > 0 ? stats.size : undefined;
  return { ...openByteStream(stream), sizeBytes };
}

function unreadable(message: string, cause?: unknown): UnreadableFileError {
  return new UnreadableFileError(message, { code: "unreadable_file", cause });
}
