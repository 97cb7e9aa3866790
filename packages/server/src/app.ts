import { SYNC_MAX_FILE_BYTES, SYNC_TIMEOUT_SECONDS, WAITING_PER_SLOT } from "@lazaret/contract";
import { startKeys } from "./compose/api-keys.ts";
import { cannotListen } from "./compose/cannot-start.ts";
import { queueGauges, receiverGauges } from "./compose/gauges.ts";
import { installationOf } from "./compose/installation.ts";
import { startJobs } from "./compose/jobs.ts";
import { objectAddress } from "./compose/object-address.ts";
import { HEALTH_TIMEOUT_MS, type Scanning, startScanning } from "./compose/scanning.ts";
import { tellSignatureAge } from "./compose/signature-age.ts";
import type { Log } from "./log.ts";
import { metrics } from "./metrics.ts";
import { api } from "./receive/api.ts";
import { asyncRoutes } from "./receive/async-routes.ts";
import { inBothDialects } from "./receive/dialect.ts";
import { familyRoutes } from "./receive/family-routes.ts";
import { type HttpTimings, startHttpServer } from "./receive/http/http-server.ts";
import { keyRoutes } from "./receive/key-routes.ts";
import { objectLinkRoutes } from "./receive/object-link-routes.ts";
import { type ScanNow, scanNow } from "./receive/scan-now.ts";
import { type ReadinessCheck, serviceRoutes } from "./receive/service-routes.ts";
import { syncRoutes } from "./receive/sync-routes.ts";
import { versionRoute } from "./receive/version-route.ts";
import type { Engine } from "./scan/engine.ts";
import { gate } from "./scan/gate.ts";
import type { Settings } from "./settings.ts";
import { version } from "./version.ts";

export interface ServiceOptions {
  timings?: Partial<HttpTimings & { scanMs: number; keysMs: number }>;
  /** Milliseconds since 1970, for jobs and results. */
  now?: () => number;
  /** Between the tries of a callback. */
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Where LAZARET_CLAMD=auto looks, if not at the usual sockets. */
  clamdSockets?: readonly string[];
}

export interface RunningService {
  readonly port: number;
  readonly engine: Engine;
  /** Accepts these keys from now on; where they are in a secret of AWS, what is there now. Answers how many. */
  changeKeys(apiKeys: readonly string[]): Promise<number>;
  /** Readiness goes false, requests and jobs under way finish for at most `graceMs`, then everything is closed. */
  stop(graceMs?: number): Promise<void>;
}

const GRACE_MS = 25_000;
/** Anybody may ask for readiness, any number of times. */
const READINESS_MS = 500;

/** The composition root: settings → platform and engine → stages → running service. */
export async function startService(
  settings: Settings,
  plainLog: Log,
  options: ServiceOptions = {},
): Promise<RunningService> {
  const { timings = {}, now = Date.now } = options;
  const installation = installationOf(settings);
  const measured = metrics();
  const log = measured.counted(plainLog);
  let listening = { port: settings.port };
  await using undo = new AsyncDisposableStack();
  const scanning = undo.use(
    await startScanning(settings, log, { ...options, now, ownUrl: () => ownUrl(settings, listening.port) }),
  );
  const { platform, objects, guard } = scanning;
  const jobs = await startJobs({ ...scanning, ...options, settings, log, now, keysMs: timings.keysMs });
  undo.defer(() => jobs.stop(0));
  undo.use(tellSignatureAge(scanning.engine, log));
  measured.watch(queueGauges(platform.queue));
  if (platform.receiverCounts) measured.watch(receiverGauges(platform.receiverCounts));

  const specRoutes = [
    ...asyncRoutes({
      checkDestination: guard.checkUrl,
      checkObject: objects.problemWith,
      objectAddress: objectAddress(objects),
      allowHttpCallbacks: settings.allowHttpCallbacks,
      tenantId: platform.tenantId,
      submit: jobs.submit,
      installation,
      downloads: settings.downloads,
      findResult: platform.results.find,
    }),
    ...syncRoutes({
      checkDestination: guard.checkUrl,
      checkObject: objects.problemWith,
      downloads: settings.downloads,
      scanNow: scansNow(settings, scanning, timings.scanMs),
    }),
  ];
  const apiRoutes = [
    ...inBothDialects(specRoutes),
    ...familyRoutes({
      tenantId: platform.tenantId,
      scansThisMonth: scanning.usage.thisMonth,
      monthlyQuota: settings.monthlyQuota,
      callbackFailures: platform.callbackFailures.list,
    }),
    ...keyRoutes({ publicKeys: jobs.publicKeys }),
    ...(objects.checkLink ? objectLinkRoutes({ checkLink: objects.checkLink, open: objects.open }) : []),
  ];
  const routes = [...(settings.role === "worker" ? [] : apiRoutes), versionRoute({ version, installation })];
  let stopping = false;
  const service = serviceRoutes({
    version,
    routes,
    metrics: measured.text,
    readiness: remembered(READINESS_MS, async () => {
      const health = await scanning.engine.health(AbortSignal.timeout(HEALTH_TIMEOUT_MS));
      const running = { name: "service", ok: !stopping, detail: stopping ? "stopping" : `lazaret ${version}` };
      const checks: ReadinessCheck[] = [running, await queueCheck(platform.queue), ...health.checks];
      return { ready: health.ready && checks.slice(0, 2).every((check) => check.ok), checks };
    }),
  });

  const keys = undo.use(await startKeys(settings, log, timings.keysMs));
  const tls = settings.tlsCert === "" ? undefined : { certPath: settings.tlsCert, keyPath: settings.tlsKey };
  const server = await startHttpServer({
    host: settings.host,
    port: settings.port,
    ...(tls && { tls }),
    handle: api({ routes: [...routes, ...service], auth: keys.auth }),
    log,
    timings,
  }).catch((error: NodeJS.ErrnoException) => {
    throw cannotListen(settings, error);
  });
  listening = server;

  const all = undo.move();
  return {
    port: server.port,
    engine: scanning.engine,
    changeKeys: keys.change,
    async stop(grace = GRACE_MS) {
      stopping = true;
      await Promise.all([server.close(grace), jobs.stop(grace)]);
      await all.disposeAsync();
    },
  };
}

/** The synchronous API's scans: so many at once, the next ones in a line. */
function scansNow(settings: Settings, scanning: Scanning, timeoutMs = SYNC_TIMEOUT_SECONDS * 1000): ScanNow {
  const { concurrency, objectScans } = scanning;
  const slots = gate(concurrency, settings.waitingLine || concurrency * WAITING_PER_SLOT);
  return scanNow({
    timeoutMs,
    installation: installationOf(settings),
    async scan(source, signal) {
      const leave = await slots.enter(signal);
      try {
        const report = await scanning.inspect(source, SYNC_MAX_FILE_BYTES, signal);
        return source.kind === "object" ? (await objectScans.finish(source, report)).report : report;
      } finally {
        leave();
      }
    },
  });
}

function ownUrl(settings: Settings, port: number): string {
  return settings.publicUrl || `${settings.tlsCert === "" ? "http" : "https"}://127.0.0.1:${port}`;
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
