import { fitCallback, supports } from "@lazaret/contract";
import { callbackSender } from "../deliver/callback.ts";
import { callbackSigner, type SignCallback } from "../deliver/signature.ts";
import type { PublicKeys, SigningKeys } from "../deliver/signing-keys.ts";
import type { Log } from "../log.ts";
import { guardedConnector } from "../net/guarded-connector.ts";
import { KEYS_EVERY_MS, LONGEST_LINE } from "../pipeline/limits.ts";
import { workJobs } from "../pipeline/work-jobs.ts";
import { newJobId } from "../queue/job-queue.ts";
import { type SubmitJob, submitJob } from "../receive/async-routes.ts";
import type { Settings } from "../settings.ts";
import { version } from "../version.ts";
import { installationOf } from "./routes.ts";
import type { Scanning } from "./scanning.ts";

export interface JobsOptions {
  settings: Settings;
  scanning: Scanning;
  log: Log;
  now: () => number;
  sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
  /** How often it is checked whether the signing key was exchanged. */
  keysMs?: number | undefined;
}

export interface Jobs {
  submit: SubmitJob;
  /** Undefined when callbacks are not signed. */
  publicKeys(): PublicKeys | undefined;
  stop(graceMs: number): Promise<void>;
}

/** The asynchronous half of the service: what takes jobs in, and what works them off. */
export async function startJobs(options: JobsOptions): Promise<Jobs> {
  const { settings, scanning, log, now } = options;
  const { platform, callbackGuard: guard, announcer } = scanning;
  const installation = installationOf(settings);
  const signing = settings.signCallbackInvocations
    ? await startSigning(platform.signingKeys, log, options.keysMs)
    : undefined;
  const callbacks = callbackSender({
    connector: (signal) => guardedConnector({ guard }, signal),
    version,
    shape: (payload) => fitCallback(payload, installation),
    log,
    now,
    longestLine: LONGEST_LINE,
    ...(signing && { sign: signing.sign }),
    ...(options.sleep && { sleep: options.sleep }),
  });
  const stages = {
    inspect: scanning.inspectJob,
    objects: scanning.objectSteps,
    announcer,
    results: platform.results,
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
      : workJobs({ queue: platform.queue, stages, engineReady, jobsAtOnce, spareJobs, log });

  return {
    submit: submitJob({ add: platform.queue.add, newId: newJobId, now }),
    publicKeys: () => signing?.publicKeys(),
    async stop(graceMs) {
      await work?.stop(graceMs);
      await callbacks.close();
      signing?.[Symbol.dispose]();
    },
  };
}

/** Signs callbacks with the key as it is now: it may be exchanged while the service runs. */
interface Signing extends Disposable {
  sign: SignCallback;
  publicKeys(): PublicKeys;
}

async function startSigning(keys: SigningKeys, log: Log, reloadEveryMs: number = KEYS_EVERY_MS): Promise<Signing> {
  let pair = await keys.load();
  let sign = callbackSigner(pair.privateKey);

  async function reload(): Promise<void> {
    try {
      const next = await keys.load();
      if (next.publicKeys.x509 === pair.publicKeys.x509) return;
      pair = next;
      sign = callbackSigner(next.privateKey);
      log("signing_key", { changed: true });
    } catch (error) {
      // The one we have still signs.
      log.error("signing_key", { error: error instanceof Error ? error.message : String(error) });
    }
  }

  const timer = setInterval(() => void reload(), reloadEveryMs);
  timer.unref();
  return {
    sign: (parts) => sign(parts),
    publicKeys: () => pair.publicKeys,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
