import { setTimeout as pause } from "node:timers/promises";
import { startKeys } from "./compose/api-keys.ts";
import { cannotListen } from "./compose/cannot-start.ts";
import { queueGauges, receiverGauges } from "./compose/gauges.ts";
import { installationOf } from "./compose/installation.ts";
import { startJobs } from "./compose/jobs.ts";
import { objectAddress } from "./compose/object-address.ts";
import { type Scanning, startScanning } from "./compose/scanning.ts";
import { contentOf, release, spool } from "./engines/threads/spool.ts";
import { remembered } from "./flow/remembered.ts";
import type { Log } from "./log.ts";
import { metrics } from "./metrics.ts";
import { startDeadLetterCare } from "./pipeline/dead-letter-care.ts";
import { health, logSignatureAge } from "./pipeline/health.ts";
import { COUNTS_MS, GRACE_MS, IN_MEMORY_BYTES, longestLine, SYNC_TIMEOUT_MS } from "./pipeline/limits.ts";
import { synchronousScan } from "./pipeline/synchronous-scan.ts";
import { api } from "./receive/api.ts";
import { asyncHandlers } from "./receive/async-routes.ts";
import { familyHandlers } from "./receive/family-routes.ts";
import { type HttpTimings, startHttpServer } from "./receive/http/http-server.ts";
import { keyHandlers } from "./receive/key-routes.ts";
import { objectLinkHandlers } from "./receive/object-link-routes.ts";
import { routes } from "./receive/routes.ts";
import { type ScanNow, type ScanNowOptions, scanNow } from "./receive/scan-now.ts";
import { serviceHandlers } from "./receive/service-routes.ts";
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
  const jobs = await startJobs({ settings, scanning, log, now, sleep: options.sleep, keysMs: timings.keysMs });
  undo.defer(() => jobs.stop(0));
  undo.use(logSignatureAge(scanning.engine, log));
  const queueCounts = remembered(COUNTS_MS, platform.queue.counts);
  measured.watch(queueGauges(queueCounts));
  const letters = { deadLetters: platform.deadLetters, days: settings.deadLetterDays, log, now };
  measured.watch(undo.use(startDeadLetterCare(letters)).gauges);
  if (platform.receiverCounts) measured.watch(receiverGauges(remembered(COUNTS_MS, platform.receiverCounts)));

  let stopping = false;
  const state = health({ engine: scanning.engine, counts: queueCounts, tryToWrite: platform.tryToWrite });
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
      scanNow: scanNowOf(settings, scanning, options),
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
        const { ready, checks } = await state();
        const running = { name: "service", ok: !stopping, detail: stopping ? "stopping" : `lazaret ${version}` };
        return { ready: !stopping && ready, checks: [running, ...checks] };
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

/** The synchronous API's scans. What comes slowly is held until it is here. */
function scanNowOf(settings: Settings, scanning: Scanning, { timings, timer }: ServiceOptions): ScanNow {
  const { concurrency: slots, inspect, objectSteps: objects, temporaryFolder: folder } = scanning;
  return scanNow({
    timeoutMs: timings?.scanMs ?? SYNC_TIMEOUT_MS,
    ...(timer && { timer }),
    installation: installationOf(settings),
    scan: synchronousScan({
      slots,
      longestLine: longestLine(settings, slots),
      async hold(bytes, signal) {
        const file = await spool(bytes, { folder, memoryBytes: IN_MEMORY_BYTES }, signal);
        return { read: () => contentOf(file), release: () => release(file) };
      },
      inspect,
      objects,
    }),
  });
}
