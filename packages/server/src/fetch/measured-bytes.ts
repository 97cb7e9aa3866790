import { findings } from "@lazaret/contract";
import { type OpenedSource, SourceFailed } from "../model/source.ts";

/**
 * Bytes on their way to the engine, counted. Reading fails with `SourceFailed` as soon as more than `maxBytes`
 * are announced or arrive, or when the stream ends at another length than announced, so that no part is taken for the whole.
 */
export interface MeasuredBytes extends AsyncIterable<Uint8Array> {
  readonly sizeBytes: number;
  /** Time spent waiting for the source to give the next chunk. */
  readonly waitedMs: number;
  /** The source was read to its very end. */
  readonly complete: boolean;
}

export interface MeasureOptions {
  maxBytes: number;
  now?: () => number;
  /** Reading ends with `signal.reason`, also while the source is silent. */
  signal: AbortSignal;
}

export function measured(source: OpenedSource, options: MeasureOptions): MeasuredBytes {
  const { bytes, announcedBytes } = source;
  const { maxBytes, signal, now = () => performance.now() } = options;
  let sizeBytes = 0;
  let waitedMs = 0;
  let complete = false;

  async function* read(): AsyncGenerator<Uint8Array> {
    const iterator = bytes[Symbol.asyncIterator]();
    const reading = abortable(iterator, signal);
    try {
      if (announcedBytes !== undefined && announcedBytes > maxBytes) throw tooBig(maxBytes, announcedBytes);
      for (;;) {
        const asked = now();
        const next = await reading.next();
        waitedMs += now() - asked;
        if (next.done) break;
        sizeBytes += next.value.byteLength;
        if (sizeBytes > maxBytes) throw tooBig(maxBytes);
        if (next.value.byteLength > 0) yield next.value;
      }
      if (announcedBytes !== undefined && sizeBytes !== announcedBytes) throw wrongLength(sizeBytes, announcedBytes);
      complete = true;
    } finally {
      reading.forget();
      // Not awaited: a source that hangs in next() would never come back from return() either.
      if (!complete) void iterator.return?.().catch(() => {});
    }
  }

  return {
    [Symbol.asyncIterator]: read,
    get sizeBytes() {
      return sizeBytes;
    },
    get waitedMs() {
      return waitedMs;
    },
    get complete() {
      return complete;
    },
  };
}

/** An iterator whose waiting ends when the signal aborts. Not Promise.race: that would keep every chunk alive. */
function abortable<T>(iterator: AsyncIterator<T>, signal: AbortSignal) {
  let giveUp: ((reason: unknown) => void) | undefined;
  const onAbort = (): void => giveUp?.(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  return {
    next(): Promise<IteratorResult<T>> {
      return new Promise((resolve, reject) => {
        if (signal.aborted) reject(signal.reason);
        giveUp = reject;
        iterator.next().then(resolve, reject);
      });
    },
    forget: () => signal.removeEventListener("abort", onAbort),
  };
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
