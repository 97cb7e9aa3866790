import type { Hash } from "node:crypto";
import { announcedBytes } from "../scan/whole-bytes.ts";
import type { Sampler } from "./file-type/sample.ts";

/**
 * Room for one small file each, which is used again: a new megabyte for every file, collected when it is full of them, takes
 * longer than the scan.
 */
export interface FileRoom {
  readonly bytes: number;
  take(): Buffer;
  /** Only when nobody reads it any more. */
  giveBack(room: Buffer): void;
}

/** `kept` are kept while nobody needs them. */
export function fileRoom(bytes: number, kept: number): FileRoom {
  const free: Buffer[] = [];
  return {
    bytes,
    take: () => free.pop() ?? Buffer.allocUnsafeSlow(bytes),
    giveBack(room) {
      if (free.length < kept) free.push(room);
    },
  };
}

type Gathered =
  | { kind: "small"; content: Uint8Array; room: Buffer }
  | { kind: "large"; bytes: AsyncIterable<Uint8Array> };

/** A file that there is room for, or one that is larger, as a stream that goes on where reading stopped. */
export async function gathered(
  bytes: AsyncIterable<Uint8Array>,
  rooms: FileRoom,
  signal: AbortSignal,
): Promise<Gathered> {
  if ((announcedBytes(bytes) ?? 0) > rooms.bytes) return { kind: "large", bytes };
  const source = bytes[Symbol.asyncIterator]();
  const room = rooms.take();
  let size = 0;
  while (!signal.aborted) {
    const next = await source.next();
    const content = room.subarray(0, size);
    if (next.done) {
      signal.throwIfAborted();
      return { kind: "small", content, room };
    }
    if (size + next.value.length > rooms.bytes) {
      return { kind: "large", bytes: goingOn([content, next.value], source) };
    }
    room.set(next.value, size);
    size += next.value.length;
  }
  // Not awaited: one that hangs would not come back.
  void source.return?.().catch(() => {});
  throw signal.reason;
}

function goingOn(first: Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncIterable<Uint8Array> {
  const iterator: AsyncIterator<Uint8Array> = {
    next() {
      const value = first.shift();
      return value ? Promise.resolve({ done: false, value }) : rest.next();
    },
    return: async () => (await rest.return?.()) ?? { done: true, value: undefined },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

/** The same bytes, seen by others as they pass. */
export async function* seenBy(
  bytes: AsyncIterable<Uint8Array>,
  digest: Hash | undefined,
  sample: Sampler | undefined,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    digest?.update(chunk);
    sample?.see(chunk);
    yield chunk;
  }
}
