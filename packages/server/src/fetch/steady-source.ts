import { gatheredBytes } from "../flow/gathered-bytes.ts";
import { firstOf, unlessAborted } from "../flow/time-limit.ts";
import { readBy, wholeBytes } from "../flow/whole-bytes.ts";
import type { OpenedSource } from "../model/source.ts";
import { failed } from "./download-failure.ts";

/**
 * Opens a source for somebody whose places to scan are few. A slow source waits outside:
 *
 *   open, first bytes ──within a moment──▶ the rest flows, at a minimum rate
 *          └──slow──▶ place left ──first bytes or the end are here──▶ place taken again ──┘
 *
 * A file that is no larger than the first bytes never waits inside; a larger one that stops flowing fails with `too_slow`,
 * which may pass.
 */
export interface SteadyOptions {
  place: Place;
  /** Bytes per second that the rest must bring; 0 for any. */
  minRate: number;
  /** Nobody waits for the first bytes of what says that it has more than this. */
  maxBytes?: number;
  slowAfterMs?: number;
  windowMs?: number;
}

interface Place {
  /** Throws when there is no room to wait outside. */
  leave(): void;
  /** Throws `signal.reason`. */
  retake(signal: AbortSignal): Promise<void>;
}

/**
 * Held in memory for each source that waits.
 * @internal tests send as much
 */
export const FIRST_BYTES: number = 256 * 1024;
const SLOW_AFTER_MS = 1000;
/** Over which the rate is measured. A server may pause for a while, if it was faster before. */
const WINDOW_MS = 15_000;

export async function steadySource(
  open: (signal: AbortSignal) => Promise<OpenedSource>,
  options: SteadyOptions,
  signal: AbortSignal,
): Promise<OpenedSource> {
  const { place, minRate, maxBytes, slowAfterMs = SLOW_AFTER_MS, windowMs = WINDOW_MS } = options;
  // Not disposed of when the source is open: the rest of it ends with the signal, too.
  const waiting = firstOf([signal]);
  let outside = false;
  const slow = setTimeout(() => {
    try {
      place.leave();
      outside = true;
    } catch (error) {
      waiting.abort(error);
    }
  }, slowAfterMs);
  let bytes: AsyncIterator<Uint8Array> | undefined;
  try {
    const opened = await open(waiting.signal);
    if (maxBytes !== undefined && (opened.announcedBytes ?? 0) > maxBytes) {
      clearTimeout(slow);
      if (outside) await place.retake(signal);
      return opened;
    }
    bytes = opened.bytes[Symbol.asyncIterator]();
    const { first, ended } = await unlessAborted(beginningOf(bytes), waiting.signal);
    clearTimeout(slow);
    waiting.signal.throwIfAborted();
    if (outside) await place.retake(signal);
    // As one piece: an engine would otherwise gather it again, in room for the largest of small files.
    if (ended) return { ...opened, bytes: wholeBytes(first) };
    return { ...opened, bytes: joined(first, flowing(bytes, { minBytes: (minRate * windowMs) / 1000, windowMs })) };
  } catch (error) {
    // Not awaited: a source that hangs in next() would never come back from return() either.
    void bytes?.return?.().catch(() => {});
    waiting[Symbol.dispose]();
    throw waiting.signal.aborted ? waiting.signal.reason : error;
  } finally {
    clearTimeout(slow);
  }
}

interface FirstBytes {
  first: Uint8Array;
  /** There is nothing after them. */
  ended: boolean;
}

async function beginningOf(bytes: AsyncIterator<Uint8Array>): Promise<FirstBytes> {
  const gathered = gatheredBytes();
  while (gathered.size < FIRST_BYTES) {
    const { done, value } = await bytes.next();
    if (done) return { first: gathered.bytes(), ended: true };
    gathered.add(value);
  }
  return { first: gathered.bytes(), ended: false };
}

function joined(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncIterable<Uint8Array> {
  let ahead: Uint8Array | undefined = first;
  return readBy(() => ({
    async next() {
      const value = ahead;
      ahead = undefined;
      return value ? { done: false, value } : rest.next();
    },
    async return() {
      ahead = undefined;
      await rest.return?.();
      return { done: true, value: undefined };
    },
  }));
}

/** Counts only the time in which we wait for the source: one whose reader is slow is not slow itself. */
function flowing(
  bytes: AsyncIterator<Uint8Array>,
  { minBytes, windowMs }: { minBytes: number; windowMs: number },
): AsyncIterator<Uint8Array> {
  let waitedMs = 0;
  let received = 0;

  async function next(): Promise<IteratorResult<Uint8Array>> {
    const asked = performance.now();
    const tooSlow = Promise.withResolvers<never>();
    // One window is over, and by then too little has come.
    const timer = setTimeout(() => tooSlow.reject(failed("too_slow")), Math.max(1, windowMs - waitedMs));
    try {
      const result = await Promise.race([bytes.next(), tooSlow.promise]);
      waitedMs += performance.now() - asked;
      received += result.done ? 0 : result.value.byteLength;
      if (received >= minBytes) {
        waitedMs = 0;
        received = 0;
      }
      // One that drips often would always be a little faster than the timer.
      if (waitedMs >= windowMs && !result.done) throw failed("too_slow");
      return result;
    } catch (error) {
      void bytes.return?.().catch(() => {});
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  return minBytes === 0 ? bytes : { next, ...(bytes.return && { return: () => returned(bytes) }) };
}

async function returned(bytes: AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array>> {
  await bytes.return?.();
  return { done: true, value: undefined };
}
