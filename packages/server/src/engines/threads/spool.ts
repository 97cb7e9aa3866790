import { closeSync, read, write } from "node:fs";
import { promisify } from "node:util";
import { gatheredBytes } from "../../flow/gathered-bytes.ts";
import { EngineUnavailable } from "../../model/faults.ts";
import { namelessFile, roomIn, type SpaceReader } from "../../unpack/temporary-files.ts";

const writeAt = promisify(write);
const readAt = promisify(read);
const READ_BYTES = 64 * 1024;

/** All bytes of one file, at rest. The file on disk has no name any more, so nothing stays when we are killed. */
export type Spooled = { kind: "memory"; bytes: Uint8Array } | { kind: "file"; descriptor: number; size: number };

interface SpoolOptions {
  folder: string;
  memoryBytes: number;
  /** Where the free space of the folder is read; the operating system unless told otherwise. */
  space?: SpaceReader;
}

/**
 * Reads a stream to its end: small ones into memory, larger ones to disk. What the stream throws comes through. Throws
 * `EngineUnavailable` when the disk is too full, and lets go of what was written: the room is there again at once.
 */
export async function spool(
  bytes: AsyncIterable<Uint8Array>,
  options: SpoolOptions,
  signal: AbortSignal,
): Promise<Spooled> {
  const room = roomIn(options.folder, options.space);
  let head = gatheredBytes();
  let size = 0;
  let descriptor: number | undefined;
  try {
    for await (const chunk of bytes) {
      signal.throwIfAborted();
      if (descriptor === undefined && size + chunk.length <= options.memoryBytes) head.add(chunk);
      else {
        await room.claim(chunk.length + (descriptor === undefined ? head.size : 0));
        if (descriptor === undefined) {
          descriptor = namelessFile(options.folder);
          await writeAll(descriptor, head.bytes(), 0);
          // Not to be kept beside what is on disk.
          head = gatheredBytes();
        }
        await writeAll(descriptor, chunk, size);
      }
      size += chunk.length;
    }
    signal.throwIfAborted();
  } catch (error) {
    if (descriptor !== undefined) closeSync(descriptor);
    throw error;
  }
  if (descriptor !== undefined) return { kind: "file", descriptor, size };
  return { kind: "memory", bytes: head.bytes() };
}

/** What was spooled, to be read before it is released. */
export async function* contentOf(spooled: Spooled): AsyncGenerator<Uint8Array> {
  if (spooled.kind === "memory") {
    yield spooled.bytes;
    return;
  }
  for (let at = 0; at < spooled.size; ) {
    const chunk = Buffer.allocUnsafeSlow(READ_BYTES);
    const { bytesRead, buffer } = await readAt(spooled.descriptor, chunk, 0, READ_BYTES, at);
    if (bytesRead === 0) throw new Error("a temporary file became shorter");
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

export function release(spooled: Spooled): void {
  if (spooled.kind === "file") closeSync(spooled.descriptor);
}

async function writeAll(descriptor: number, chunk: Uint8Array, position: number): Promise<void> {
  let done = 0;
  while (done < chunk.length) {
    try {
      done += (await writeAt(descriptor, chunk, done, chunk.length - done, position + done)).bytesWritten;
    } catch (cause) {
      throw new EngineUnavailable("cannot write to the temporary folder", { cause });
    }
  }
}
