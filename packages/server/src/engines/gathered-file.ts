import type { Hash } from "node:crypto";
import { gatheredBytes } from "../flow/gathered-bytes.ts";
import { announcedBytes } from "../flow/whole-bytes.ts";
import type { Sampler } from "./file-type/sample.ts";

type Gathered = { kind: "small"; content: Uint8Array } | { kind: "large"; bytes: AsyncIterable<Uint8Array> };

/** Reads a file of no more than so many bytes whole; one that is larger becomes a stream that goes on where reading stopped. */
export async function gathered(bytes: AsyncIterable<Uint8Array>, upTo: number, signal: AbortSignal): Promise<Gathered> {
  const announced = announcedBytes(bytes) ?? 0;
  if (announced > upTo) return { kind: "large", bytes };
  const source = bytes[Symbol.asyncIterator]();
  const content = gatheredBytes();
  content.reserve(announced);
  while (!signal.aborted) {
    const next = await source.next();
    if (next.done) {
      signal.throwIfAborted();
      return { kind: "small", content: content.bytes() };
    }
    if (content.size + next.value.length > upTo) {
      return { kind: "large", bytes: goingOn([content.bytes(), next.value], source) };
    }
    content.add(next.value);
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
