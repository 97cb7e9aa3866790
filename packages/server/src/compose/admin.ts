import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { fitCallback } from "@lazaret/contract";
import type { AdminDoctor, AdminJobCounts } from "@lazaret/contract/admin";
import { type Access, SCOPES } from "../access/access-store.ts";
import { type Activity, activity } from "../admin/activity.ts";
import { buckets } from "../admin/buckets.ts";
import { callbackView } from "../admin/callback-view.ts";
import { type EventHub, eventHub } from "../admin/events.ts";
import { adminHandlers, jobCounts } from "../admin/handlers.ts";
import type { InstallationParts } from "../admin/installation.ts";
import { renderScanResult } from "../admin/scans.ts";
import { startTasks } from "../admin/tasks.ts";
import { type Watch, watch } from "../admin/watch.ts";
import type { Afterwards } from "../flow/afterwards.ts";
import { remembered } from "../flow/remembered.ts";
import type { Log } from "../log.ts";
import { DEFAULT_TENANT, flatKeyName } from "../model/tenant.ts";
import { guardedConnector } from "../net/guarded-connector.ts";
import { engineHealth } from "../pipeline/health.ts";
import { ADMIN_COUNTS_MS, DOCTOR_MS } from "../pipeline/limits.ts";
import type { SynchronousScan } from "../pipeline/synchronous-scan.ts";
import type { Platform } from "../platforms/platform.ts";
import type { AdminHandlers } from "../receive/console/endpoints.ts";
import { type ScanNowOptions, scanNow } from "../receive/sync-routes.ts";
import type { SettingsFacts } from "../settings/settings-facts.ts";
import type { Settings } from "../settings.ts";
import { version } from "../version.ts";
import { guardingOn } from "./guarding.ts";
import type { Jobs } from "./jobs.ts";
import type { openPlatform } from "./platform.ts";
import { installationOf } from "./routes.ts";
import type { Scanning } from "./scanning.ts";

/** Observes the work of this process, from before it begins, and shows it. */
export interface Watching {
  watch: Watch;
  activity: Activity;
  hub: EventHub;
  counts(): Promise<AdminJobCounts>;
  /** Opens a platform whose work is seen. */
  opened(open: typeof openPlatform): typeof openPlatform;
}

/** Undefined where there is no console. */
export function startWatching(
  settings: Settings,
  { now, after }: { now: () => number; after: Afterwards },
): Watching | undefined {
  if (settings.console === "off" || settings.role === "worker") return undefined;
  let platform: Platform | undefined;
  const counts = remembered(ADMIN_COUNTS_MS, async () => {
    if (!platform) throw new Error("the platform is not open yet");
    return jobCounts(platform.queue, platform.history)();
  });
  const seen = activity(now);
  const hub = eventHub({ now, counts });
  const watching = watch({ activity: seen, hub, now, after });
  return {
    watch: watching,
    activity: caughtUp(seen, after),
    hub,
    counts,
    opened: (open) => async (given, log, parts) => {
      const plain = await open(given, log, parts);
      const { queue, findings } = plain;
      platform = { ...plain, queue: watching.queue(queue), findings: watching.findings(findings) };
      return platform;
    },
  };
}

/** Whoever asks finds what was done before. */
function caughtUp({ p95Ms, errorsOfDay, show, ...counting }: Activity, { catchUp }: Afterwards): Activity {
  return {
    ...counting,
    p95Ms() {
      catchUp();
      return p95Ms();
    },
    errorsOfDay() {
      catchUp();
      return errorsOfDay();
    },
    show(range, queue) {
      catchUp();
      return show(range, queue);
    },
  };
}

export interface AdminOptions {
  watching: Watching;
  scanning: Scanning;
  jobs: Jobs;
  /** The one of the synchronous API, in the same line. */
  scan: SynchronousScan;
  inTime: Pick<ScanNowOptions, "timeoutMs" | "timer">;
  readiness: InstallationParts["readiness"];
  /** The keys of the settings as they are now. */
  settingsKeys(): Pick<Settings, "apiKeys" | "adminKeys" | "viewerKeys">;
  facts: SettingsFacts;
  doctor: (() => Promise<AdminDoctor["checks"]>) | undefined;
  log: Log;
  now: () => number;
}

export interface Admin extends AsyncDisposable {
  handlers: AdminHandlers;
}

