import { SYNC_MAX_FILE_BYTES, SYNC_TIMEOUT_SECONDS, WAITING_PER_SLOT } from "@lazaret/contract";
import { findClamd, parseClamdAddress } from "./engines/clamd/address.ts";
import type { RulesEvent } from "./engines/rules/rules-engine.ts";
import { concurrencyOf, startEngine, type VariantParts } from "./engines/variants.ts";
import { addressGuard } from "./fetch/address-guard.ts";
import { fetchSource } from "./fetch/fetch-source.ts";
import { httpDownload } from "./fetch/http-download.ts";
import type { Log } from "./log.ts";
import { inspect, type Stages } from "./pipeline.ts";
import { api } from "./receive/api.ts";
import { bearerAuth } from "./receive/bearer-auth.ts";
import { type HttpTimings, startHttpServer } from "./receive/http/http-server.ts";
import { scanNow } from "./receive/scan-now.ts";
import { serviceRoutes } from "./receive/service-routes.ts";
import { syncRoutes } from "./receive/sync-routes.ts";
import type { Engine } from "./scan/engine.ts";
import { gate } from "./scan/gate.ts";
import type { Settings } from "./settings.ts";
import { version } from "./version.ts";

/** An operator's mistake that keeps the service from starting: what, on what, and what to do. */
export class CannotStart extends Error {
  readonly hint: string;

  constructor(message: string, hint: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CannotStart";
    this.hint = hint;
  }
}

export interface Timings extends HttpTimings {
  /** The synchronous API's limit for a request. */
  scanMs: number;
}

export interface RunningService {
  readonly port: number;
  readonly engine: Engine;
  /** Readiness goes false, requests under way finish for at most `graceMs`, then everything is closed. */
  stop(graceMs?: number): Promise<void>;
}

const GRACE_MS = 25_000;
const HEALTH_TIMEOUT_MS = 5_000;

/** The composition root: settings → engine → stages → running service. */
export async function startService(
  settings: Settings,
  log: Log,
  timings: Partial<Timings> = {},
): Promise<RunningService> {
  const concurrency = settings.concurrency || concurrencyOf(settings.engine);
  const engine = await startEngine(engineParts(settings, concurrency, log));
  const guard = addressGuard({ allowNetworks: settings.allowNetworks, allowHosts: settings.allowHosts });
  const download = httpDownload({ guard, version });
  const stages: Stages = { open: fetchSource(download), engine, now: () => performance.now() };
  const slots = gate(concurrency, settings.waitingLine || concurrency * WAITING_PER_SLOT);
  let stopping = false;

  const scans = syncRoutes({
    checkDestination: guard.checkUrl,
    scanNow: scanNow({
      timeoutMs: timings.scanMs ?? SYNC_TIMEOUT_SECONDS * 1000,
      async scan(source, signal) {
        const leave = await slots.enter(signal);
        try {
          return await inspect(source, stages, { maxBytes: SYNC_MAX_FILE_BYTES, signal });
        } finally {
          leave();
        }
      },
    }),
  });
  const service = serviceRoutes({
    version,
    routes: scans,
    async readiness() {
      const health = await engine.health(AbortSignal.timeout(HEALTH_TIMEOUT_MS));
      const running = { name: "service", ok: !stopping, detail: stopping ? "stopping" : `lazaret ${version}` };
      return { ready: health.ready && !stopping, checks: [running, ...health.checks] };
    },
  });

  const tls = settings.tlsCert === "" ? undefined : { certPath: settings.tlsCert, keyPath: settings.tlsKey };
  const server = await startHttpServer({
    host: settings.host,
    port: settings.port,
    ...(tls && { tls }),
    handle: api({ routes: [...scans, ...service], auth: bearerAuth(settings.apiKeys) }),
    log,
    timings,
  }).catch(async (error: NodeJS.ErrnoException) => {
    await engine.close();
    await download.close();
    throw cannotListen(settings, error);
  });

  return {
    port: server.port,
    engine,
    async stop(graceMs = GRACE_MS) {
      stopping = true;
      await server.close(graceMs);
      await Promise.all([engine.close(), download.close()]);
    },
  };
}

function engineParts(settings: Settings, concurrency: number, log: Log): VariantParts {
  const { engine: variant, clamd: setting, rulesDir } = settings;
  const clamd = setting === "auto" ? findClamd() : parseClamdAddress(setting);
  if (variant === "P") {
    const rules = { ...(rulesDir !== "" && { rulesDir }), onEvent: (event: RulesEvent) => logRules(log, event) };
    return { variant, clamd, concurrency, rules };
  }
  if (clamd) return { variant, clamd, concurrency };
  throw new CannotStart(
    setting === "none"
      ? "engine Q needs clamd, and LAZARET_CLAMD is none"
      : "no clamd socket in any of the usual places",
    "start clamd (Debian: apt-get install clamav-daemon), say where it listens (LAZARET_CLAMD=unix:/path/clamd.ctl), or use LAZARET_ENGINE=P to scan with the built-in rules alone",
  );
}

function logRules(log: Log, event: RulesEvent): void {
  if (event.kind === "rules-loaded") {
    log("rules-loaded", { rules: event.rules, own: event.own, warnings: event.warnings.join("; ") || undefined });
  } else log.error(event.kind, { message: event.message });
}

function cannotListen(settings: Settings, error: NodeJS.ErrnoException): Error {
  if (error.code === "EADDRINUSE") {
    return new CannotStart(
      `cannot listen on ${settings.host}:${settings.port}: the port is taken`,
      "stop what listens there, or choose another with LAZARET_PORT",
      { cause: error },
    );
  }
  if (error.code === "EACCES" || error.code === "EADDRNOTAVAIL") {
    return new CannotStart(
      `cannot listen on ${settings.host}:${settings.port}: ${error.code}`,
      "choose a port above 1023 and an address of this machine (LAZARET_PORT, LAZARET_HOST)",
      { cause: error },
    );
  }
  if (
    error.code === "ENOENT" ||
    String(error.code).startsWith("ERR_OSSL") ||
    String(error.code).startsWith("ERR_SSL")
  ) {
    return new CannotStart(
      `cannot use the TLS files: ${error.message}`,
      "LAZARET_TLS_CERT and LAZARET_TLS_KEY must be PEM files that belong together",
      { cause: error },
    );
  }
  return error;
}
