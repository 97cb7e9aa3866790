import type { Announcer } from "../deliver/announce.ts";
import type { CallbackSender } from "../deliver/callback.ts";
import type { CallbackFailures } from "../deliver/callback-failures.ts";
import { failedCallback } from "../deliver/render.ts";
import type { ResultStore } from "../deliver/result-store.ts";
import { within } from "../flow/time-limit.ts";
import { Busy } from "../model/faults.ts";
import { type JobSource, type ScannedJob, traceOf } from "../model/job.ts";
import { noteOf, type Report } from "../model/report.ts";
import type { Settlement } from "../model/settlement.ts";
import { statusOf } from "../model/verdict.ts";
import type { NewStep } from "../queue/run-life.ts";
import type { JobRun } from "../queue/worker.ts";
import { inSpan } from "../traces/spans.ts";
import { finishJobObject, type ObjectSteps } from "./finish-object.ts";
import { type InspectOptions, inspect, type Stages, tryToInspect } from "./inspect.ts";
import type { KeepFinding } from "./keep-finding.ts";
import { ANNOUNCE_TIMEOUT_MS } from "./limits.ts";
import { afterFailedCallback } from "./retry-policy.ts";
import { admitAlone, type TrialParts } from "./trial.ts";

/**
 * The way of a file:
 *
 *   receive ─▶ queue ─▶ fetch ─▶ scan ─▶ deliver
 *
 * A synchronous scan walks it without the queue: receive → fetch → scan → answer. `inspect` is the middle of both,
 * `runJob` the whole of a queued one.
 *
 * Each step is durable before the next begins: a crash between two repeats the later one. A job that was put back after its
 * scan carries its report, so that only the delivery is repeated.
 */
export async function runJob(run: JobRun, stages: JobStages, signal: AbortSignal): Promise<Settlement> {
  const scanned = await scan(run, stages);
  if (scanned.kind === "settled") return scanned.settlement;
  const finished = await inSpan(run.span?.child("finish"), () => finish(run, scanned.job, stages, signal));
  if (finished.kind === "settled") return finished.settlement;
  const { job } = finished;
  if (!job.callback) return { kind: "done", job };
  return callBack(run, job, stages, signal);
}

/** What a queued job needs: the middle of its scan, and where its report goes. */
export interface JobStages {
  scan: Stages;
  limits: Pick<InspectOptions, "maxBytes" | "maxSeconds">;
  /** For suspects. */
  trials: TrialParts;
  /** Called when the engine could not be asked at all. */
  onEngineAway?(): void;
  objects: ObjectSteps;
  announcer: Pick<Announcer, "downloadScan">;
  results: Pick<ResultStore, "keep">;
  keepFinding: KeepFinding;
  callbacks: Pick<CallbackSender, "send">;
  callbackFailures: Pick<CallbackFailures, "record">;
  reportEventBus: boolean;
  now(): number;
}

/** What a step leads to: to the next one, or out of the run. */
type Step = { kind: "go on"; job: ScannedJob } | { kind: "settled"; settlement: Settlement };

const settled = (settlement: Settlement): Step => ({ kind: "settled", settlement });

/** Fetches and scans, unless an earlier run has. */
async function scan(run: JobRun, stages: JobStages): Promise<Step> {
  const { job, place, scanSignal } = run;
  const { report } = job;
  if (report) return { kind: "go on", job: { ...job, report } };
  // Of a suspect, until its report is safe: whoever is next may kill the process, and it would answer for that.
  using turn = run.suspect ? new DisposableStack() : undefined;
  const tried = await tryToInspect(job, {
    // Leaves its place to others while the source is slow; throws `Busy` when too many wait so already.
    inspect: () => {
      const maxBytes = Math.min(job.maxBytes ?? Number.POSITIVE_INFINITY, stages.limits.maxBytes);
      const options = { ...stages.limits, maxBytes, account: job, place, signal: scanSignal, span: run.span };
      if (!turn) return inspect(job.source, stages.scan, options);
      const { engine } = stages.trials;
      const admit = admitAlone(run, stages.trials, turn);
      return inspect(job.source, { ...stages.scan, engine }, { ...options, admit });
    },
    onEngineFault({ message, whileScanning }) {
      run.note({ error: message });
      run.record({ what: "scanned", detail: `no verdict: ${message}` });
      if (!whileScanning) stages.onEngineAway?.();
    },
    onReport(made) {
      run.note(noteOf(made));
      for (const step of stepsOf(made, stages.now())) run.record(step);
    },
    signal: scanSignal,
  });
  if (tried.kind === "again") return settled(tried);
  stages.scan.meter?.verdict("async", job.source.kind, tried.report.verdict.kind);

  // An object may be deleted next, and could not be scanned again: its report must be safe before that.
  const scanned: ScannedJob = { ...job, source: withoutSecrets(job.source), report: tried.report };
  if (job.source.kind === "object" || run.suspect) await run.save(scanned);
  return { kind: "go on", job: scanned };
}

