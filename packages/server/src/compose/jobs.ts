import { randomUUID } from "node:crypto";
import { callbackSender } from "../deliver/callback.ts";
import { downloadScanResultEvent } from "../deliver/event-bus.ts";
import { downloadScanResult } from "../deliver/render.ts";
import { callbackSigner } from "../deliver/signature.ts";
import type { PublicKeys } from "../deliver/signing-keys.ts";
import type { AddressGuard } from "../fetch/address-guard.ts";
import { guardedConnector } from "../fetch/guarded-connector.ts";
import type { Log } from "../log.ts";
import { Busy, EngineUnavailable } from "../model/faults.ts";
import type { JobSource } from "../model/job.ts";
import type { Report } from "../model/report.ts";
import { type JobStages, runJob } from "../pipeline.ts";
import type { Platform } from "../platforms/platform.ts";
import { startWorker } from "../queue/worker.ts";
import { type SubmitJob, submitJob } from "../receive/submit-job.ts";
import type { Settings } from "../settings.ts";
import { version } from "../version.ts";

export interface JobsOptions {
  settings: Settings;
  platform: Platform;
  guard: AddressGuard;
  inspect(source: JobSource, signal: AbortSignal): Promise<Report>;
  jobsAtOnce: number;
  log: Log;
  now: () => number;
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

export interface Jobs {
  submit: SubmitJob;
  /** Undefined when callbacks are not signed. */
  publicKeys: PublicKeys | undefined;
  stop(graceMs: number): Promise<void>;
}

/** Deliveries cost a socket and a timer each; far more of them than scans can be under way. */
const DELIVERIES_AT_ONCE = 500;
/** So many POSTs wait for one receiver in this process; the jobs of the rest wait in the queue. */
const LONGEST_LINE = 32;
const BUSY_RECEIVER_SECONDS = 5;
/** How long jobs are left in the queue after the engine could not be reached. */
const ENGINE_PAUSE_MS = 2000;

/** The asynchronous half of the service: what takes jobs in, and what works them off. */
export async function startJobs(options: JobsOptions): Promise<Jobs> {
  const { settings, platform, guard, log, now } = options;
  const keys = settings.signCallbackInvocations ? await platform.signingKeys.load() : undefined;
  const sender = callbackSender({
    connector: (signal) => guardedConnector({ guard }, signal),
    version,
    log,
    now,
    longestLine: LONGEST_LINE,
    ...(keys && { sign: callbackSigner(keys.privateKey) }),
    ...(options.sleep && { sleep: options.sleep }),
  });
  let engineDownUntil = 0;

  const stages: JobStages = {
    reportEventBus: settings.reportEventBus,
    async inspect(source, signal) {
      try {
        return await options.inspect(source, signal);
      } catch (error) {
        if (error instanceof EngineUnavailable && !error.whileLooking) engineDownUntil = Date.now() + ENGINE_PAUSE_MS;
        throw error;
      }
    },
    async announce(job, callbackFailure) {
      if (!settings.reportEventBus) return;
      const detail = downloadScanResult(job, job.report, {
        downloadEndedAt: now(),
        ...(callbackFailure && { callbackFailure }),
      });
      const origin = { account: platform.account, region: platform.region, newId: randomUUID, now };
      await platform.eventBus.publish(downloadScanResultEvent(detail, origin));
    },
    async keep(job) {
      if (job.traceId === undefined) return;
      const submission = { traceId: job.traceId, jobId: job.id, submittedAt: job.submittedAt };
      await platform.results.keep(submission, job.report);
    },
    callBack: (job, signal) => sender.send(job, job.report, signal),
  };

  const worker = startWorker({
    queue: platform.queue,
    jobsAtOnce: options.jobsAtOnce,
    deliveriesAtOnce: DELIVERIES_AT_ONCE,
    mayTake: () => Date.now() >= engineDownUntil,
    log,
    async run(run, signal) {
      try {
        return await runJob(run, stages, signal);
      } catch (error) {
        // Thrown before the first POST: no try has been made, and none is counted.
        if (error instanceof Busy) return { kind: "again", afterSeconds: BUSY_RECEIVER_SECONDS, job: run.progress };
        throw error;
      }
    },
  });

  return {
    submit: submitJob({ expect: platform.results.expect, add: platform.queue.add, newId: randomUUID, now }),
    publicKeys: keys?.publicKeys,
    async stop(graceMs) {
      await worker.stop(graceMs);
      await sender.close();
    },
  };
}
