import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { findings } from "@lazaret/contract";
import {
  type Acted,
  type ActionPolicy,
  actOnObject,
  plannedAction,
  reportAfterAction,
} from "../deliver/act-on-object.ts";
import type { Announcer } from "../deliver/announce.ts";
import type { ObjectActions } from "../deliver/object-actions.ts";
import type { ObjectScan } from "../deliver/render.ts";
import type { ObjectReader } from "../fetch/object-reader.ts";
import { within } from "../flow/time-limit.ts";
import type { Log } from "../log.ts";
import { QueueUnavailable } from "../model/faults.ts";
import type { ObjectAction, ScannedJob } from "../model/job.ts";
import type { Report } from "../model/report.ts";
import { type ObjectRef, type ObjectSource, SourceFailed } from "../model/source.ts";
import type { Account } from "../model/tenant.ts";
import { ACT_TIMEOUT_MS, ANNOUNCE_TIMEOUT_MS } from "./limits.ts";
import { type Again, afterFailedAction, afterFailedActionNow, QUEUE_RETRY_MS } from "./retry-policy.ts";

/**
 * What follows the scan of an object, whoever asked for it:
 *
 *   job            report saved ─▶ act ─▶ keep the result ─▶ announce ─▶ saved as announced, or done
 *   scan that is   keep and announce a delete ─▶ act ─▶ keep and announce what else was done
 *   no job
 *
 * Nothing is deleted in silence. A job has its report saved before it acts: whoever takes it over after a crash acts again,
 * which changes nothing, and announces. A scan that is no job leaves nothing behind when it dies, and an object that was
 * deleted cannot be scanned again: so a delete is kept and announced before it is done. Whatever else is done is announced after it,
 * as only then it is known what was done, and to which object.
 *
 * Each try to act and each message has a time limit around the whole of it.
 */
async function finishObject<Later extends { kind: "again" }>(
  scan: Omit<ObjectScan, "action">,
  steps: ObjectSteps,
  manner: Manner<Later>,
): Promise<FinishedScan | Later> {
  const deletes = !manner.reportSaved && steps.planned(scan.report) === "delete";
  if (deletes) await manner.beforeAnnouncing?.({ kind: "finished", report: scan.report, action: "delete" });
  const early = deletes && scan.report.object !== undefined;
  if (early) await steps.announce({ ...scan, action: "delete" }, manner.signal);

  const acted = await act(scan, steps, manner);
  if (acted.kind === "again") return acted;
  const { action } = acted;
  const finished: FinishedScan = { kind: "finished", report: reportAfterAction(scan.report, acted), action };

  const foreseen = action === "delete";
  if (!(deletes && foreseen)) await manner.beforeAnnouncing?.(finished);
  const id = early ? `${scan.id} corrected` : scan.id;
  if (!(early && foreseen)) await steps.announce({ ...scan, id, report: finished.report, action }, manner.signal);
  return finished;
}

export interface FinishedScan {
  kind: "finished";
  /** After the action: that of an object which was replaced meanwhile is clean no more. */
  report: Report;
  action: ObjectAction;
}

/** In what the callers differ. */
interface Manner<Later> {
  /** Whoever takes over after a crash goes on from the report. */
  reportSaved: boolean;
  /** The report may be old: what was found since then stands. */
  stale: boolean;
  /** Ends it, and throws its reason. */
  signal?: AbortSignal;
  /** What follows when the object could not be tagged or deleted. */
  afterFailedAction(tries: number, error: unknown): { kind: "wait"; ms: number } | { kind: "given up" } | Later;
  /** Keeps what was found; once more when a delete that was to be done was not. */
  beforeAnnouncing?(finished: FinishedScan): Promise<void>;
}

/** A tag or delete that fails is tried again, now or later, and at last given up. It never changes the verdict. */
async function act<Later extends { kind: "again" }>(
  { object, report }: Pick<ObjectScan, "object" | "report">,
  steps: ObjectSteps,
  { stale, signal, afterFailedAction }: Manner<Later>,
): Promise<({ kind: "acted" } & Acted) | Later> {
  for (let tries = 1; ; tries += 1) {
    try {
      return { kind: "acted", ...(await steps.act(object, report, { stale, ...(signal && { signal }) })) };
    } catch (error) {
      signal?.throwIfAborted();
      const next = afterFailedAction(tries, error);
      if (next.kind === "again") return next;
      if (next.kind === "given up") {
        return { kind: "acted", action: await steps.actInstead(object, report, signal), changed: false };
      }
      await pause(next.ms);
    }
  }
}

export interface JobManner {
  /** The report was not made by this run. */
  stale: boolean;
  signal: AbortSignal;
  onFailedAction(error: unknown): void;
  /** Keeps the result. */
  beforeAnnouncing(finished: FinishedScan): Promise<void>;
}

/** For a job whose report is saved. Answers `again` for an action that is to be tried later. */
export function finishJobObject(
  job: ScannedJob & { source: ObjectSource },
  steps: ObjectSteps,
  { stale, signal, onFailedAction, beforeAnnouncing }: JobManner,
): Promise<FinishedScan | Again> {
  const { id, tenant, traceId, customData, source, report } = job;
  const own = onAccountOf(job, steps);
  const echoed = { ...(traceId !== undefined && { traceId }), ...(customData !== undefined && { customData }) };
  return finishObject({ id, tenant, ...echoed, object: source, report }, own, {
    reportSaved: true,
    stale,
    signal,
    beforeAnnouncing,
    afterFailedAction(_, error) {
      onFailedAction(error);
      return afterFailedAction(job);
    },
  });
}

