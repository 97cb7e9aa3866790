import { setTimeout as pause } from "node:timers/promises";
import type { FindingsMessage } from "@lazaret/contract";
import { findingsMessage } from "../deliver/render.ts";
import type { ListedObject } from "../fetch/object-lister.ts";
import { bookmarkFile } from "../guard/bookmark.ts";
import { type ObjectFilters, wanted } from "../guard/filters.ts";
import { type GuardResult, guardBucket, isDone } from "../guard/guard-bucket.ts";
import { scanObject } from "../guard/scan-object.ts";
import type { Log } from "../log.ts";
import type { Platform } from "../platforms/platform.ts";
import type { Settings } from "../settings.ts";
import { CannotStart } from "./cannot-start.ts";
import { startScanning } from "./scanning.ts";

/** Scans buckets without a server: the same engine, topic, bus and tags as one on the same settings would use. */
export interface Guarding extends AsyncDisposable {
  guard(options: GuardRun, signal: AbortSignal): Promise<void>;
  /** A result in the words of the findings topic. */
  messageOf(result: GuardResult): FindingsMessage;
}

interface GuardRun {
  bucket: string;
  filters: ObjectFilters;
  /** The filters as they were asked for, by which an interrupted run is found again: "7d" stays, the time it means does not. */
  named?: Readonly<Record<string, string | number | undefined>>;
  /** Goes on with objects as they come, until aborted. */
  watch: boolean;
  /** Forgets how far an interrupted run came. */
  restart: boolean;
  onResult(result: GuardResult): void;
  /** Told how many objects there are to scan, once that is known. */
  onTotal(files: number): void;
}

export async function startGuarding(settings: Settings, log: Log): Promise<Guarding> {
  const scanning = await startScanning(settings, log, { now: Date.now, ownUrl: () => settings.publicUrl });
  const { objects, objectScans, jobsAtOnce } = scanning;
  const scan = scanObject({
    inspect: scanning.inspectJob,
    finish: objectScans.finish,
    onEngineAway: (error) => log.error("engine", { error: error.message }),
    onQueueAway: (error) => log.error("queue", { error: error.message }),
  });

  return {
    async guard({ bucket, filters, named, watch, restart, onResult, onTotal }, signal) {
      if (watch && !objects.watch) {
        throw new CannotStart(
          "this object storage cannot be watched",
          "leave out --watch, and run lazaret guard from time to time with --newer-than",
        );
      }
      const common = { filters, scan, atOnce: jobsAtOnce, onResult };
      const watching = new AbortController();
      const stop = AbortSignal.any([signal, watching.signal]);
      // Called before the listing, so that nothing comes between the two unseen.
      const coming = watch ? objects.watch?.(bucket, stop) : undefined;
      try {
        const bookmark = bookmarkFile(settings.dataDir, bucket, named ?? filters);
        if (restart) await bookmark.clear();
        const reached = await bookmark.read();
        const pass = { ...common, bookmark, ...(reached && { reached }) };
        const listing = filters.prefix === undefined ? {} : { prefix: filters.prefix };
        const left = (object: ListedObject): boolean => wanted(object, filters) && !isDone(object, reached);
        const counting = counted(objects.list(bucket, listing), left, stop);
        // Whatever is wrong with the listing is told by the pass itself.
        counting.then(onTotal, () => {});
        await guardBucket({ ...pass, objects: objects.list(bucket, listing) }, signal);
        await counting.catch(() => {});
        if (coming) await guardBucket({ ...common, objects: coming }, signal);
      } finally {
        // A watch that nobody reads would keep the process alive.
        watching.abort();
        await coming?.[Symbol.asyncIterator]().return?.();
      }
    },

    messageOf: ({ object, report, action }) => findingsMessage({ id: "", object, report, action }),

    async [Symbol.asyncDispose]() {
      const left = await sentAll(scanning.platform);
      if (left > 0) log.error("messages", { waiting: left, sent_by: "the next lazaret that runs on this data folder" });
      await scanning[Symbol.asyncDispose]();
    },
  };
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

/** Waits until every message is sent, as long as some are; answers how many are left. */
async function sentAll({ receiverCounts }: Platform): Promise<number> {
  let left = Number.POSITIVE_INFINITY;
  let changedAt = performance.now();
  for (;;) {
    const counts = (await receiverCounts?.()) ?? [];
    const waiting = counts.filter(({ configured }) => configured).reduce((sum, each) => sum + each.waiting, 0);
    if (waiting === 0 || performance.now() - changedAt > NOTHING_SENT_MS) return waiting;
    if (waiting < left) changedAt = performance.now();
    left = waiting;
    await pause(LOOK_EVERY_MS);
  }
}

const LOOK_EVERY_MS = 50;
/** A receiver that is away for longer gets its messages another time. */
const NOTHING_SENT_MS = 10_000;