/** The two things that were done for a report, as steps of the job's life. */
function stepsOf({ verdict, failure, downloadSeconds, scanSeconds }: Report, now: number): NewStep[] {
  const scanMs = Math.round(scanSeconds * 1000);
  const downloaded = { what: "downloaded", at: now - scanMs, ms: Math.round(downloadSeconds * 1000) } as const;
  if (failure) return [{ ...downloaded, detail: failure.code }];
  const finding = verdict.kind === "clean" ? "" : ` ${verdict.finding}`;
  return [downloaded, { what: "scanned", ms: scanMs, detail: `${statusOf(verdict)}${finding}` }];
}

/** The headers may be credentials, and are not needed any more. */
function withoutSecrets(source: JobSource): JobSource {
  if (source.kind !== "url") return source;
  const names = Object.keys(source.headers);
  return { ...source, headers: {}, ...(names.length > 0 && { deletedHeaders: names }) };
}

/** Acts on an object, keeps the result and announces it; then saves that this is done, if more is to come. */
async function finish(run: JobRun, scanned: ScannedJob, stages: JobStages, signal: AbortSignal): Promise<Step> {
  if (scanned.told) return { kind: "go on", job: scanned };
  const { source } = scanned;
  // Its report is saved: it may be put back, and leave its place to others while a store of its tenant is slow.
  if (!run.scanned() && source.kind === "object") throw new Busy("too many objects are tagged or deleted already");
  const announced: ScannedJob = { ...scanned, told: true };
  if (source.kind === "object") {
    const finished = await finishJobObject({ ...scanned, source }, stages.objects, {
      stale: run.job.report !== undefined,
      signal,
      onFailedAction(error) {
        run.note({ error: error instanceof Error ? error.message : String(error) });
        run.record({ what: "acted", detail: "failed" });
      },
      async beforeAnnouncing({ report, action }) {
        run.note({ ...noteOf(report), action });
        run.record({ what: "acted", detail: action });
        await keep(run, { ...scanned, report, action }, stages);
      },
    });
    if (finished.kind === "again") return settled(finished);
    announced.action = finished.action;
    announced.report = finished.report;
  } else {
    await keep(run, scanned, stages);
    await within(ANNOUNCE_TIMEOUT_MS, () => stages.announcer.downloadScan(announced), signal);
  }
  run.record({ what: "told" });
  // Not together with announcing: should that fail and saving not, nobody would ever hear of it. Who wants no callback is done,
  // and settled next: to be saved before that would be one more commit for the same.
  if (announced.callback) await run.save(announced);
  return { kind: "go on", job: announced };
}

/** For polling, which is by the trace id; and for whoever asks later what was found. */
async function keep({ record }: JobRun, job: ScannedJob, stages: JobStages): Promise<void> {
  const { id, source, report, traceId, action, submittedAt } = job;
  const trace = traceOf(job);
  await Promise.all([
    trace && stages.results.keep({ ...trace, jobId: id, submittedAt }, report),
    stages.keepFinding({ id, account: job, source, report, traceId, jobId: id, action }),
  ]);
  if (trace) record({ what: "kept" });
}

/** One invocation, and what follows when it fails. */
async function callBack(run: JobRun, job: ScannedJob, stages: JobStages, signal: AbortSignal): Promise<Settlement> {
  run.delivering();
  const delivery = await stages.callbacks.send(job, job.report, signal, {
    onPost: ({ code, ...post }) =>
      run.record({ what: "callback", ...post, ...(code !== undefined && { detail: code }) }),
    span: run.span,
  });
  run.note({ delivered: delivery.delivered });
  if (delivery.delivered) return { kind: "done", job };
  const next = afterFailedCallback(job, delivery.failure, stages);
  if (next.kind === "again") return next;
  await stages.callbackFailures.record(failedCallback(job, delivery.failure, stages.now()));
  if (next.kind === "buried") return next;
  await stages.announcer.downloadScan(job, next.failure);
  run.record({ what: "told", detail: next.failure.code });
  return { kind: "done", job };
}
