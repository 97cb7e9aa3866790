import { OBJECT_LINK_HOURS, SYNC_MAX_FILE_BYTES, SYNC_TIMEOUT_SECONDS, WAITING_PER_SLOT } from "@lazaret/contract";
import { cannotListen, cannotStartEngine } from "./compose/cannot-start.ts";
import { engineParts } from "./compose/engine-parts.ts";
import { queueGauges } from "./compose/gauges.ts";
import { startJobs } from "./compose/jobs.ts";
import { objectScans } from "./compose/object-scans.ts";
import { objectStore } from "./compose/object-store.ts";
import { announcer } from "./deliver/announce.ts";
import { linkAddress } from "./deliver/link-address.ts";
import { concurrencyOf, startEngine } from "./engines/variants.ts";
import { addressGuard } from "./fetch/address-guard.ts";
import { fetchSource } from "./fetch/fetch-source.ts";
import { httpDownload } from "./fetch/http-download.ts";
import type { Log } from "./log.ts";
import { type Gauge, metrics } from "./metrics.ts";
import { inspect, type Stages } from "./pipeline.ts";
import { embeddedPlatform } from "./platforms/embedded/embedded.ts";
import { api } from "./receive/api.ts";
import { asyncRoutes } from "./receive/async-routes.ts";
import { bearerAuth } from "./receive/bearer-auth.ts";
import { type HttpTimings, startHttpServer } from "./receive/http/http-server.ts";
import { keyRoutes } from "./receive/key-routes.ts";
import { scanNow } from "./receive/scan-now.ts";
import { type ReadinessCheck, serviceRoutes } from "./receive/service-routes.ts";
import { syncRoutes } from "./receive/sync-routes.ts";
import type { Engine } from "./scan/engine.ts";
import { gate } from "./scan/gate.ts";
import type { Settings } from "./settings.ts";
import { version } from "./version.ts";

