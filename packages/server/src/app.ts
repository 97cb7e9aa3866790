import { setTimeout as pause } from "node:timers/promises";
import { startKeys } from "./compose/api-keys.ts";
import { cannotListen } from "./compose/cannot-start.ts";
import { startDeadLetterCare } from "./compose/dead-letter-care.ts";
import { queueGauges, receiverGauges } from "./compose/gauges.ts";
import { installationOf } from "./compose/installation.ts";
import { startJobs } from "./compose/jobs.ts";
import { objectAddress } from "./compose/object-address.ts";
import { HEALTH_TIMEOUT_MS, startScanning } from "./compose/scanning.ts";
import { scansNow } from "./compose/scans-now.ts";
import { tellSignatureAge, withSignatureNote } from "./compose/signature-age.ts";
import { remembered } from "./flow/remembered.ts";
import type { Log } from "./log.ts";
import { metrics } from "./metrics.ts";
import type { Platform } from "./platforms/platform.ts";
import type { JobQueue } from "./queue/job-queue.ts";
import { api } from "./receive/api.ts";
import { asyncHandlers } from "./receive/async-routes.ts";
import { familyHandlers } from "./receive/family-routes.ts";
import { type HttpTimings, startHttpServer } from "./receive/http/http-server.ts";
import { keyHandlers } from "./receive/key-routes.ts";
import { objectLinkHandlers } from "./receive/object-link-routes.ts";
import { routes } from "./receive/routes.ts";
import type { ScanNowOptions } from "./receive/scan-now.ts";
import { type ReadinessCheck, serviceHandlers } from "./receive/service-routes.ts";
import { syncHandlers } from "./receive/sync-routes.ts";
import { versionHandlers } from "./receive/version-route.ts";
import { wrongKeys } from "./receive/wrong-keys.ts";
import type { Engine } from "./scan/engine.ts";
import type { Settings } from "./settings.ts";
import { version } from "./version.ts";

export interface ServiceOptions {
  timings?: Partial<HttpTimings & { scanMs: number; keysMs: number }>;
  /** Milliseconds since 1970, for jobs and results. */
  now?: () => number;
  /** For trying it out: keys that can be guessed. */
  allowShortKeys?: boolean;
  /** Between the tries of a callback. */
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Ends a synchronous scan that takes too long: see scan-now.ts. */
  timer?: ScanNowOptions["timer"];
  /** Where LAZARET_CLAMD=auto looks, if not at the usual sockets. */
  clamdSockets?: readonly string[];
}

export interface RunningService {
  readonly port: number;
  readonly engine: Engine;
  /** Accepts these keys from now on; where they are in a secret of AWS, what is there now. Answers how many. */
  changeKeys(apiKeys: readonly string[]): Promise<number>;
  /**
   * Readiness goes false at once, and jobs come to their end. Requests are taken for another `drainMs`; those under way then
   * may finish until `graceMs` are over. Then everything is closed.
   */
  stop(graceMs?: number, drainMs?: number): Promise<void>;
}

