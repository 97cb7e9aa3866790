import { findings } from "@lazaret/contract";
import type { ObjectAction } from "../model/job.ts";
import type { Report } from "../model/report.ts";
import { statusOf, type Verdict } from "../model/verdict.ts";
import type { ObjectActions } from "./object-actions.ts";

export interface ActionPolicy {
  deleteInfectedFiles: boolean;
  tagFiles: boolean;
  tagKey: string;
}

export interface Acted {
  action: ObjectAction;
  /** The object is gone, or is another than the one that was scanned. */
  changed: boolean;
}

/** Infected, and such are to be deleted: delete. Else tag. */
export function plannedAction(verdict: Verdict, policy: ActionPolicy): ObjectAction {
  if (verdict.kind === "infected" && policy.deleteInfectedFiles) return "delete";
  return policy.tagFiles ? "tag" : "no";
}

export interface ActOptions {
  actions: ObjectActions;
  policy: ActionPolicy;
  /** The scan was a while ago: what a later one found stands. */
  stale: boolean;
  signal?: AbortSignal;
}

/**
 * Deletes or tags the version that was scanned, and answers what was done. An object that could not be opened, or is
 * another by now, is left alone. Throws when the store cannot be reached or forbids it.
 */
export async function actOnObject(report: Report, { actions, policy, stale, signal }: ActOptions): Promise<Acted> {
  const planned = plannedAction(report.verdict, policy);
  if (!report.object || planned === "no") return { action: "no", changed: false };
  const value = statusOf(report.verdict);
  const outcome =
    planned === "delete"
      ? await actions.delete(report.object, signal)
      : await actions.tag(
          report.object,
          { key: policy.tagKey, value, ...(stale && value === "clean" && { over: value }) },
          signal,
        );
  return { action: outcome === "done" ? planned : "no", changed: outcome === "changed" };
}

/**
 * What stands when the object is another than the one that was scanned. Where nothing but its name says which one is
 * meant, clean would be read as a word about the one that is there now.
 */
export function reportAfterAction(report: Report, { changed }: Acted): Report {
  const named = report.object?.version !== undefined && !report.object.unversioned;
  if (!changed || report.verdict.kind !== "clean" || named) return report;
  const failure = {
    finding: findings.downloadFailed,
    code: "object_changed",
    message: "the object was replaced while it was scanned",
    passing: false,
  };
  const { fileType } = report.verdict;
  const verdict = {
    kind: "unscannable",
    finding: failure.finding,
    ...(fileType !== undefined && { fileType }),
  } as const;
  return { ...report, verdict, failure };
}
