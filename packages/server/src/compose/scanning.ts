import { type Announcer, announcer } from "../deliver/announce.ts";
import { contentOf, release, spool } from "../engines/threads/spool.ts";
import { fetchSource } from "../fetch/fetch-source.ts";
import { httpDownload } from "../fetch/http-download.ts";
import type { Log } from "../log.ts";
import type { ScanMeter } from "../metrics/scan-meter.ts";
import type { Report } from "../model/report.ts";
import type { Source } from "../model/source.ts";
import { type AddressGuard, addressGuard, outboundGuards } from "../net/address-guard.ts";
import { originList } from "../net/origin-list.ts";
import { type ObjectSteps, objectSteps } from "../pipeline/finish-object.ts";
import { engineHealth } from "../pipeline/health.ts";
import { inspect, type Stages } from "../pipeline/inspect.ts";
import { type KeepFinding, keepFinding } from "../pipeline/keep-finding.ts";
import {
  allScans,
  concurrencyOf,
  IN_MEMORY_BYTES,
  jobLimits,
  type ScansAtOnce,
  scansAtOnce,
} from "../pipeline/limits.ts";
import type { TrialParts } from "../pipeline/trial.ts";
import { type UsageCount, usageCount } from "../pipeline/usage-count.ts";
import type { Platform } from "../platforms/platform.ts";
import { company, inCompany } from "../scan/company.ts";
import type { Engine, EngineCheck } from "../scan/engine.ts";
import type { Settings } from "../settings.ts";
import { version } from "../version.ts";
import { startEngineOf } from "./engine.ts";
import { type ObjectStore, objectStore, openPlatform } from "./platform.ts";
import { installationOf } from "./routes.ts";

/** All that is needed to scan and to announce it, with or without an API in front. */
export interface Scanning extends ScansAtOnce, AsyncDisposable {
  engine: Engine;
  platform: Platform;
  objects: ObjectStore;
  announcer: Announcer;
  objectSteps: ObjectSteps;
  keepFinding: KeepFinding;
  /** Where files may be fetched from, and where results may be posted to. */
  guard: AddressGuard;
  callbackGuard: AddressGuard;
  usage: UsageCount;
  /** For temporary files; removed at the end, or by the next process when this one is killed. */
  temporaryFolder: string;
  /** For `inspect`. */
  stages: Stages;
  /** For suspects. */
  trials: TrialParts;
  /** Never throws. */
  engineReady(): Promise<boolean>;
}

export interface ScanningOptions {
  now: () => number;
  /** Where clients reach the API, for links to objects. */
  ownUrl: () => string;
  /** Where `auto` searches for clamd, if not at the usual sockets. */
  clamdSockets?: readonly string[] | undefined;
  /** A platform of one's own, whatever the settings say. */
  openPlatform?: typeof openPlatform | undefined;
  meter?: ScanMeter | undefined;
}

/** Settings → platform, engine and stages. */
export async function startScanning(settings: Settings, log: Log, options: ScanningOptions): Promise<Scanning> {
  const { now, ownUrl, clamdSockets, meter } = options;
  await using undo = new AsyncDisposableStack();
  const atOnce = scansAtOnce(settings, concurrencyOf(settings.engine));
  const { engine, temporaryFolder } = undo.use(
    await startEngineOf(settings, allScans(atOnce), { log, stays: true, clamdSockets, onPart: meter?.part }),
  );
  const { guard, callbackGuard } = outboundGuards(settings);
  const download = httpDownload({ guard, version, traced: originList(settings.traceDownloads) });
  undo.defer(() => download.close());
  const objects = await objectStore(settings, { now, ownUrl });
  undo.defer(() => objects.close());
  const parts = { guard, callbackGuard, objects, now };
  const platform = await (options.openPlatform ?? openPlatform)(settings, log, parts);
  undo.defer(() => platform.close());
  const announces = announcer({
    topic: platform.topic,
    eventBus: platform.eventBus,
    origin: { account: platform.account, region: platform.region, now },
    reportEventBus: settings.reportEventBus,
    reportCleanFiles: settings.reportCleanFiles,
    tellTenant: settings.tellTenant,
    installation: installationOf(settings),
  });
  const usage = usageCount(platform.usage);
  undo.defer(() => usage.close());
  const inProcess = company();
  const stages = {
    open: fetchSource(download, objects),
    engine: inCompany(engine, inProcess),
    now: () => performance.now(),
    minRate: settings.downloadMinRate,
    onScanned: usage.scanned,
    ...(meter && { meter }),
  };
  const disposing = undo.move();
  return {
    ...atOnce,
    engine,
    platform,
    objects,
    announcer: announces,
    objectSteps: objectSteps({ objects, announcer: announces, policy: settings, log }),
    keepFinding: keepFinding({ findings: platform.findings, log, now }),
    guard,
    callbackGuard,
    usage,
    temporaryFolder,
    stages,
    trials: { engine, company: inProcess, hold: holdIn(temporaryFolder) },
    engineReady: async () => (await engineHealth(engine)).ready,
    [Symbol.asyncDispose]: () => disposing.disposeAsync(),
  };
}

/** Takes in bytes to their end: small ones in memory, others in a file without a name. */
function holdIn(folder: string): TrialParts["hold"] {
  return async (bytes, signal) => {
    const file = await spool(bytes, { folder, memoryBytes: IN_MEMORY_BYTES }, signal);
    return { read: () => contentOf(file), release: () => release(file) };
  };
}

/** Engine and sources without a service around them: no queue, no topic, no tags, and nothing written to the data folder. */
export interface LocalScan extends AsyncDisposable {
  /** What the engine's parts say of themselves. */
  checks: readonly EngineCheck[];
  /** Then it knows test files and the rules in its folder, not the world's malware. */
  withoutClamd: boolean;
  /** From a source to its report, with the limits of jobs on size and time. */
  inspect(source: Source, signal: AbortSignal): Promise<Report>;
}

export async function startLocalScan(settings: Settings, atOnce: number, log: Log): Promise<LocalScan> {
  await using undo = new AsyncDisposableStack();
  const { engine, parts } = undo.use(await startEngineOf(settings, atOnce, { log, stays: false }));
  const guard = addressGuard({ allowNetworks: settings.allowNetworks, allowHosts: settings.allowHosts });
  const download = httpDownload({ guard, version });
  undo.defer(() => download.close());

  // Opened only when there is an object to read: a store of folders has its secret in the data folder.
  let objects: Promise<ObjectStore> | undefined;
  undo.defer(async () => (await objects?.catch(() => undefined))?.close());
  const openObject: ObjectStore["open"] = async (object, signal) => {
    objects ??= objectStore(settings, { now: Date.now, ownUrl: () => settings.publicUrl });
    return (await objects).open(object, signal);
  };

  const stages = { open: fetchSource(download, { open: openObject }), engine, now: () => performance.now() };
  const { checks } = await engineHealth(engine);
  const disposing = undo.move();
  return {
    checks,
    withoutClamd: parts.clamd === undefined,
    inspect: (source, signal) => inspect(source, stages, { ...jobLimits(settings), signal }),
    [Symbol.asyncDispose]: () => disposing.disposeAsync(),
  };
}
