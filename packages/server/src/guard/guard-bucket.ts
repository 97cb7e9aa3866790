import type { ListedObject } from "../fetch/object-lister.ts";
import type { ObjectAction } from "../model/job.ts";
import type { Report } from "../model/report.ts";
import type { Bookmark } from "./bookmark.ts";
import { type ObjectFilters, wanted } from "./filters.ts";

export interface GuardOptions {
  /** The objects to look at, in the order of their keys. */
  objects: AsyncIterable<ListedObject>;
  filters: ObjectFilters;
  /** Scans one object, acts on it and tells of it. Throws only what no other try would help against, or when aborted. */
  scan(object: ListedObject, signal: AbortSignal): Promise<GuardResult>;
  atOnce: number;
  /** Moved along as objects are done; undefined for objects that come in no order. */
  bookmark?: Bookmark;
  onResult(result: GuardResult): void;
  now?: () => number;
}

export interface GuardResult {
  object: ListedObject;
  report: Report;
  action: ObjectAction;
}

/** The bookmark is moved at most this often: each time costs a sync to disk. */
const BOOKMARK_MS = 1000;

/**
 * Scans the objects of a bucket, so many at once. Resolves when all are done; ends early when aborted, and then the
 * bookmark is such that no object is left out: all up to it were scanned, some after it perhaps too.
 */
export async function guardBucket(options: GuardOptions, signal: AbortSignal): Promise<void> {
  const { objects, filters, scan, atOnce, bookmark, onResult, now = Date.now } = options;
  /** Keys under way or done, in order, up to the first that is done and all before it are. */
  const line: { key: string; done: boolean }[] = [];
  const running = new Set<Promise<void>>();
  const failed = new AbortController();
  const stop = AbortSignal.any([signal, failed.signal]);
  let reached: string | undefined;
  let marked: string | undefined;
  let markedAt = now();

  async function moveBookmark(): Promise<void> {
    while (line[0]?.done) reached = line.shift()?.key;
    if (!bookmark || reached === undefined || reached === marked) return;
    marked = reached;
    markedAt = now();
    await bookmark.write(reached);
  }

  async function work(object: ListedObject, place: { key: string; done: boolean }): Promise<void> {
    const result = await scan(object, stop);
    place.done = true;
    onResult(result);
  }

  try {
    for await (const object of objects) {
      if (stop.aborted) break;
      if (!wanted(object, filters)) continue;
      const place = { key: object.key, done: false };
      if (bookmark) line.push(place);
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
