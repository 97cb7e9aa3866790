import { findings } from "@lazaret/contract";
import { isWhole, type WholeBytes } from "../flow/whole-bytes.ts";
import { type OpenedSource, SourceFailed } from "../model/source.ts";

/**
 * Bytes on their way to the engine, counted. Reading fails with `SourceFailed` as soon as more than `maxBytes`
 * are announced or arrive, or when the stream ends at another length than announced, so that no part is taken for the whole.
 * Bytes that are all here stay so.
 */
export interface MeasuredBytes extends AsyncIterable<Uint8Array> {
  readonly sizeBytes: number;
  /** Time spent waiting for the source to give the next chunk. */
  readonly waitedMs: number;
  /** The source was read to its very end. */
  readonly complete: boolean;
  /** See `announcedBytes`: or so many at most. */
  readonly announcedBytes: number | undefined;
}

export interface MeasureOptions {
  maxBytes: number;
  now?: () => number;
  /** Reading ends with `signal.reason`, also while the source is silent. */
  signal: AbortSignal;
}

export function measured(source: OpenedSource, options: MeasureOptions): MeasuredBytes {
  const { bytes, announcedBytes, atMostBytes } = source;
  const { maxBytes, signal, now = () => performance.now() } = options;
  const counted = isWhole(bytes) ? new CountedWhole(read, takeAll) : new Counted(read);
  counted.announcedBytes = announcedBytes ?? atMostBytes;

  function begin(): void {
    if (announcedBytes !== undefined && announcedBytes > maxBytes) throw tooBig(maxBytes, announcedBytes);
    if (signal.aborted) throw signal.reason;
  }

  function count({ byteLength }: Uint8Array): void {
    counted.sizeBytes += byteLength;
    if (counted.sizeBytes > maxBytes) throw tooBig(maxBytes);
  }

  function atEnd(): void {
    const { sizeBytes } = counted;
    if (announcedBytes !== undefined && sizeBytes !== announcedBytes) throw wrongLength(sizeBytes, announcedBytes);
    counted.complete = true;
  }

  /** An iterator by hand: a generator would take three promises more for each chunk. */
  function read(): AsyncIterator<Uint8Array> {
    const iterator = bytes[Symbol.asyncIterator]();
    let begun = false;
    let ended = false;
    let giveUp: ((reason: unknown) => void) | undefined;
    const onAbort = (): void => giveUp?.(signal.reason);

    function end(): IteratorReturnResult<undefined> {
      if (!ended) {
        ended = true;
        signal.removeEventListener("abort", onAbort);
        // Not awaited: a source that hangs in next() would never come back from return() either.
        if (!counted.complete) void iterator.return?.().catch(() => {});
      }
      return { done: true, value: undefined };
    }

    function taken(next: IteratorResult<Uint8Array>): IteratorResult<Uint8Array> {
      if (!next.done) {
        count(next.value);
        return next;
      }
      atEnd();
      return end();
    }

    return {
      next() {
        if (ended) return Promise.resolve({ done: true, value: undefined });
        // Not Promise.race: that would keep every chunk alive.
        return new Promise((resolve, reject) => {
          const fail = (error: unknown): void => {
            end();
            reject(error);
          };
          const ask = (): void => {
            const asked = now();
            const take = (next: IteratorResult<Uint8Array>): void => {
              counted.waitedMs += now() - asked;
              if (ended) return;
              try {
                const result = taken(next);
                if (!result.done && result.value.byteLength === 0) ask();
                else resolve(result);
              } catch (error) {
                fail(error);
              }
            };
            iterator.next().then(take, fail);
          };
          try {
            if (!begun) {
              begun = true;
              begin();
              signal.addEventListener("abort", onAbort, { once: true });
            }
            signal.throwIfAborted();
          } catch (error) {
            fail(error);
            return;
          }
          giveUp = fail;
          ask();
        });
      },
      return: async () => end(),
    };
  }

  function takeAll(): Uint8Array {
    begin();
    const content = (bytes as WholeBytes).takeAll();
    count(content);
    atEnd();
    return content;
  }

  return counted;
}

class Counted implements MeasuredBytes {
  sizeBytes = 0;
  waitedMs = 0;
  complete = false;
  announcedBytes: number | undefined = undefined;
  readonly #read: () => AsyncIterator<Uint8Array>;

  constructor(read: () => AsyncIterator<Uint8Array>) {
    this.#read = read;
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.#read();
  }
}

class CountedWhole extends Counted implements WholeBytes {
  readonly takeAll: () => Uint8Array;

  constructor(read: () => AsyncIterator<Uint8Array>, takeAll: () => Uint8Array) {
    super(read);
    this.takeAll = takeAll;
  }
}

function tooBig(maxBytes: number, announcedBytes?: number): SourceFailed {
  return new SourceFailed({
    finding: findings.tooBig,
    code: findings.tooBig,
    message: `the file is larger than the limit of ${maxBytes} bytes`,
    // What JSON numbers cannot hold exactly is not passed on.
    ...(announcedBytes !== undefined && Number.isSafeInteger(announcedBytes) && { announcedBytes }),
    passing: false,
  });
}

function wrongLength(sizeBytes: number, announcedBytes: number): SourceFailed {
  return new SourceFailed({
    finding: findings.downloadFailed,
    code: "wrong_length",
    message: `${announcedBytes} bytes were announced and ${sizeBytes} arrived`,
    passing: true,
  });
}
