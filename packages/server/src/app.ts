import { hostname } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import type { AdminDoctor } from "@lazaret/contract/admin";
import type { AuditEntry } from "./access/audit-log.ts";
import { startAdmin, startWatching } from "./compose/admin.ts";
import { startKeys } from "./compose/api-keys.ts";
import { checkConsoleKeys, type KeysOfSettings, startConsole } from "./compose/console.ts";
import { startJobs } from "./compose/jobs.ts";
import { startLimits } from "./compose/limits.ts";
import { openPlatform } from "./compose/platform.ts";
import { installationOf, type RouteParts, routesOf } from "./compose/routes.ts";
import { type Scanning, type ScanningOptions, startScanning } from "./compose/scanning.ts";
import { startServers } from "./compose/servers.ts";
import { startTraces } from "./compose/traces.ts";
import { SMALL_FILE_BYTES } from "./engines/threads/scan-limits.ts";
import { type Afterwards, atOnce } from "./flow/afterwards.ts";
import type { WeightOf } from "./flow/gate.ts";
import { remembered } from "./flow/remembered.ts";
import type { Log } from "./log.ts";
import { buildGauge, cacheGauges, healthGauges, lineGauges, queueGauges, receiverGauges } from "./metrics/gauges.ts";
import { metrics } from "./metrics/metrics.ts";
import { metricsText } from "./metrics/metrics-text.ts";
import { startDeadLetterCare } from "./pipeline/dead-letter-care.ts";
import { health, logSignatureAge } from "./pipeline/health.ts";
import { CLOSING_MS, COUNTS_MS, GRACE_MS, longestLine, SYNC_TIMEOUT_MS } from "./pipeline/limits.ts";
import { synchronousScan } from "./pipeline/synchronous-scan.ts";
import { usedThisMonth } from "./pipeline/usage-count.ts";
import { wrongKeys } from "./receive/bearer-auth.ts";
import type { AdminHandlers } from "./receive/console/endpoints.ts";
import type { HttpTimings } from "./receive/http/http-server.ts";
import { renderSyncResult, type ScanNowOptions, scanNow } from "./receive/sync-routes.ts";
import { type Admission, admission } from "./scan/admission.ts";
import type { Engine } from "./scan/engine.ts";
import { type SettingsFacts, settingsFacts } from "./settings/settings-facts.ts";
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
  /** Ends a synchronous scan that takes too long: see sync-routes.ts. */
  timer?: ScanNowOptions["timer"];
  /** Where LAZARET_CLAMD=auto searches, if not at the usual sockets. */
  clamdSockets?: readonly string[];
  /** A platform of one's own, whatever the settings say: see docs/add-a-platform.md. */
  openPlatform?: ScanningOptions["openPlatform"];
  /** When what was done is counted; at once by default. */
  after?: Afterwards;
  /** The settings and where each came from, for the console; the second is not shown without it. */
  facts?: SettingsFacts;
  /** Whether this is the token of the link that `lazaret dev` printed, which works once. */
  useLink?: (token: string) => boolean;
  /** What answers /admin/v1, in place of what does. */
  admin?: AdminHandlers;
  /** What `lazaret doctor` would say, for the console. */
  doctor?: () => Promise<AdminDoctor["checks"]>;
}

export interface RunningService {
  readonly port: number;
  /** Where the console is, if it has a listener of its own. */
  readonly adminPort: number | undefined;
  readonly engine: Engine;
  /** Accepts these keys from now on; API keys in a secret of AWS as they are there now. Answers how many API keys. */
  changeKeys(keys: KeysOfSettings): Promise<number>;
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
  const { timings = {}, now = Date.now, after = atOnce } = options;
  checkConsoleKeys(settings, options.allowShortKeys);
  const measured = metrics({ engine: settings.engine, after });
  const { facts = settingsFacts(settings) } = options;
  const watching = startWatching(settings, { now, after });
  const counted = measured.counted(plainLog);
  const log = watching ? watching.watch.log(counted) : counted;
  let listening = { port: settings.port };
  await using undo = new AsyncDisposableStack();
  // Ends after all whose spans it sends.
  const spans = undo.use(await startTraces(settings, log))?.spans;
  const keys = undo.use(
    await startKeys(settings, log, { reloadEveryMs: timings.keysMs, allowShort: options.allowShortKeys, now }),
  );
  const open = options.openPlatform ?? openPlatform;
  const started = undo.use(
    await startScanning(settings, log, {
      ...options,
      now,
      meter: measured.meter,
      ownUrl: () => ownUrl(settings, listening.port),
      openPlatform: watching ? watching.opened(open) : open,
    }),
  );
  // Ends before what it asks.
  if (watching) undo.use(watching.hub);
  const scanning = watching ? { ...started, stages: watching.watch.stages(started.stages) } : started;
  const { platform } = scanning;
  /** A store that takes no writes now must not keep the service from answering what it can, nor a key from being taken away. */
  const record = async (what: string, details: AuditEntry["details"] = {}): Promise<void> => {
    const act = { who: "service", tenant: "", what, on: settings.scannerStackName, from: hostname() };
    await platform.audit
      .add({ at: now(), ...act, details })
      .catch((error: Error) => log.error("audit", { error: error.message }));
  };
  undo.use(await keys.follow(platform));
  const { engine: variant, platform: store, role } = settings;
  await record("service.start", { version, role, platform: store, settings: facts.changed, sha256: facts.sha256 });
  const jobs = await startJobs({
    settings,
    scanning,
    weights: keys.weights,
    log,
    spans,
    now,
    sleep: options.sleep,
    keysMs: timings.keysMs,
  });
  undo.defer(() => jobs.stop(0));
  undo.use(logSignatureAge(scanning.engine, log, settings));
  const queueCounts = remembered(COUNTS_MS, platform.queue.counts);
  const build = buildGauge({ version, node: process.version, engine: variant, platform: store, role });
  measured.watch([build, ...queueGauges(queueCounts)]);
  const letters = { deadLetters: platform.deadLetters, days: settings.deadLetterDays, log, now };
  const { gauges } = undo.use(startDeadLetterCare(letters));
  measured.watch(gauges.map((gauge) => ({ ...gauge, read: remembered(COUNTS_MS, gauge.read) })));
  if (scanning.engine.cacheCounts) measured.watch(cacheGauges(scanning.engine.cacheCounts));
  if (platform.receiverCounts) measured.watch(receiverGauges(remembered(COUNTS_MS, platform.receiverCounts)));

