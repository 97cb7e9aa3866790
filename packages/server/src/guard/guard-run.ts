import { setTimeout as pause } from "node:timers/promises";
import type { ListedObject, ObjectLister, ObjectWatcher } from "../fetch/object-lister.ts";
import { firstOf } from "../flow/time-limit.ts";
import type { Bookmarks } from "./bookmarks.ts";
import { type GuardOptions, guardBucket, isDone, type ObjectFilters, wanted } from "./guard-bucket.ts";

export interface GuardRun extends Pick<GuardOptions, "scan" | "atOnce" | "onResult" | "onQueueAway"> {
  bucket: string;
  filters: ObjectFilters;
  /** The filters as they were asked for, by which an interrupted run is found again: "7d" stays, the time it means does not. */
  named?: Readonly<Record<string, string | number | undefined>>;
  /** Goes on with objects as they come, until aborted. */
  watch?: ObjectWatcher["watch"] | undefined;
  /** Forgets how far an interrupted run came. */
  restart: boolean;
  /** Called with how many objects there are to scan, once that is known. */
  onTotal(files: number): void;
  list: ObjectLister["list"];
  bookmarks: Bookmarks;
}

/**
 * One run over a bucket: what is there, from where an interrupted run came to; then, if it is watched, what comes. They are
 * counted meanwhile.
 */
export async function guardRun(run: GuardRun, signal: AbortSignal): Promise<void> {
  const { bucket, filters, scan, atOnce, onResult, onQueueAway, list } = run;
  const common = { filters, scan, atOnce, onResult, onQueueAway };
  const watching = new AbortController();
  using either = firstOf([signal, watching.signal]);
  const stop = either.signal;
  // Called before the listing, so that nothing comes between the two unseen.
  const coming = run.watch?.(bucket, stop);
  try {
    const bookmark = run.bookmarks.of(bucket, run.named ?? filters);
    if (run.restart) await bookmark.clear();
    const reached = await bookmark.read();
    const pass = { ...common, bookmark, ...(reached && { reached }) };
    const listing = filters.prefix === undefined ? {} : { prefix: filters.prefix };
    const left = (object: ListedObject): boolean => wanted(object, filters) && !isDone(object, reached);
    const counting = counted(list(bucket, listing), left, stop);
    // Whatever is wrong with the listing is reported by the pass itself.
    counting.then(run.onTotal, () => {});
    await guardBucket({ ...pass, objects: list(bucket, listing) }, signal);
    await counting.catch(() => {});
    if (coming) await guardBucket({ ...common, objects: coming }, signal);
  } finally {
    // A watch that nobody reads would keep the process alive.
    watching.abort();
    await coming?.[Symbol.asyncIterator]().return?.();
  }
}

async function counted(
  objects: AsyncIterable<ListedObject>,
  left: (object: ListedObject) => boolean,
  signal: AbortSignal,
): Promise<number> {
  let count = 0;
  for await (const object of objects) {
    if (signal.aborted) break;
    if (left(object)) count += 1;
  }
  return count;
}

const POLL_MS = 50;
/** A receiver that is away for longer gets its messages another time. */
const NOTHING_SENT_MS = 10_000;

/** Waits until no message waits any more, as long as they become fewer: others may add some. Answers how many are left. */
export async function untilSent(countWaiting: () => Promise<number>): Promise<number> {
  let left = Number.POSITIVE_INFINITY;
  let changedAt = performance.now();
  for (;;) {
    const waiting = await countWaiting();
    if (waiting === 0 || performance.now() - changedAt > NOTHING_SENT_MS) return waiting;
    if (waiting < left) changedAt = performance.now();
    left = Math.min(left, waiting);
    await pause(POLL_MS);
  }
}
