import type { ListedObject } from "../fetch/object-lister.ts";
import { firstOf } from "../flow/time-limit.ts";
import { QueueUnavailable } from "../model/faults.ts";
import type { ObjectAction } from "../model/job.ts";
import type { Report } from "../model/report.ts";
import type { Bookmark, Reached } from "./bookmarks.ts";

export interface GuardOptions {
  /** The objects there are, in the order of their keys' bytes. */
  objects: AsyncIterable<ListedObject>;
  filters: ObjectFilters;
  /** Scans one object, acts on it and announces it. Throws only what no other try would help against, or when aborted. */
  scan(object: ListedObject, signal: AbortSignal): Promise<GuardResult>;
  atOnce: number;
  /** Moved along as objects are done; undefined for objects that come in no order. */
  bookmark?: Bookmark;
  /** Where an earlier pass was interrupted. */
  reached?: Reached;
  onResult(result: GuardResult): void;
  /** Called each time the bookmark cannot be moved. */
  onQueueAway?: ((error: QueueUnavailable) => void) | undefined;
  now?: () => number;
}

export interface GuardResult {
  object: ListedObject;
  report: Report;
  action: ObjectAction;
}

/** Which objects of a bucket are wanted. */
export interface ObjectFilters {
  prefix?: string;
  suffix?: string;
  minBytes?: number;
  maxBytes?: number;
  /** Milliseconds since 1970. */
  newerThan?: number;
}

/** The bookmark is moved at most this often: each time costs a sync to disk. */
const BOOKMARK_MS = 1000;
/** The store's clock may be behind ours. Some objects are scanned again for that, none is left out. */
const CLOCKS_APART_MS = 300_000;

export function wanted(object: ListedObject, filters: ObjectFilters): boolean {
  const { prefix = "", suffix = "", minBytes = 0, maxBytes = Number.POSITIVE_INFINITY, newerThan = 0 } = filters;
  return (
    object.key.startsWith(prefix) &&
    object.key.endsWith(suffix) &&
    object.sizeBytes >= minBytes &&
    object.sizeBytes <= maxBytes &&
    object.modifiedAt >= newerThan
  );
}

/** Whether an earlier pass has done this one: it stands before where that ended, and was there when that began. */
export function isDone(object: ListedObject, reached: Reached | undefined): boolean {
  if (!reached || object.modifiedAt >= reached.startedAt) return false;
  return Buffer.compare(Buffer.from(object.key), Buffer.from(reached.key)) <= 0;
}

/**
 * Scans the objects of a bucket, so many at once. Resolves when all are done; ends early when aborted, and then the
 * bookmark is such that no object is left out: all up to it were scanned, some after it perhaps too. A scan that cannot
 * go on ends the pass at once, whether or not more objects come.
 */
export async function guardBucket(options: GuardOptions, signal: AbortSignal): Promise<void> {
  const { objects, filters, scan, atOnce, bookmark, reached: before, onResult, onQueueAway, now = Date.now } = options;
  /** Keys under way or done, in order, up to the first that is done and all before it are. */
  const line: { key: string; done: boolean }[] = [];
  const running = new Set<Promise<void>>();
  const failed = new AbortController();
  using either = firstOf([signal, failed.signal]);
  const stop = either.signal;
  const startedAt = before?.startedAt ?? now() - CLOCKS_APART_MS;
  let reached = before?.key;
  let marked = reached;
  let markedAt = now();

  async function moveBookmark(): Promise<void> {
    while (line[0]?.done) reached = line.shift()?.key;
    if (!bookmark || reached === undefined || reached === marked) return;
    markedAt = now();
    const key = reached;
    try {
      await bookmark.write({ key, startedAt });
      marked = key;
    } catch (error) {
      // It stands further back until the storage is there again: nothing is left out.
      if (!(error instanceof QueueUnavailable)) throw error;
      onQueueAway?.(error);
    }
  }

  async function work(object: ListedObject, place: { key: string; done: boolean }): Promise<void> {
    const result = await scan(object, stop);
    place.done = true;
    onResult(result);
  }

  try {
    for await (const object of until(objects, stop)) {
      if (!wanted(object, filters) || isDone(object, before)) continue;
      const place = { key: object.key, done: false };
      if (bookmark && !passed(object.key, before)) line.push(place);
      const task: Promise<void> = work(object, place)
        .catch((error) => failed.abort(error))
        .finally(() => running.delete(task));
      running.add(task);
      if (running.size >= atOnce) await Promise.race(running);
      if (now() - markedAt >= BOOKMARK_MS) await moveBookmark();
    }
  } finally {
    await Promise.all(running);
    await moveBookmark();
  }
  if (failed.signal.aborted && !signal.aborted) throw failed.signal.reason;
  if (!stop.aborted) await bookmark?.clear();
}

/** New objects before the place where the earlier pass ended do not move the bookmark back. */
function passed(key: string, reached: Reached | undefined): boolean {
  return reached !== undefined && Buffer.compare(Buffer.from(key), Buffer.from(reached.key)) <= 0;
}

/** The objects, until there are no more or the signal is aborted, also while the next one is waited for. */
async function* until(objects: AsyncIterable<ListedObject>, signal: AbortSignal): AsyncGenerator<ListedObject> {
  const iterator = objects[Symbol.asyncIterator]();
  const stopped = Promise.withResolvers<{ done: true; value: undefined }>();
  const stop = (): void => stopped.resolve({ done: true, value: undefined });
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), stopped.promise]);
      if (next.done) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    // Not awaited: one that waits for something to come would not come back.
    void iterator.return?.().catch(() => {});
  }
}
