import type { Hash } from "node:crypto";
import { gatheredBytes } from "../flow/gathered-bytes.ts";
import { announcedBytes } from "../flow/whole-bytes.ts";
import type { Sampler } from "./file-type/sample.ts";

/** A file that ends within so many bytes, or one that does not, as a stream that goes on where reading stopped. */
export async function gathered(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number,
  signal: AbortSignal,
): Promise<{ kind: "small"; content: Uint8Array } | { kind: "large"; bytes: AsyncIterable<Uint8Array> }> {
  const announced = announcedBytes(bytes) ?? 0;
  if (announced > maxBytes) return { kind: "large", bytes };
  const source = bytes[Symbol.asyncIterator]();
  const head = gatheredBytes(announced);
  while (!signal.aborted) {
    const next = await source.next();
    if (next.done) {
      signal.throwIfAborted();
      return { kind: "small", content: head.bytes() };
    }
    if (head.size + next.value.length > maxBytes) {
      return { kind: "large", bytes: goingOn([head.bytes(), next.value], source) };
    }
    head.add(next.value);
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
