import { findings } from "@lazaret/contract";
import { type Acted, reportAfterAction } from "../deliver/act-on-object.ts";
import type { Delivery } from "../deliver/callback.ts";
import type { CallbackFailure } from "../deliver/callback-failures.ts";
import {
  afterEngineFault,
  afterFailedAction,
  afterFailedCallback,
  afterFailedDownload,
} from "../deliver/retry-policy.ts";
import { type MeasuredBytes, measured } from "../fetch/measured-bytes.ts";
import { EngineUnavailable } from "../model/faults.ts";
import type { Job, JobSource, ObjectAction, ScannedJob } from "../model/job.ts";
import { noteOf, type Report } from "../model/report.ts";
import { done, type Settlement } from "../model/settlement.ts";
import { type ObjectRef, type OpenedSource, type Source, SourceFailed } from "../model/source.ts";
import type { Verdict } from "../model/verdict.ts";
import type { JobRun } from "../queue/worker.ts";
import type { Admitted } from "../scan/admission.ts";
import type { Engine } from "../scan/engine.ts";

/**
 * The way of a file:
 *
 *   receive ─▶ queue ─▶ fetch ─▶ scan ─▶ deliver
 *
 * A synchronous scan walks it without the queue: receive → fetch → scan → answer. `inspect` is the middle of both,
 * `runJob` the whole of a queued one.
 */
export interface Stages {
  /** Opens a source. Throws `SourceFailed` when it cannot be read. */
  open(source: Source, signal: AbortSignal): Promise<OpenedSource>;
  engine: Engine;
  now(): number;
}

/** What a queued job needs besides: where its report goes. */
export interface JobStages {
  /** Leaves its place to others while the source is slow. Throws `Busy` when too many wait so already. */
  inspect(source: JobSource, place: JobRun["place"], signal: AbortSignal): Promise<Report>;
  /** Tags or deletes the object that was scanned. Throws when that cannot be done now. */
  act(object: ObjectRef, report: Report, options: { stale: boolean }): Promise<Acted>;
  /** Tags an object that could not be deleted. Never throws. */
  actInstead(object: ObjectRef, report: Report): Promise<ObjectAction>;
  /** Tells topic and event bus. Durable when it resolves; may tell the same again after a crash. */
  announce(job: ScannedJob, callbackFailure?: CallbackFailure): Promise<void>;
  /** Keeps the result for polling, if the job has a trace id. */
  keep(job: ScannedJob): Promise<void>;
  /** Keeps the fact that the callback finally failed, for whoever asks. */
  recordFailure(job: ScannedJob, failure: CallbackFailure): Promise<void>;
  callBack(job: ScannedJob, signal: AbortSignal): Promise<Delivery>;
  reportEventBus: boolean;
}

/**
 * The life of one queued job, top to bottom. A job that was put back after its scan carries its report, so that only
 * the delivery is repeated. Each step is durable before the next begins: a crash between two repeats the later one.
 */
export async function runJob(run: JobRun, stages: JobStages, signal: AbortSignal): Promise<Settlement> {
  const scanned = hasReport(run.job) ? run.job : await scanJob(run, stages);
  if (!hasReport(scanned)) return scanned;
  const told = scanned.told ? scanned : await tell(run, scanned, stages);
  if (!hasReport(told)) return told;
  if (!told.callback) return done;

  run.delivering();
  const delivery = await stages.callBack(told, signal);
  run.note({ delivered: delivery.delivered });
  if (delivery.delivered) return done;
  const next = afterFailedCallback(told, delivery.failure, stages);
  if (next.kind === "again") return next;
  await stages.recordFailure(told, delivery.failure);
  if (next.kind === "buried") return next;
  await stages.announce(told, next.failure);
  return done;
}

/** Fetches and scans; the report is saved before anything is done about it. */
async function scanJob(run: JobRun, stages: JobStages): Promise<ScannedJob | Settlement> {
  const { job, place, scanSignal } = run;
  let report: Report;
  try {
    report = await stages.inspect(job.source, place, scanSignal);
  } catch (error) {
    // What fails because we stop says nothing about the engine.
    if (scanSignal.aborted || !(error instanceof EngineUnavailable)) throw error;
    run.note({ error: error.message });
    const next = afterEngineFault(job, error);
    if (next.kind === "again") return next;
    report = { verdict: { kind: "unscannable", finding: findings.engineError }, ...NOT_LOOKED_AT };
  }
  if (scanSignal.aborted && report.failure) throw scanSignal.reason;
  run.note(noteOf(report));
  const retry = afterFailedDownload(job, report);
  if (retry.kind === "again") return retry;

  // An object may be deleted next, and could not be scanned again: its report must be safe before that.
  const scanned: ScannedJob = { ...job, source: withoutSecrets(job.source), report };
  if (job.source.kind === "object") await run.save(scanned);
  return scanned;
}

