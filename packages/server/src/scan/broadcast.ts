import type { Verdict } from "../model/verdict.ts";

export interface Reader extends AsyncIterable<Uint8Array> {
  /** Wants no more, whether or not it has begun to read. */
  stop(): void;
}

/**
 * One stream for several readers, in one pass. The next chunk is asked for when every reader wants it, so the slowest
 * sets the pace and nothing piles up. Readers share the chunks and must not change them. A reader that stops early is
 * not waited for any more; when all have stopped, so does the source. An error of the source reaches every reader.
 */
export function broadcast(bytes: AsyncIterable<Uint8Array>, readers: number): Reader[] {
  const source = bytes[Symbol.asyncIterator]();
  const reading = new Set<number>();
  const waiting = new Map<number, PromiseWithResolvers<IteratorResult<Uint8Array>>>();
  let ended: Promise<IteratorResult<Uint8Array>> | undefined;

  function pullWhenAllWait(): void {
    if (waiting.size === 0 || waiting.size < reading.size) return;
    const served = [...waiting.values()];
    waiting.clear();
    const pulled = source.next();
    pulled.then(
      (result) => {
        if (result.done) ended = pulled;
        for (const each of served) each.resolve(result);
      },
      (error) => {
        ended = pulled;
        for (const each of served) each.reject(error);
      },
    );
  }

  return Array.from({ length: readers }, (_, reader) => {
    reading.add(reader);
    const stop = (): void => {
      if (!reading.delete(reader)) return;
      waiting.get(reader)?.resolve({ done: true, value: undefined });
      waiting.delete(reader);
      if (reading.size > 0) pullWhenAllWait();
      else if (!ended) void source.return?.().catch(() => {});
    };
    return {
      stop,
      [Symbol.asyncIterator]: () => ({
        next(): Promise<IteratorResult<Uint8Array>> {
          if (ended) return ended;
          if (!reading.has(reader)) return Promise.resolve({ done: true, value: undefined });
          const wait = Promise.withResolvers<IteratorResult<Uint8Array>>();
          waiting.set(reader, wait);
          pullWhenAllWait();
          return wait.promise;
        },
        async return(): Promise<IteratorResult<Uint8Array>> {
          stop();
          return { done: true, value: undefined };
        },
      }),
    };
  });
}

/**
 * What several engines say together: infected if any says so, clean only if all do. Where more than one has a finding,
 * the first in the list is heard: put the engine whose names people know in front.
 */
export function mergeVerdicts(verdicts: readonly Verdict[]): Verdict {
  const infected = verdicts.find((verdict) => verdict.kind === "infected");
  const unscannable = verdicts.find((verdict) => verdict.kind === "unscannable");
  const clean = verdicts.find((verdict) => verdict.kind === "clean");
  const worst = infected ?? unscannable ?? clean;
  if (!worst) throw new Error("no engine was asked");
  return worst;
}