/** What answers /admin/v1. */
export function startAdmin(settings: Settings, options: AdminOptions): Admin {
  const { scanning, jobs, readiness, facts, log, now } = options;
  const { watch, activity: seen, hub, counts } = options.watching;
  const { platform, guard, callbackGuard, objects } = scanning;
  const installation = installationOf(settings);
  const { signing } = jobs;
  const doctor = options.doctor && remembered(DOCTOR_MS, options.doctor);
  const tasks = startTasks({ now, onChange: (task) => hub.publish({ type: "task", task }) });
  const guardBucket = guardingOn(scanning, settings, log);
  const rules = {
    checkCallback: callbackGuard.checkUrl,
    allowHttpCallbacks: settings.allowHttpCallbacks,
    tenantIdOf: (tenant: string) => (tenant === DEFAULT_TENANT ? platform.tenantId : tenant),
  };
  const handlers = adminHandlers({
    jobs: {
      ...platform,
      submit: jobs.submit,
      callbackOf: callbackView({ shape: (payload) => fitCallback(payload, installation), signing }),
    },
    counts,
    findings: platform.findings,
    letters: { deadLetters: platform.deadLetters, tasks, now },
    activity: seen,
    hub,
    scans: {
      scanNow: scanNow({ ...options.inTime, scan: options.scan, render: renderScanResult }),
      checkDestination: guard.checkUrl,
      checkObject: objects.problemWith,
      downloads: settings.downloads,
    },
    engines: {
      name: settings.engine,
      health: () => engineHealth(scanning.engine),
      readiness,
      doctor: doctor ?? (async () => []),
      engine: scanning.stages.engine,
      activity: seen,
      maxAgeDays: settings.signaturesMaxAge,
      slots: { requests: scanning.concurrency, jobs: settings.role === "api" ? 0 : scanning.jobsAtOnce },
      underWay: watch.underWay,
      now,
    },
    buckets: buckets({
      names: () => bucketNames(settings, platform),
      guard: ({ bucket, prefix, onTotal, onResult }, signal) => {
        const filters = prefix === undefined ? {} : { prefix };
        return guardBucket({ bucket, filters, watch: false, restart: false, onTotal, onResult }, signal);
      },
      checkObject: objects.problemWith,
      tasks,
      failedActions: watch.failedActions,
      now,
    }),
    keys: {
      access: platform.access,
      settingsKeys: () => keysOfSettings(options.settingsKeys()),
      declared: () => declaredIn(settings.tenantsFile),
      now,
    },
    callbacks: {
      signing,
      rules,
      connector: (signal) => guardedConnector({ guard: callbackGuard }, signal),
      version,
      now,
    },
    installation: {
      version,
      platform: settings.platform,
      role: settings.role,
      settings: [...facts.shown],
      doctor,
      readiness,
      counts,
      activity: seen,
      now,
    },
    audit: platform.audit,
  });
  return { handlers, [Symbol.asyncDispose]: () => tasks[Symbol.asyncDispose]() };
}

/** By their places: they have no names of their own. */
function keysOfSettings({
  apiKeys,
  adminKeys,
  viewerKeys,
}: ReturnType<AdminOptions["settingsKeys"]>): { name: string; scopes: string[] }[] {
  const all = SCOPES.filter((scope) => scope !== "admin" && scope !== "viewer");
  return [
    ...apiKeys.map((_, place) => ({ name: flatKeyName(place + 1), scopes: all })),
    ...adminKeys.map((_, place) => ({ name: `admin-${place + 1}`, scopes: ["admin"] })),
    ...viewerKeys.map((_, place) => ({ name: `viewer-${place + 1}`, scopes: ["viewer"] })),
  ];
}

/** What holds is what was good at last; a file with mistakes declares nothing that could be shown. */
async function declaredIn(path: string): Promise<Access> {
  if (path === "") return { keys: [], tenants: [] };
  const { readTenantsFile } = await import("../access/tenants-file.ts");
  const read = readTenantsFile(path);
  return read.kind === "read" ? read.access : { keys: [], tenants: [] };
}

/** The folders that are buckets; of a store that is not ours, those that tenants may use by name. */
async function bucketNames(settings: Settings, { access }: Pick<Platform, "access">): Promise<string[]> {
  if (settings.s3Endpoint === "" && settings.platform !== "aws") {
    const folder = settings.bucketsDir || join(settings.dataDir, "buckets");
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith(".")).map(({ name }) => name);
  }
  const { tenants } = await access.read();
  return tenants.flatMap(({ buckets: named = [] }) => named.filter((name) => !name.includes("*")));
}
