import type { ObjectAction } from "../model/job.ts";
import type { Report } from "../model/report.ts";
import { statusOf, type Verdict } from "../model/verdict.ts";
import type { ObjectActions } from "./object-actions.ts";

export interface ActionPolicy {
  deleteInfectedFiles: boolean;
  tagFiles: boolean;
  tagKey: string;
}

/** Infected, and such are to be deleted: delete. Else tag. */
export function plannedAction(verdict: Verdict, policy: ActionPolicy): ObjectAction {
  if (verdict.kind === "infected" && policy.deleteInfectedFiles) return "delete";
  return policy.tagFiles ? "tag" : "no";
}

/**
 * Deletes or tags the version that was scanned, and answers what was done. An object that could not be opened, or is
 * another by now, is left alone. Throws when the store cannot be reached or forbids it.
 */
export async function actOnObject(report: Report, actions: ObjectActions, policy: ActionPolicy): Promise<ObjectAction> {
  const planned = plannedAction(report.verdict, policy);
  if (!report.object || planned === "no") return "no";
  const outcome =
    planned === "delete"
      ? await actions.delete(report.object)
      : await actions.tag(report.object, { key: policy.tagKey, value: statusOf(report.verdict) });
  return outcome === "done" ? planned : "no";
}
