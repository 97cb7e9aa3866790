import { fitCallback, supports } from "@lazaret/contract";
import { callbackSender } from "../deliver/callback.ts";
import { type Signing, startSigning } from "../deliver/signature.ts";
import type { PublicKeys } from "../deliver/signing-keys.ts";
import type { Log } from "../log.ts";
import { guardedConnector } from "../net/guarded-connector.ts";
import { originList } from "../net/origin-list.ts";
import { jobLimits, KEYS_EVERY_MS, LONGEST_LINE } from "../pipeline/limits.ts";
import { workJobs } from "../pipeline/work-jobs.ts";
import { newJobId } from "../queue/job-queue.ts";
import { type SubmitJob, submitJob } from "../receive/async-routes.ts";
import type { Settings } from "../settings.ts";
import type { Spans } from "../traces/spans.ts";
import { version } from "../version.ts";
import { installationOf } from "./routes.ts";
import type { Scanning } from "./scanning.ts";

export interface JobsOptions {
  settings: Settings;
  scanning: Scanning;
  /** Of the tenants that have another weight than 1. */
  weights(): ReadonlyMap<string, number>;
  log: Log;
  spans?: Spans | undefined;
  now: () => number;
  sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
  /** How often it is checked whether the signing key was exchanged. */
  keysMs?: number | undefined;
}

export interface Jobs {
  submit: SubmitJob;
  /** Undefined when callbacks are not signed. */
  publicKeys(): PublicKeys | undefined;
  signing: Pick<Signing, "sign" | "publicKeys"> | undefined;
  stop(graceMs: number): Promise<void>;
}

/** The asynchronous half of the service: what takes jobs in, and what works them off. */
export async function startJobs(options: JobsOptions): Promise<Jobs> {
  const { settings, scanning, weights, log, spans, now } = options;
  const { platform, callbackGuard: guard, announcer } = scanning;
  const installation = installationOf(settings);
  const signing = settings.signCallbackInvocations
    ? await startSigning(platform.signingKeys, log, options.keysMs ?? KEYS_EVERY_MS)
    : undefined;
  const callbacks = callbackSender({
    connector: (signal) => guardedConnector({ guard }, signal),
    version,
    shape: (payload) => fitCallback(payload, installation),
    log,
    now,
    longestLine: LONGEST_LINE,
    traced: originList(settings.traceCallbacks),
    ...(signing && { sign: signing.sign }),
    ...(options.sleep && { sleep: options.sleep }),
  });
  const stages = {
    scan: scanning.stages,
    trials: scanning.trials,
    limits: jobLimits(settings),
    objects: scanning.objectSteps,
    announcer,
    results: platform.results,
    keepFinding: scanning.keepFinding,
    callbacks,
    callbackFailures: platform.callbackFailures,
    // An installation that knows no such event has dead letters instead.
    reportEventBus: settings.reportEventBus && supports(installation, "event.download_scan_result"),
    now,
  };
  const { engineReady, jobsAtOnce, spareJobs } = scanning;
  const work =
    settings.role === "api"
      ? undefined
      : workJobs({ queue: platform.queue, stages, weights, engineReady, jobsAtOnce, spareJobs, log, spans, now });

  return {
    submit: submitJob({ add: platform.queue.add, newId: newJobId, now }),
    publicKeys: () => signing?.publicKeys(),
    signing,
    async stop(graceMs) {
      await work?.stop(graceMs);
      await callbacks.close();
      signing?.[Symbol.dispose]();
    },
  };
}
