import type { Hash } from "node:crypto";
import type { Rooms } from "../flow/rooms.ts";
import { announcedBytes } from "../flow/whole-bytes.ts";
import type { Sampler } from "./file-type/sample.ts";

type Gathered = { kind: "small"; content: Uint8Array } | { kind: "large"; bytes: AsyncIterable<Uint8Array> };

/** A file of no more than so many bytes, in one of the rooms, or one that is larger, as a stream that goes on where reading stopped. */
export async function gathered(
  bytes: AsyncIterable<Uint8Array>,
  { upTo, rooms }: { upTo: number; rooms: Rooms },
  signal: AbortSignal,
): Promise<Gathered> {
  const announced = announcedBytes(bytes) ?? upTo;
  if (announced > upTo) return { kind: "large", bytes };
  const source = bytes[Symbol.asyncIterator]();
  let room = rooms.take(announced);
  let size = 0;
  while (!signal.aborted) {
    const next = await source.next();
    const content = room.subarray(0, size);
    if (next.done) {
      signal.throwIfAborted();
      return { kind: "small", content };
    }
    if (size + next.value.length > upTo) {
      return { kind: "large", bytes: goingOn([content, next.value], source) };
    }
    // More than was announced.
    if (size + next.value.length > room.length) {
      room = rooms.take(upTo);
      room.set(content);
      rooms.giveBack(content);
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
