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
    const abort = whenAborted(signal);
    try {
      if (announcedBytes !== undefined && announcedBytes > maxBytes) throw tooBig(maxBytes);
      for (;;) {
        const asked = now();
        const next = await Promise.race([iterator.next(), abort.promise]);
        waitedMs += now() - asked;
        if (next.done) break;
        sizeBytes += next.value.byteLength;
        if (sizeBytes > maxBytes) throw tooBig(maxBytes);
        if (next.value.byteLength > 0) yield next.value;
      }
      if (announcedBytes !== undefined && sizeBytes !== announcedBytes) throw wrongLength(sizeBytes, announcedBytes);
      complete = true;
    } finally {
      abort.forget();
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

function whenAborted(signal: AbortSignal): { promise: Promise<never>; forget: () => void } {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {});
  const give = (): void => reject(signal.reason);
  if (signal.aborted) give();
  signal.addEventListener("abort", give, { once: true });
  return { promise, forget: () => signal.removeEventListener("abort", give) };
}

function tooBig(maxBytes: number): SourceFailed {
  return new SourceFailed({
    finding: findings.tooBig,
    code: findings.tooBig,
    message: `the file is larger than the limit of ${maxBytes} bytes`,
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
