import type { ListedObject } from "../../../../fetch/object-lister.ts";
import { alarm } from "../../../../flow/alarm.ts";
import { type Buckets, fileNameOf } from "../buckets.ts";
import { versionOf } from "../files/fingerprint.ts";
import { listed, listFiles } from "../list/list-objects.ts";
import { unlessMissing } from "../object-failure.ts";
import { problemWithNames } from "../object-names.ts";
import { folderAlarms } from "./folder-alarms.ts";
import { markOf } from "./object-marks.ts";
import { quietFiles } from "./quiet-files.ts";
import { sweepBucket } from "./sweep-bucket.ts";
import { toldMarks } from "./told-marks.ts";

export interface WatchOptions {
  /** How long a file must be left alone before it is told of. */
  quietMs?: number;
  /** Time between two looks at the whole bucket. They find what the alarms missed. */
  sweepMs?: number;
  /** Folders that have an alarm. What happens in others is found by the next sweep. */
  maxFolders?: number;
  /** Files that can wait to be quiet at once. Others are found by a sweep when there is room. */
  maxFiles?: number;
}

const defaults: Required<WatchOptions> = { quietMs: 2000, sweepMs: 60_000, maxFolders: 4096, maxFiles: 10_000 };
const LONGEST_SLEEP_MS = 60_000;

/**
 * See `ObjectWatcher`. Alarms on the folders tell at once, sweeps through the bucket find what they missed; either way a
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
  const ended = AbortSignal.any([signal, leaving.signal]);
  const files = quietFiles({ quietMs, maxFiles });
  const told = toldMarks();
  const bell = alarm();
  let missed = false;
  let failure: { error: unknown } | undefined;

  const alarms = folderAlarms({
    maxFolders,
    onChange(path) {
      if (problemWithNames({ bucket, key: path })) return;
      if (!files.add(path, performance.now())) missed = true;
      bell.ring();
    },
  });
  ended.addEventListener("abort", () => alarms.close(), { once: true });

  function takeMissed(): boolean {
    const was = missed;
    missed = false;
    return was;
  }

  // Begins now, not when the first object is asked for.
  const sweeps = sweepBucket(
    { buckets, bucket, files, told, alarms, sweepMs, pollMs: quietMs, takeMissed, onFound: bell.ring },
    ended,
  ).catch((error) => {
    failure = { error };
    bell.ring();
  });

  /** The object, if there is one and it is quiet. */
  async function look(key: string): Promise<ListedObject | undefined> {
    await using parent = await unlessMissing(buckets.holdParent({ bucket, key }));
    const name = fileNameOf({ bucket, key });
    const stat = await parent?.statFile(name);
    if (!stat) {
      files.remove(key);
      await using folder = await unlessMissing(parent?.enter(name) ?? Promise.resolve(undefined));
      if (folder) await lookInto(`${key}/`);
      return undefined;
    }
    const version = versionOf(stat);
    const mark = markOf(key, version);
    if (!files.look(key, performance.now(), version) || told.has(mark)) return undefined;
    told.add(mark);
    return listed(bucket, { key, stat });
  }

  /** A folder came, maybe with files in it that nobody will tell of. */
  async function lookInto(base: string): Promise<void> {
    for await (const { key, stat } of listFiles(buckets, bucket, { prefix: base, onFolder: alarms.set })) {
      if (ended.aborted) return;
      if (files.add(key, performance.now(), versionOf(stat))) continue;
      missed = true;
      return;
    }
  }

  async function* tell(): AsyncGenerator<ListedObject, undefined> {
    try {
      for (;;) {
        const { rings } = bell;
        for (const key of files.due(performance.now())) {
          const object = await look(key).catch(() => files.postpone(key, performance.now()));
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
    }
  }

  return tell();
}
