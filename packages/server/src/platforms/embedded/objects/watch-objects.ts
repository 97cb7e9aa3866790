import type { ListedObject } from "../../../fetch/object-lister.ts";
import { alarm } from "../../../flow/alarm.ts";
import { firstOf } from "../../../flow/time-limit.ts";
import { type Buckets, fileNameOf, problemWithNames } from "./buckets.ts";
import { debounce } from "./debounce.ts";
import { versionOf } from "./fingerprint.ts";
import { folderWatches } from "./folder-watches.ts";
import { listed, listFiles } from "./list-objects.ts";
import { unlessMissing } from "./object-failure.ts";
import { markOf, recentMarks } from "./seen-objects.ts";
import { sweepBucket } from "./sweep-bucket.ts";

export interface WatchOptions {
  /** How long a file must be left alone before it counts as there. */
  quietMs?: number;
  /** Time between two sweeps through the whole bucket. They find what the watches missed. */
  sweepMs?: number;
  /** Folders that are watched. What happens in others is found by the next sweep. */
  maxFolders?: number;
  /** Files that can wait to be quiet at once. Others are found by a sweep when there is room. */
  maxFiles?: number;
}

const defaults: Required<WatchOptions> = { quietMs: 2000, sweepMs: 60_000, maxFolders: 4096, maxFiles: 10_000 };
const LONGEST_SLEEP_MS = 60_000;

/**
 * See `ObjectWatcher`. Watches on the folders see it at once, sweeps through the bucket find what they missed; either way a
 * file then waits until it is quiet. Memory: eight bytes for each object in the bucket, twice while it sweeps, and the
 * files that wait.
 */
export function watchObjects(
  buckets: Buckets,
  { bucket, ...options }: WatchOptions & { bucket: string },
  signal: AbortSignal,
): AsyncIterable<ListedObject> {
  const { quietMs, sweepMs, maxFolders, maxFiles } = { ...defaults, ...options };
  const leaving = new AbortController();
  const either = firstOf([signal, leaving.signal]);
  const ended = either.signal;
  const files = debounce({ quietMs, maxFiles });
  const recent = recentMarks();
  const bell = alarm();
  let missed = false;
  let failure: { error: unknown } | undefined;

  const watches = folderWatches({
    maxFolders,
    onChange(path) {
      if (problemWithNames({ bucket, key: path })) return;
      if (!files.add(path, performance.now())) missed = true;
      bell.ring();
    },
  });
  ended.addEventListener("abort", () => watches.close(), { once: true });

  function takeMissed(): boolean {
    const was = missed;
    missed = false;
    return was;
  }

  // Begins now, not when the first object is asked for.
  const sweeps = sweepBucket(
    { buckets, bucket, files, recent, watches, sweepMs, pollMs: quietMs, takeMissed, onFound: bell.ring },
    ended,
  ).catch((error) => {
    failure = { error };
    bell.ring();
  });

  /** The object, if there is one and it is quiet. */
  async function check(key: string): Promise<ListedObject | undefined> {
    await using parent = await unlessMissing(buckets.openParent({ bucket, key }));
    const name = fileNameOf({ bucket, key });
    const stat = await parent?.statFile(name);
    if (!stat) {
      files.remove(key);
      await using folder = await unlessMissing(parent?.enter(name) ?? Promise.resolve(undefined));
      if (folder) await addFolder(`${key}/`);
      return undefined;
    }
    const version = versionOf(stat);
    const mark = markOf(key, version);
    if (!files.check(key, performance.now(), version) || recent.has(mark)) return undefined;
    recent.add(mark);
    return listed(bucket, { key, stat });
  }

  /** A folder came, maybe with files in it for which nothing else will call. */
  async function addFolder(base: string): Promise<void> {
    for await (const { key, stat } of listFiles(buckets, bucket, { prefix: base, onFolder: watches.watch })) {
      if (ended.aborted) return;
      if (files.add(key, performance.now(), versionOf(stat))) continue;
      missed = true;
      return;
    }
  }

  async function* objects(): AsyncGenerator<ListedObject, undefined> {
    try {
      for (;;) {
        const { rings } = bell;
        for (const key of files.due(performance.now())) {
          const object = await check(key).catch(() => files.postpone(key, performance.now()));
          if (ended.aborted) return undefined;
          if (object) yield object;
        }
        if (ended.aborted) return undefined;
        if (failure) throw failure.error;
        const sleepMs = Math.min(files.dueInMs(performance.now()), LONGEST_SLEEP_MS);
        if (bell.rings === rings) await bell.sleep(sleepMs, ended);
      }
    } finally {
      leaving.abort();
      await sweeps;
      either[Symbol.dispose]();
    }
  }

  return objects();
}