export interface NowManner {
  steps: ObjectSteps;
  /** Keeps what was found. */
  keep(finished: Pick<FinishedScan, "report" | "action">): Promise<void>;
}

/** For a scan that is no job, whose client waits for the answer. Resolves when it is announced durably. */
export function finishScanNow(object: ObjectRef, report: Report, { steps, keep }: NowManner): Promise<FinishedScan> {
  return finishObject<never>({ id: randomUUID(), object, report }, steps, {
    reportSaved: false,
    stale: false,
    afterFailedAction: afterFailedActionNow,
    beforeAnnouncing: keep,
  });
}

export interface GuardManner extends NowManner {
  /** Called each time a result cannot be written down. */
  onQueueAway?: ((error: QueueUnavailable) => void) | undefined;
  sleep(ms: number, signal: AbortSignal): Promise<unknown>;
}

/** For an object of a guarded bucket: the same, however long it takes. A database that is locked is waited for. */
export async function finishGuardedObject(
  object: ObjectRef,
  report: Report,
  { onQueueAway, sleep, ...manner }: GuardManner,
  signal: AbortSignal,
): Promise<FinishedScan> {
  for (;;) {
    try {
      return await finishScanNow(object, report, manner);
    } catch (error) {
      if (!(error instanceof QueueUnavailable)) throw error;
      onQueueAway?.(error);
      await sleep(QUEUE_RETRY_MS, signal);
    }
  }
}

/** What can be done about an object, one by one. */
export interface ObjectSteps {
  planned(report: Report): ObjectAction;
  /** Tags or deletes it. Throws, and logs it, when that cannot be done now. */
  act(object: ObjectRef, report: Report, options: ActOptions): Promise<Acted>;
  /** What is left to do with an object that could not be deleted: it must not carry `clean`. Never throws. */
  actInstead(object: ObjectRef, report: Report, signal?: AbortSignal): Promise<ObjectAction>;
  /** To topic and event bus. Durable when it resolves; may announce the same again after a crash. */
  announce(scan: ObjectScan, signal?: AbortSignal): Promise<void>;
}

interface ActOptions {
  stale: boolean;
  account?: Account;
  signal?: AbortSignal;
}

/** The same, and the log says whose it was. */
export function onAccountOf({ tenant, key }: Account, steps: ObjectSteps): ObjectSteps {
  const account = { tenant, key };
  return { ...steps, act: (object, report, options) => steps.act(object, report, { ...options, account }) };
}

export interface ObjectStepsOptions {
  objects: ObjectActions & Pick<ObjectReader, "open">;
  announcer: Pick<Announcer, "objectScan">;
  policy: ActionPolicy;
  log: Log;
  /** For one try to act. */
  actTimeoutMs?: number;
  announceTimeoutMs?: number;
}

/** With these there is nothing to act on. */
const NOT_THERE: readonly string[] = [findings.objectNotFound, findings.objectAccessDenied];

export function objectSteps(options: ObjectStepsOptions): ObjectSteps {
  const { objects, announcer, policy, log } = options;
  const { actTimeoutMs = ACT_TIMEOUT_MS, announceTimeoutMs = ANNOUNCE_TIMEOUT_MS } = options;
  const planned = ({ verdict }: Report): ObjectAction => plannedAction(verdict, policy);

  /** A scan that was given up knows no version; what is not clean may be said of the one that is there now. */
  async function withVersion(
    object: ObjectRef & Pick<ObjectSource, "closed">,
    report: Report,
    signal: AbortSignal,
  ): Promise<Report> {
    const { verdict } = report;
    if (report.object || verdict.kind === "clean" || NOT_THERE.includes(verdict.finding)) return report;
    // What the store said was about another name: its own must not even be asked for.
    if (object.closed) return report;
    try {
      const { object: seen, bytes } = await objects.open(object, signal);
      await bytes[Symbol.asyncIterator]().return?.();
      return { ...report, object: seen };
    } catch (error) {
      if (error instanceof SourceFailed) return report;
      throw error;
    }
  }

  return {
    planned,
    announce: (scan, signal) => within(announceTimeoutMs, () => announcer.objectScan(scan), signal),
    async act(object, report, { stale, account, signal }) {
      const tryToAct = async (signal: AbortSignal): Promise<Acted> =>
        actOnObject(await withVersion(object, report, signal), { actions: objects, policy, stale, signal });
      try {
        return await within(actTimeoutMs, tryToAct, signal);
      } catch (error) {
        signal?.throwIfAborted();
        const { message, cause } = error instanceof Error ? error : new Error(String(error));
        const why = cause instanceof Error ? `: ${cause.message}` : "";
        log.error("object_action", { bucket: object.bucket, ...account, error: `${message}${why}` });
        throw error;
      }
    },
    async actInstead(object, report, signal) {
      if (planned(report) !== "delete" || !policy.tagFiles) return "no";
      const tagging = { actions: objects, policy: { ...policy, deleteInfectedFiles: false }, stale: false };
      const tryToTag = async (signal: AbortSignal): Promise<Acted> =>
        actOnObject(await withVersion(object, report, signal), { ...tagging, signal });
      const acted = await within(actTimeoutMs, tryToTag, signal).catch(() => undefined);
      return acted?.action ?? "no";
    },
  };
}
