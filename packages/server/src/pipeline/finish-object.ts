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
import type { ObjectReader } from "../fetch/object-reader.ts";
import type { Log } from "../log.ts";
import type { ObjectAction } from "../model/job.ts";
import type { Report } from "../model/report.ts";
import { type ObjectRef, SourceFailed } from "../model/source.ts";

/** What follows the scan of an object, whoever asked for it. */
export interface ObjectScans {
  /** Tags or deletes it. Throws, and tells the log, when that cannot be done now. */
  act(object: ObjectRef, report: Report, options: { stale: boolean }): Promise<Acted>;
  /** What is left to do with an object that could not be deleted: it must not carry `clean`. Never throws. */
  actInstead(object: ObjectRef, report: Report): Promise<ObjectAction>;
  /** For a scan that is no job: acts, with a few tries, and tells topic and bus. Resolves when that is durable. */
  finish(object: ObjectRef, report: Report): Promise<FinishedScan>;
}

interface FinishedScan {
  /** As it stands: that of an object which was replaced meanwhile is clean no more. */
  report: Report;
  action: ObjectAction;
}

export interface ObjectScansOptions {
  objects: ObjectActions & Pick<ObjectReader, "open">;
  announcer: Pick<Announcer, "objectScan">;
  policy: ActionPolicy;
  log: Log;
}

/** Between the tries of a scan that is no job, whose client waits for the answer. */
const PAUSES_MS = [250, 500];
const OPEN_TIMEOUT_MS = 15_000;
/** With these there is nothing to act on. */
const NOT_THERE: readonly string[] = [findings.objectNotFound, findings.objectAccessDenied];

export function objectScans({ objects, announcer, policy, log }: ObjectScansOptions): ObjectScans {
  async function act(object: ObjectRef, report: Report, { stale }: { stale: boolean }): Promise<Acted> {
    try {
      return await actOnObject(await opened(object, report), { actions: objects, policy, stale });
    } catch (error) {
      const { message, cause } = error instanceof Error ? error : new Error(String(error));
      const why = cause instanceof Error ? `: ${cause.message}` : "";
      log.error("object_action", { bucket: object.bucket, error: `${message}${why}` });
      throw error;
    }
  }

  /** A scan that was given up tells no version; what is not clean may be said of the one that is there now. */
  async function opened(object: ObjectRef, report: Report): Promise<Report> {
    const { verdict } = report;
    if (report.object || verdict.kind === "clean" || NOT_THERE.includes(verdict.finding)) return report;
    try {
      const { object: seen, bytes } = await objects.open(object, AbortSignal.timeout(OPEN_TIMEOUT_MS));
      await bytes[Symbol.asyncIterator]().return?.();
      return { ...report, object: seen };
    } catch (error) {
      if (error instanceof SourceFailed) return report;
      throw error;
    }
  }

  async function actInstead(object: ObjectRef, report: Report): Promise<ObjectAction> {
    if (plannedAction(report.verdict, policy) !== "delete" || !policy.tagFiles) return "no";
    const tagging = { actions: objects, policy: { ...policy, deleteInfectedFiles: false }, stale: false };
    const acted = await opened(object, report)
      .then((seen) => actOnObject(seen, tagging))
      .catch(() => undefined);
    return acted?.action ?? "no";
  }

  async function actNow(object: ObjectRef, report: Report): Promise<Acted> {
    for (const ms of [...PAUSES_MS, undefined]) {
      const acted = await act(object, report, { stale: false }).catch(() => undefined);
      if (acted) return acted;
      if (ms !== undefined) await pause(ms);
    }
    return { action: await actInstead(object, report), changed: false };
  }

  return {
    act,
    actInstead,
    async finish(object, report) {
      const id = randomUUID();
      // Told before it is done: who dies in between scans the object again, and nothing is deleted in silence.
      const early = plannedAction(report.verdict, policy) === "delete" && report.object !== undefined;
      if (early) await announcer.objectScan({ id, object, report, action: "delete" });
      const acted = await actNow(object, report);
      const standing = reportAfterAction(report, acted);
      const toldSo = early && acted.action === "delete";
      const again = early ? `${id} corrected` : id;
      if (!toldSo) await announcer.objectScan({ id: again, object, report: standing, action: acted.action });
      return { report: standing, action: acted.action };
    },
  };
}
