import { alarm } from "../../../../flow/alarm.ts";
import { SourceFailed } from "../../../../model/source.ts";
import type { Buckets } from "../buckets.ts";
import { versionOf } from "../files/fingerprint.ts";
import type { HeldFolder } from "../files/held-folder.ts";
import { listFiles } from "../list/list-objects.ts";
import { cameSince } from "./came-since.ts";
import type { FolderAlarms } from "./folder-alarms.ts";
import { growingMarks, markOf, type ObjectMarks } from "./object-marks.ts";
import type { QuietFiles } from "./quiet-files.ts";
import type { ToldMarks } from "./told-marks.ts";

export interface Sweeping {
  buckets: Buckets;
  bucket: string;
  /** Where new objects go. When there is no room the sweep waits. */
  files: QuietFiles;
  told: ToldMarks;
  alarms: FolderAlarms;
  /** Time between two sweeps, and how often to look whether there is room. */
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
 * Clocks of file systems are a little behind. What came shortly before the watching began may be told of, which is better
 * than to miss what came shortly after.
 */
const MARGIN_MS = 2000;

/**
 * Lists the bucket again and again, and finds what is new in it: at first what came since it was called, later what was
 * not there the last time. Sets the alarms on the folders it comes through. Throws `SourceFailed` when that is no use any
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
  { buckets, bucket, files, told, alarms, ...sweeping }: Sweeping,
  { known, since, sleep }: { known: ObjectMarks | undefined; since: number; sleep: (ms: number) => Promise<void> },
  ended: AbortSignal,
): Promise<ObjectMarks> {
  const marks = growingMarks();
  const recent = cameSince(since);
  const onFolder = async (base: string, folder: HeldFolder): Promise<void> => {
    await alarms.set(base, folder);
    if (!known) recent.enter(base, await folder.stat());
  };
  told.sweepBegins();
  for await (const found of listFiles(buckets, bucket, { onFolder })) {
    if (ended.aborted) break;
    const version = versionOf(found.stat);
    const mark = markOf(found.key, version);
    marks.add(mark);
    if (told.has(mark) || !(known ? !known.has(mark) : recent.has(found.key, found.stat))) continue;
    while (!ended.aborted && !files.add(found.key, performance.now(), version)) await sleep(sweeping.pollMs);
    sweeping.onFound();
  }
  alarms.forgetOthers();
  told.sweepEnded();
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
