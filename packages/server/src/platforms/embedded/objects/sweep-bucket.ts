import { alarm } from "../../../flow/alarm.ts";
import { SourceFailed } from "../../../model/source.ts";
import type { Buckets } from "./buckets.ts";
import type { Debounce } from "./debounce.ts";
import type { DirectoryHandle } from "./directory-handle.ts";
import { versionOf } from "./fingerprint.ts";
import type { FolderWatches } from "./folder-watches.ts";
import { listFiles } from "./list-objects.ts";
import { arrivedSince, growingMarks, markOf, type ObjectMarks, type RecentMarks } from "./seen-objects.ts";

export interface Sweeping {
  buckets: Buckets;
  bucket: string;
  /** Where new objects go. When there is no room the sweep waits. */
  files: Debounce;
  recent: RecentMarks;
  watches: FolderWatches;
  /** Time between two sweeps, and how often to check whether there is room. */
  sweepMs: number;
  pollMs: number;
  /** Asks, and forgets, whether something was missed for which there was no room. */
  takeMissed(): boolean;
  /** Something was found. */
  onFound(): void;
}

/** Sweeps take no more than a tenth of the time, unless they take very long. */
const REST_TIMES = 9;
const REST_MAX_MS = 10 * 60 * 1000;

/**
 * Clocks of file systems are a little behind. What came shortly before the watching began may be found, which is better
 * than to miss what came shortly after.
 */
const MARGIN_MS = 2000;

/**
 * Lists the bucket again and again, and finds what is new in it: at first what came since it was called, later what was
 * not there the last time. Watches the folders it comes through. Throws `SourceFailed` when that is no use any
 * more.
 */
export async function sweepBucket(sweeping: Sweeping, ended: AbortSignal): Promise<void> {
  const since = Date.now() - MARGIN_MS;
  const clock = alarm();
  const sleep = (ms: number): Promise<void> => clock.sleep(ms, ended);
  let known: ObjectMarks | undefined;
  while (!ended.aborted) {
    const beganAt = performance.now();
    try {
      known = await sweepOnce(sweeping, { known, since, sleep }, ended);
    } catch (error) {
      if (!(error instanceof SourceFailed && error.failure.passing)) throw error;
    }
    const restMs = Math.min(REST_MAX_MS, Math.max(sweeping.sweepMs, REST_TIMES * (performance.now() - beganAt)));
    await rest(sweeping, { untilMs: performance.now() + restMs, sleep }, ended);
  }
}

async function sweepOnce(
  { buckets, bucket, files, recent, watches, ...sweeping }: Sweeping,
  { known, since, sleep }: { known: ObjectMarks | undefined; since: number; sleep: (ms: number) => Promise<void> },
  ended: AbortSignal,
): Promise<ObjectMarks> {
  const marks = growingMarks();
  const arrivals = arrivedSince(since);
  const onFolder = async (base: string, folder: DirectoryHandle): Promise<void> => {
    await watches.watch(base, folder);
    if (!known) arrivals.enter(base, await folder.stat());
  };
  recent.sweepBegins();
  for await (const found of listFiles(buckets, bucket, { onFolder })) {
    if (ended.aborted) break;
    const version = versionOf(found.stat);
    const mark = markOf(found.key, version);
    marks.add(mark);
    if (recent.has(mark) || !(known ? !known.has(mark) : arrivals.has(found.key, found.stat))) continue;
    while (!ended.aborted && !files.add(found.key, performance.now(), version)) await sleep(sweeping.pollMs);
    sweeping.onFound();
  }
  watches.forgetOthers();
  recent.sweepEnded();
  return marks.done();
}

/** Until the time has come, or there is room for what was missed. */
async function rest(
  { files, takeMissed, pollMs }: Sweeping,
  { untilMs, sleep }: { untilMs: number; sleep: (ms: number) => Promise<void> },
  ended: AbortSignal,
): Promise<void> {
  let missed = false;
  while (!ended.aborted && performance.now() < untilMs) {
    missed = takeMissed() || missed;
    if (missed && files.hasRoom) return;
    await sleep(Math.min(untilMs - performance.now(), pollMs));
  }
}
