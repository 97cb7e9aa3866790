import { setTimeout as pause } from "node:timers/promises";
import { fitCallback, supports } from "@lazaret/contract";
import type { Announcer } from "../deliver/announce.ts";
import { callbackSender } from "../deliver/callback.ts";
import { failedCallback } from "../deliver/render.ts";
import type { PublicKeys } from "../deliver/signing-keys.ts";
import type { Log } from "../log.ts";
import { Busy, EngineUnavailable } from "../model/faults.ts";
import type { JobSource } from "../model/job.ts";
import type { Report } from "../model/report.ts";
import type { AddressGuard } from "../net/address-guard.ts";
import { guardedConnector } from "../net/guarded-connector.ts";
import type { ObjectScans } from "../pipeline/finish-object.ts";
import { type JobStages, runJob } from "../pipeline/run-job.ts";
import type { Platform } from "../platforms/platform.ts";
import { newJobId } from "../queue/job-queue.ts";
import { type JobRun, startWorker, type Worker } from "../queue/worker.ts";
import { type SubmitJob, submitJob } from "../receive/async-routes.ts";
import type { Settings } from "../settings.ts";
import { version } from "../version.ts";
import { installationOf } from "./installation.ts";
import { startSigning } from "./signing.ts";

export interface JobsOptions {
  settings: Settings;
  platform: Platform;
  callbackGuard: AddressGuard;
  inspectJob(source: JobSource, signal: AbortSignal, place: JobRun["place"]): Promise<Report>;
  announcer: Announcer;
  objectScans: ObjectScans;
  /** Never throws. */
  engineReady(): Promise<boolean>;
  jobsAtOnce: number;
  spareJobs: number;
  log: Log;
  now: () => number;
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  /** How often to look whether the signing key was exchanged. */
  keysMs?: number | undefined;
}

export interface Jobs {
  submit: SubmitJob;
  /** Undefined when callbacks are not signed. */
  publicKeys(): PublicKeys | undefined;
  stop(graceMs: number): Promise<void>;
}

/** Deliveries cost a socket and a timer each; far more of them than scans can be under way. */
const DELIVERIES_AT_ONCE = 750;
const DELIVERIES_PER_SHARE = 500;
/** Jobs that wait for a slow source have a socket and up to 256 KiB each. */
const SLOW_AT_ONCE = 128;
const SLOW_PER_SHARE = 64;
/** So many POSTs wait for one receiver in this process; the jobs of the rest wait in the queue. */
const LONGEST_LINE = 32;
const BUSY_SECONDS = 15;
/** How often an engine that could not be reached is asked whether it is back. */
const ENGINE_PAUSE_MS = 2000;

/** The asynchronous half of the service: what takes jobs in, and what works them off. */
export async function startJobs(options: JobsOptions): Promise<Jobs> {
  const { settings, platform, callbackGuard: guard, log, now } = options;
  const installation = installationOf(settings);
  const signing = settings.signCallbackInvocations
    ? await startSigning(platform.signingKeys, log, options.keysMs)
    : undefined;
  const sender = callbackSender({
    connector: (signal) => guardedConnector({ guard }, signal),
    version,
    shape: (payload) => fitCallback(payload, installation),
    log,
    now,
    longestLine: LONGEST_LINE,
    ...(signing && { sign: signing.sign }),
    ...(options.sleep && { sleep: options.sleep }),
  });
  const closing = new AbortController();
  let engineDown = false;

  /** While the engine is down jobs stay in the queue: each would be downloaded in vain. */
  async function waitForEngine(): Promise<void> {
    if (engineDown) return;
    engineDown = true;
    while (!closing.signal.aborted && !(await options.engineReady())) {
      await pause(ENGINE_PAUSE_MS, undefined, { signal: closing.signal }).catch(() => {});
    }
    engineDown = false;
  }

  const stages: JobStages = {
    // An installation that knows no such event has dead letters instead.
    reportEventBus: settings.reportEventBus && supports(installation, "event.download_scan_result"),
    async inspect(source, place, signal) {
      try {
        return await options.inspectJob(source, signal, place);
      } catch (error) {
        if (error instanceof EngineUnavailable && !error.whileLooking) void waitForEngine();
        throw error;
      }
    },
    act: options.objectScans.act,
    actInstead: options.objectScans.actInstead,
    async announce(job, callbackFailure) {
      const { id, traceId, customData, source, report, action = "no" } = job;
      if (source.kind === "url" || callbackFailure) return options.announcer.downloadScan(job, callbackFailure);
      const echoed = { ...(traceId !== undefined && { traceId }), ...(customData !== undefined && { customData }) };
      return options.announcer.objectScan({ id, ...echoed, object: source, report, action });
    },
    async keep(job) {
      if (job.traceId === undefined) return;
      const submission = { traceId: job.traceId, jobId: job.id, submittedAt: job.submittedAt };
      await platform.results.keep(submission, job.report);
    },
    recordFailure: (job, failure) => platform.callbackFailures.record(failedCallback(job, failure, now())),
    callBack: (job, signal) => sender.send(job, job.report, signal),
  };

  const startWorking = (): Worker =>
    startWorker({
      queue: platform.queue,
      jobsAtOnce: options.jobsAtOnce,
      spareJobs: options.spareJobs,
      deliveriesAtOnce: DELIVERIES_AT_ONCE,
      deliveriesPerShare: DELIVERIES_PER_SHARE,
      slowAtOnce: SLOW_AT_ONCE,
      slowPerShare: SLOW_PER_SHARE,
      mayTake: () => !engineDown,
      log,
      async run(run, signal) {
        try {
          return await runJob(run, stages, signal);
        } catch (error) {
          // Thrown while the source was slow or before the first POST: no try has been made, and none is counted.
          if (error instanceof Busy) return { kind: "again", afterSeconds: BUSY_SECONDS, job: run.progress };
          throw error;
        }
      },
    });
  const worker = settings.role === "api" ? undefined : startWorking();

  return {
    submit: submitJob({ add: platform.queue.add, newId: newJobId, now }),
    publicKeys: () => signing?.publicKeys(),
    async stop(graceMs) {
      closing.abort();
      await worker?.stop(graceMs);
      await sender.close();
      signing?.[Symbol.dispose]();
    },
  };
}
