import { findings } from "@lazaret/contract";
import { type Announcer, announcer } from "../deliver/announce.ts";
import { concurrencyOf, startEngine } from "../engines/variants.ts";
import { fetchSource } from "../fetch/fetch-source.ts";
import { httpDownload } from "../fetch/http-download.ts";
import { steadySource } from "../fetch/steady-source.ts";
import type { Log } from "../log.ts";
import type { JobSource } from "../model/job.ts";
import type { Report } from "../model/report.ts";
import type { Source } from "../model/source.ts";
import { type AddressGuard, outboundGuards } from "../net/address-guard.ts";
import { type ObjectScans, objectScans } from "../pipeline/finish-object.ts";
import { type InspectOptions, inspect, type Stages } from "../pipeline/run-job.ts";
import type { Platform } from "../platforms/platform.ts";
import type { JobRun } from "../queue/worker.ts";
import type { Engine } from "../scan/engine.ts";
import type { Settings } from "../settings.ts";
import { version } from "../version.ts";
import { cannotStartEngine } from "./cannot-start.ts";
import { engineParts } from "./engine-parts.ts";
import { installationOf } from "./installation.ts";
import { type ObjectStore, objectStore } from "./object-store.ts";
import { openPlatform } from "./platform.ts";
import { temporaryFolder, withTemporaryFolder } from "./temporary-folder.ts";
import { type UsageCount, usageCount } from "./usage.ts";

/** All that is needed to scan and to tell of it, with or without an API in front. */
export interface Scanning extends AsyncDisposable {
  engine: Engine;
  platform: Platform;
  objects: ObjectStore;
  announcer: Announcer;
  objectScans: ObjectScans;
  /** Where files may be fetched from, and where results may be posted to. */
  guard: AddressGuard;
  callbackGuard: AddressGuard;
  usage: UsageCount;
  /** For temporary files; removed at the end, or by the next process when this one is killed. */
  temporaryFolder: string;
  /** Files scanned at once by the synchronous API, and queued jobs besides: of one share, and more for the others. */
  concurrency: number;
  jobsAtOnce: number;
  spareJobs: number;
  /** From a source to its report. */
  inspect(source: Source, options: InspectOptions): Promise<Report>;
  /** The same with the limits of jobs on size and time. While the source is slow the place is left to others. */
  inspectJob(source: JobSource, signal: AbortSignal, place?: JobRun["place"]): Promise<Report>;
  /** Never throws. */
  engineReady(): Promise<boolean>;
}

const MIB = 1024 * 1024;
/** Places for jobs of other shares, beside those that one share may hold. */
const SPARE = 1 / 4;
export const HEALTH_TIMEOUT_MS = 5_000;

export interface ScanningOptions {
  now: () => number;
  /** Where clients reach the API, for links to objects. */
  ownUrl: () => string;
  /** Where `auto` looks for clamd, if not at the usual sockets. */
  clamdSockets?: readonly string[] | undefined;
}

/** Settings → platform, engine and stages. */
export async function startScanning(settings: Settings, log: Log, options: ScanningOptions): Promise<Scanning> {
  const { now, ownUrl, clamdSockets } = options;
  await using undo = new AsyncDisposableStack();
  const concurrency = settings.concurrency || concurrencyOf(settings.engine);
  const jobsAtOnce = settings.workers || concurrency;
  const spareJobs = Math.ceil(jobsAtOnce * SPARE);
  const folder = undo.use(await temporaryFolder());
  const parts = engineParts(settings, concurrency + jobsAtOnce + spareJobs, { log, stays: true, clamdSockets });
  const engine = await startEngine(withTemporaryFolder(parts, folder.path)).catch((error: Error) => {
    throw cannotStartEngine(settings, error);
  });
  undo.defer(() => engine.close());
  const { guard, callbackGuard } = outboundGuards(settings);
  const download = httpDownload({ guard, version });
  undo.defer(() => download.close());
  const objects = await objectStore(settings, { now, ownUrl });
  undo.defer(() => objects.close());
  const platform = await openPlatform(settings, log, { guard, callbackGuard, objects, now });
  undo.defer(() => platform.close());
  const told = announcer({
    topic: platform.topic,
    eventBus: platform.eventBus,
    origin: { account: platform.account, region: platform.region, now },
    reportEventBus: settings.reportEventBus,
    reportCleanFiles: settings.reportCleanFiles,
    installation: installationOf(settings),
  });
  const usage = usageCount(platform.usage);
  undo.defer(() => usage.close());
  const open = fetchSource(download, objects);
  async function counted(source: Source, options: InspectOptions, place?: JobRun["place"]): Promise<Report> {
    const minRate = settings.downloadMinRate;
    const opening: Stages["open"] = place
      ? (what, signal) =>
          steadySource((until) => open(what, until), { place, minRate, maxBytes: options.maxBytes }, signal)
      : open;
    const report = await inspect(source, { open: opening, engine, now: () => performance.now() }, options);
    usage.scanned();
    return report;
  }
  const all = undo.move();
  return {
    engine,
    platform,
    objects,
    announcer: told,
    objectScans: objectScans({ objects, announcer: told, policy: settings, log }),
    guard,
    callbackGuard,
    concurrency,
    jobsAtOnce,
    spareJobs,
    usage,
    temporaryFolder: folder.path,
    inspect: (source, options) => counted(source, options),
    async inspectJob(source, signal, place) {
      // Not AbortSignal.timeout and any: what they hold is let go only when the time is up.
      const limit = new AbortController();
      const giveUp = (): void => limit.abort(signal.reason);
      signal.addEventListener("abort", giveUp, { once: true });
      if (signal.aborted) giveUp();
      let late = false;
      const timer = setTimeout(() => {
        late = true;
        limit.abort(new Error("the job took too long"));
      }, settings.jobTimeoutSeconds * 1000);
      try {
        return await counted(source, { maxBytes: settings.jobMaxMib * MIB, signal: limit.signal }, place);
      } catch (error) {
        if (late && !signal.aborted) return tookTooLong(settings.jobTimeoutSeconds);
        throw error;
      } finally {
        clearTimeout(timer);
        signal.removeEventListener("abort", giveUp);
      }
    },
    engineReady: async () => (await engine.health(AbortSignal.timeout(HEALTH_TIMEOUT_MS))).ready,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

function tookTooLong(seconds: number): Report {
  const verdict = { kind: "unscannable", finding: findings.timeout, detail: `not done within ${seconds} s` } as const;
  return { verdict, sizeBytes: 0, downloadSeconds: seconds, scanSeconds: 0 };
}