export interface ServiceOptions {
  timings?: Partial<HttpTimings & { scanMs: number }>;
  /** Milliseconds since 1970, for jobs and results. */
  now?: () => number;
  /** Between the tries of a callback. */
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

export interface RunningService {
  readonly port: number;
  readonly engine: Engine;
  /** Readiness goes false, requests and jobs under way finish for at most `graceMs`, then everything is closed. */
  stop(graceMs?: number): Promise<void>;
}

const GRACE_MS = 25_000;
const HEALTH_TIMEOUT_MS = 5_000;
/** Anybody may ask for readiness, any number of times. */
const READINESS_MS = 500;
const MIB = 1024 * 1024;

/** The composition root: settings → platform and engine → stages → running service. */
export async function startService(
  settings: Settings,
  plainLog: Log,
  options: ServiceOptions = {},
): Promise<RunningService> {
  const { timings = {}, now = Date.now } = options;
  const gauges: Gauge[] = [];
  const measured = metrics(gauges);
  const log = measured.counted(plainLog);
  await using undo = new AsyncDisposableStack();
  const concurrency = settings.concurrency || concurrencyOf(settings.engine);
  const jobsAtOnce = settings.workers || concurrency;
  const engine = await startEngine(engineParts(settings, concurrency + jobsAtOnce, log)).catch((error: Error) => {
    throw cannotStartEngine(settings, error);
  });
  undo.defer(() => engine.close());
  const platform = await embeddedPlatform({ dataDir: settings.dataDir, stackName: settings.scannerStackName, now });
  undo.defer(() => platform.close());
  const guard = addressGuard({ allowNetworks: settings.allowNetworks, allowHosts: settings.allowHosts });
  const download = httpDownload({ guard, version });
  undo.defer(() => download.close());
  const objects = await objectStore(settings);
  const told = announcer({
    topic: platform.topic,
    eventBus: platform.eventBus,
    origin: { account: platform.account, region: platform.region, now },
    reportEventBus: settings.reportEventBus,
    reportCleanFiles: settings.reportCleanFiles,
  });
  const scansOfObjects = objectScans({ actions: objects, announcer: told, policy: settings, log });
  const stages: Stages = { open: fetchSource(download, objects), engine, now: () => performance.now() };

  const jobs = await startJobs({
    ...options,
    settings,
    platform,
    guard,
    announcer: told,
    objectScans: scansOfObjects,
    jobsAtOnce: settings.role === "api" ? 0 : jobsAtOnce,
    log,
    now,
    engineReady: async () => (await engine.health(AbortSignal.timeout(HEALTH_TIMEOUT_MS))).ready,
    inspect: (source, signal) => inspect(source, stages, { maxBytes: settings.jobMaxMib * MIB, signal }),
  });
  undo.defer(() => jobs.stop(0));

  const slots = gate(concurrency, settings.waitingLine || concurrency * WAITING_PER_SLOT);
  const scans = scanNow({
    timeoutMs: timings.scanMs ?? SYNC_TIMEOUT_SECONDS * 1000,
    async scan(source, signal) {
      const leave = await slots.enter(signal);
      try {
        const report = await inspect(source, stages, { maxBytes: SYNC_MAX_FILE_BYTES, signal });
        if (source.kind === "object") await scansOfObjects.finish(source, report);
        return report;
      } finally {
        leave();
      }
    },
  });
  const apiRoutes = [
    ...asyncRoutes({
      checkDestination: guard.checkUrl,
      checkObject: objects.problemWith,
      objectAddress: async (object) => linkAddress(await objects.link(object, OBJECT_LINK_HOURS * 3600)),
      allowHttpCallbacks: settings.allowHttpCallbacks,
      submit: jobs.submit,
      findResult: platform.results.find,
    }),
    ...syncRoutes({ checkDestination: guard.checkUrl, checkObject: objects.problemWith, scanNow: scans }),
    ...keyRoutes({ publicKeys: jobs.publicKeys }),
  ];
  const routes = settings.role === "worker" ? [] : apiRoutes;
  gauges.push(...queueGauges(platform.queue));
  let stopping = false;
  const service = serviceRoutes({
    version,
    routes,
    metrics: measured.text,
    readiness: remembered(READINESS_MS, async () => {
      const health = await engine.health(AbortSignal.timeout(HEALTH_TIMEOUT_MS));
      const running = { name: "service", ok: !stopping, detail: stopping ? "stopping" : `lazaret ${version}` };
      const checks: ReadinessCheck[] = [running, await queueCheck(platform.queue), ...health.checks];
      return { ready: health.ready && checks.slice(0, 2).every((check) => check.ok), checks };
    }),
  });

  const tls = settings.tlsCert === "" ? undefined : { certPath: settings.tlsCert, keyPath: settings.tlsKey };
  const server = await startHttpServer({
    host: settings.host,
    port: settings.port,
    ...(tls && { tls }),
    handle: api({ routes: [...routes, ...service], auth: bearerAuth(settings.apiKeys) }),
    log,
    timings,
  }).catch((error: NodeJS.ErrnoException) => {
    throw cannotListen(settings, error);
  });

  const all = undo.move();
  return {
    port: server.port,
    engine,
    async stop(grace = GRACE_MS) {
      stopping = true;
      await Promise.all([server.close(grace), jobs.stop(grace)]);
      await all.disposeAsync();
    },
  };
}

async function queueCheck(queue: {
  counts(): Promise<{ ready: number; buried: number; oldestSeconds: number }>;
}): Promise<ReadinessCheck> {
  try {
    const { ready, buried, oldestSeconds } = await queue.counts();
    const detail = `${ready} jobs wait, the oldest for ${Math.round(oldestSeconds)} s; ${buried} dead letters`;
    return { name: "queue", ok: true, detail };
  } catch (error) {
    return { name: "queue", ok: false, detail: error instanceof Error ? error.message : String(error) };
  }
}

/** Asks at most once in a while, and answers the same until then. */
function remembered<T>(forMs: number, ask: () => Promise<T>): () => Promise<T> {
  let answer: { promise: Promise<T>; until: number } | undefined;
  return () => {
    const now = performance.now();
    if (!answer || now >= answer.until) answer = { promise: ask(), until: now + forMs };
    return answer.promise;
  };
}