/** Acts on the object, keeps the result, and tells topic and bus; then notes that this is done. */
async function tell(run: JobRun, scanned: ScannedJob, stages: JobStages): Promise<ScannedJob | Settlement> {
  const told: ScannedJob = { ...scanned, told: true };
  if (scanned.source.kind === "object") {
    const acted = await actOn(run, scanned, stages);
    if ("kind" in acted) return acted;
    told.action = acted.action;
    told.report = reportAfterAction(scanned.report, acted);
    run.note({ ...noteOf(told.report), action: acted.action });
  }
  await stages.keep(told);
  // Not together: should telling fail and saving not, nobody would ever be told.
  await stages.announce(told);
  await run.save(told);
  return told;
}

/** A tag or delete that fails is tried again later, and at last given up. It never changes the verdict. */
async function actOn(
  run: JobRun,
  scanned: ScannedJob,
  stages: JobStages,
): Promise<Extract<Settlement, { kind: "again" }> | Acted> {
  const { source, report } = scanned;
  if (source.kind !== "object") return { action: "no", changed: false };
  try {
    // A report that this run did not make may be old: what was found since then stands.
    return await stages.act(source, report, { stale: hasReport(run.job) });
  } catch (error) {
    run.note({ error: error instanceof Error ? error.message : String(error) });
    const next = afterFailedAction(scanned);
    if (next.kind === "again") return { ...next };
    return { action: await stages.actInstead(source, report), changed: false };
  }
}

/** The headers may be credentials, and are not needed any more. */
function withoutSecrets(source: JobSource): JobSource {
  return source.kind === "url" ? { ...source, headers: {} } : source;
}

const NOT_LOOKED_AT = { sizeBytes: 0, downloadSeconds: 0, scanSeconds: 0 };

function hasReport(job: Job | Settlement): job is ScannedJob {
  return "report" in job && job.report !== undefined;
}

export interface InspectOptions {
  maxBytes: number;
  signal: AbortSignal;
  /** Lets the bytes through when they may be scanned; at once when there is no such thing. */
  admit?(bytes: AsyncIterable<Uint8Array>): Promise<Admitted>;
}

/** From a source to its report. A file that cannot be read or scanned is a report too; only faults are thrown. */
export async function inspect(source: Source, stages: Stages, options: InspectOptions): Promise<Report> {
  const { maxBytes, signal } = options;
  let admitted: Admitted | undefined;
  const started = stages.now();
  let opened: OpenedSource | undefined;
  let openedAt: number | undefined;
  let bytes: MeasuredBytes | undefined;

  const report = (verdict: Verdict): Report => {
    const ended = stages.now();
    const downloadMs = (openedAt ?? ended) - started + (bytes?.waitedMs ?? 0);
    const sizeBytes = (opened?.object && opened.announcedBytes) ?? bytes?.sizeBytes ?? 0;
    return {
      verdict,
      sizeBytes,
      ...(opened?.object && { object: opened.object }),
      downloadSeconds: downloadMs / 1000,
      scanSeconds: Math.max(0, ended - started - downloadMs) / 1000,
    };
  };

  try {
    opened = await stages.open(source, signal);
    openedAt = stages.now();
    bytes = measured(opened, { maxBytes, now: stages.now, signal });
    admitted = await options.admit?.(bytes);
    const shown = toTheEnd(admitted?.bytes ?? bytes);
    const verdict = await stages.engine.scan(shown.bytes, signal);
    // All of them have arrived, and it has seen all that arrived.
    if (verdict.kind === "clean" && !(bytes.complete && shown.complete)) {
      throw new EngineUnavailable("the engine answered clean before it had read every byte", { whileLooking: true });
    }
    return report(verdict);
  } catch (error) {
    if (!(error instanceof SourceFailed)) throw error;
    const { failure } = error;
    const failed = report({ kind: "unscannable", finding: failure.finding });
    return { ...failed, sizeBytes: failure.announcedBytes ?? failed.sizeBytes, failure };
  } finally {
    admitted?.leave();
    // An engine that fails before it reads leaves the source open. Not awaited: one that hangs would not come back.
    if (!bytes?.complete)
      void opened?.bytes[Symbol.asyncIterator]()
        .return?.()
        .catch(() => {});
  }
}

/** The same bytes, and whether they were read to their end. */
function toTheEnd(bytes: AsyncIterable<Uint8Array>): { bytes: AsyncIterable<Uint8Array>; readonly complete: boolean } {
  let complete = false;
  async function* read(): AsyncGenerator<Uint8Array> {
    yield* bytes;
    complete = true;
  }
  return {
    bytes: read(),
    get complete() {
      return complete;
    },
  };
}