  const limits = undo.use(startLimits({ platform, usage: scanning.usage, now }));

  let stopping = false;
  const { engine } = scanning;
  const state = health({ engine, counts: queueCounts, tryToWrite: platform.tryToWrite, policy: settings });
  measured.watch(healthGauges({ running: () => !stopping, state, now }));
  const readiness: RouteParts["readiness"] = async () => {
    const { ready, checks } = await state();
    const running = { name: "service", ok: !stopping, detail: stopping ? "stopping" : `lazaret ${version}` };
    // The rest of what they say is for the metrics.
    const said = checks.map(({ name, ok, detail }) => ({ name, ok, detail }));
    return { ready: !stopping && ready, checks: [running, ...said] };
  };
  const inTime = { timeoutMs: timings.scanMs ?? SYNC_TIMEOUT_MS, ...(options.timer && { timer: options.timer }) };
  const line = lineOf(settings, scanning, (tenant) => keys.weights().get(tenant) ?? 1);
  measured.watch(lineGauges(scanning.concurrency, line.counts));
  const { stages, objectSteps: objects, keepFinding } = scanning;
  const unwatched = synchronousScan({ line, stages, objects, keepFinding });
  const scan = watching ? watching.watch.scan(unwatched) : unwatched;
  let settingsKeys: KeysOfSettings = settings;
  const admin =
    watching &&
    undo.use(
      startAdmin(settings, {
        watching,
        scanning,
        jobs,
        scan,
        inTime,
        readiness,
        settingsKeys: () => settingsKeys,
        facts,
        doctor: options.doctor,
        log,
        now,
      }),
    );
  const console = await startConsole(settings, {
    ...options,
    made: keys.made,
    platform,
    log,
    now,
    ...(settings.adminListen !== "" && { apiUrl: () => ownUrl(settings, listening.port) }),
  });
  const routes = routesOf(settings, {
    ...scanning,
    console,
    admin: options.admin ?? admin?.handlers,
    submit: jobs.submit,
    scanNow: scanNow({ ...inTime, scan, digestOf: "findings", render: renderSyncResult(installationOf(settings)) }),
    usedThisMonth: usedThisMonth(scanning.usage),
    publicKeys: async () => jobs.publicKeys(),
    metrics: remembered(COUNTS_MS, async () => metricsText(await measured.families()), { timesAsLong: 1 }),
    readiness,
  });

  const servers = await startServers(settings, {
    routes,
    auth: keys.auth,
    wrongKeys: wrongKeys(),
    limiter: limits.limiter,
    entrance: console?.entrance,
    spans,
    log,
    timings,
  });
  listening = servers;

  const disposing = undo.move();
  return {
    port: servers.port,
    adminPort: servers.adminPort,
    engine: scanning.engine,
    async changeKeys(given) {
      console?.change(given);
      settingsKeys = given;
      const count = await keys.change(given.apiKeys);
      // In its own time: whoever asked waits for an answer of this process, not of the store.
      void record("api-keys.read", { keys: count });
      return count;
    },
    async stop(graceMs = GRACE_MS - CLOSING_MS, drainMs = 0) {
      stopping = true;
      servers.drain();
      const drained = pause(drainMs).then(() => servers.close(Math.max(0, graceMs - drainMs)));
      await Promise.all([drained, jobs.stop(graceMs)]);
      await disposing.disposeAsync();
    },
  };
}

function ownUrl(settings: Settings, port: number): string {
  return settings.publicUrl || `${settings.tlsCert === "" ? "http" : "https"}://127.0.0.1:${port}`;
}

/** Of scans whose results somebody waits for. What comes slowly is held until it is here. */
function lineOf(
  settings: Settings,
  { concurrency: slots, spareScans, trials }: Scanning,
  weightOf: WeightOf,
): Admission {
  return admission({
    slots,
    spareSlots: spareScans,
    longestLine: longestLine(settings, slots),
    wholeBytes: SMALL_FILE_BYTES,
    hold: trials.hold,
    weightOf,
  });
}
