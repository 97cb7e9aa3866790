import type { FindingsMessage } from "@lazaret/contract";
import { findingsMessage } from "../deliver/render.ts";
import type { GuardResult } from "../guard/guard-bucket.ts";
import { type GuardRun, guardRun, untilSent } from "../guard/guard-run.ts";
import { scanObject } from "../guard/scan-object.ts";
import type { Log } from "../log.ts";
import { nobodysAccount } from "../model/job.ts";
import { inspect } from "../pipeline/inspect.ts";
import { jobLimits } from "../pipeline/limits.ts";
import { newJobId } from "../queue/job-queue.ts";
import type { Settings } from "../settings.ts";
import { CannotStart } from "./cannot-start.ts";
import { type Scanning, startScanning } from "./scanning.ts";

/** Scans buckets without a server: the same engine, topic, bus and tags as one on the same settings would use. */
export interface Guarding extends AsyncDisposable {
  guard(options: GuardingOptions, signal: AbortSignal): Promise<void>;
  /** A result in the words of the findings topic. */
  messageOf(result: GuardResult): FindingsMessage;
}

interface GuardingOptions extends Omit<GuardRun, "scan" | "atOnce" | "list" | "bookmarks" | "watch"> {
  /** Goes on with objects as they come, until aborted. */
  watch: boolean;
}

export async function startGuarding(settings: Settings, log: Log): Promise<Guarding> {
  const scanning = await startScanning(settings, log, { now: Date.now, ownUrl: () => settings.publicUrl });
  const { platform } = scanning;
  const waiting = async (): Promise<number> => {
    const counts = (await platform.receiverCounts?.()) ?? [];
    return counts.filter(({ configured }) => configured).reduce((sum, each) => sum + each.waiting, 0);
  };

  return {
    guard: guardingOn(scanning, settings, log),

    messageOf: ({ object, report, action }) => findingsMessage({ id: "", object, report, action }),

    async [Symbol.asyncDispose]() {
      const left = await untilSent(waiting);
      if (left > 0) {
        const storage = settings.platform === "postgres" ? "database" : "data folder";
        log.error("messages_waiting", { waiting: left, sent_by: `the next lazaret that runs on this ${storage}` });
      }
      await scanning[Symbol.asyncDispose]();
    },
  };
}

/** Passes over buckets with what a service or a command scans with. */
export function guardingOn(scanning: Scanning, settings: Settings, log: Log): Guarding["guard"] {
  const { objects, platform, stages } = scanning;
  const limits = jobLimits(settings);
  const onQueueAway = (error: Error): void => log.error("queue", { error: error.message });
  const scan = scanObject({
    inspect: (source, signal) => inspect(source, stages, { ...limits, account: nobodysAccount, signal }),
    onVerdict: (verdict) => stages.meter?.verdict("bucket", "object", verdict.kind),
    objects: scanning.objectSteps,
    findingKeeper(source) {
      const id = newJobId();
      return ({ report, action }) => scanning.keepFinding({ id, account: nobodysAccount, source, report, action });
    },
    onEngineAway: (error) => log.error("engine", { error: error.message }),
    onQueueAway,
  });
  return async ({ watch, ...options }, signal) => {
    if (watch && !objects.watch) {
      throw new CannotStart(
        "this object storage cannot be watched",
        "leave out --watch, and run lazaret guard from time to time with --newer-than",
      );
    }
    const run = {
      ...options,
      scan,
      onQueueAway,
      atOnce: scanning.jobsAtOnce,
      bookmarks: platform.bookmarks,
      list: objects.list,
    };
    await guardRun({ ...run, ...(watch && { watch: objects.watch }) }, signal);
  };
}