const GRACE_MS = 25_000;
/** Anybody may ask for readiness, any number of times. */
const READINESS_MS = 500;
/** A queue that does not answer is not ready, and whoever asks has an answer within two seconds. */
const QUEUE_ANSWER_MS = 1500;
/** …and for the metrics. */
const COUNTS_MS = 1000;

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
  const keys = undo.use(
    await startKeys(settings, log, { lookEveryMs: timings.keysMs, allowShort: options.allowShortKeys }),
  );
  const scanning = undo.use(
    await startScanning(settings, log, { ...options, now, ownUrl: () => ownUrl(settings, listening.port) }),
  );
  const { platform, objects, guard, callbackGuard } = scanning;
  const jobs = await startJobs({ ...scanning, ...options, settings, log, now, keysMs: timings.keysMs });
  undo.defer(() => jobs.stop(0));
  undo.use(tellSignatureAge(scanning.engine, log));
  const queueCounts = remembered(COUNTS_MS, platform.queue.counts);
  measured.watch(queueGauges(queueCounts));
  const letters = { deadLetters: platform.deadLetters, days: settings.deadLetterDays, log, now };
  measured.watch(undo.use(startDeadLetterCare(letters)).gauges);
  if (platform.receiverCounts) measured.watch(receiverGauges(remembered(COUNTS_MS, platform.receiverCounts)));

  let stopping = false;
  const state = remembered(
    READINESS_MS,
    async () => {
      const engine = scanning.engine.health(AbortSignal.timeout(HEALTH_TIMEOUT_MS));
      const [health, queue] = await Promise.all([engine, inTime(queueCheck(queueCounts, platform.tryToWrite))]);
      return { health, queue };
    },
    { timesAsLong: 1 },
  );
  const handlers = {
    ...asyncHandlers({
      checkDestination: guard.checkUrl,
      checkCallback: callbackGuard.checkUrl,
      checkObject: objects.problemWith,
      objectAddress: objectAddress(objects),
      allowHttpCallbacks: settings.allowHttpCallbacks,
      tenantId: platform.tenantId,
      submit: jobs.submit,
      installation,
      downloads: settings.downloads,
      findResult: platform.results.find,
    }),
    ...syncHandlers({
      checkDestination: guard.checkUrl,
      checkObject: objects.problemWith,
      downloads: settings.downloads,
      scanNow: scansNow(settings, scanning, { timeoutMs: timings.scanMs, timer: options.timer }),
    }),
    ...familyHandlers({
      tenantId: platform.tenantId,
      scansThisMonth: scanning.usage.thisMonth,
      monthlyQuota: settings.monthlyQuota,
      callbackFailures: platform.callbackFailures.list,
    }),
    ...keyHandlers({ publicKeys: async () => jobs.publicKeys() }),
    ...(objects.checkLink && objectLinkHandlers({ checkLink: objects.checkLink, open: objects.open })),
    ...versionHandlers({ version, installation }),
    ...serviceHandlers({
      metrics: remembered(COUNTS_MS, measured.text),
      async readiness() {
        const { health, queue } = await state();
        const running = { name: "service", ok: !stopping, detail: stopping ? "stopping" : `lazaret ${version}` };
        const checks: ReadinessCheck[] = [running, queue, ...withSignatureNote(health.checks)];
        return { ready: !stopping && queue.ok && health.ready, checks };
      },
    }),
  };
  const serving = { role: settings.role, scans: true, folders: objects.checkLink !== undefined };

  const tls = settings.tlsCert === "" ? undefined : { certPath: settings.tlsCert, keyPath: settings.tlsKey };
  const server = await startHttpServer({
    host: settings.host,
    port: settings.port,
    ...(tls && { tls }),
    handle: api({ routes: routes(serving, handlers, { version }), auth: keys.auth, wrongKeys: wrongKeys() }),
    log,
    trustedProxies: settings.trustedProxies,
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
    async stop(graceMs = GRACE_MS, drainMs = 0) {
      stopping = true;
      server.drain();
      const drained = pause(drainMs).then(() => server.close(Math.max(0, graceMs - drainMs)));
      await Promise.all([drained, jobs.stop(graceMs)]);
      await all.disposeAsync();
    },
  };
}

function ownUrl(settings: Settings, port: number): string {
  return settings.publicUrl || `${settings.tlsCert === "" ? "http" : "https"}://127.0.0.1:${port}`;
}

async function queueCheck(
  counts: JobQueue["counts"],
  tryToWrite: Platform["tryToWrite"] = async () => {},
): Promise<ReadinessCheck> {
  try {
    await tryToWrite();
    const { ready, buried, oldestSeconds } = await counts();
    const detail = `${ready} jobs wait, the oldest for ${Math.round(oldestSeconds)} s; ${buried} dead letters`;
    return { name: "queue", ok: true, detail };
  } catch (error) {
    const hint = error instanceof Error && "hint" in error ? `; ${error.hint}` : "";
    return { name: "queue", ok: false, detail: `${error instanceof Error ? error.message : error}${hint}` };
  }
}

async function inTime(check: Promise<ReadinessCheck>): Promise<ReadinessCheck> {
  const late = Promise.withResolvers<ReadinessCheck>();
  const detail = `no answer within ${QUEUE_ANSWER_MS} ms`;
  const timer = setTimeout(() => late.resolve({ name: "queue", ok: false, detail }), QUEUE_ANSWER_MS);
  try {
    return await Promise.race([check, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
