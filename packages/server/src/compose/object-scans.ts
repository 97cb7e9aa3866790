import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { type ActionPolicy, actOnObject } from "../deliver/act-on-object.ts";
import type { Announcer } from "../deliver/announce.ts";
import type { ObjectActions } from "../deliver/object-actions.ts";
import type { Log } from "../log.ts";
import type { ObjectAction } from "../model/job.ts";
import type { Report } from "../model/report.ts";
import type { ObjectRef } from "../model/source.ts";

/** What follows the scan of an object, whoever asked for it. */
export interface ObjectScans {
  /** Tags or deletes it. Throws, and tells the log, when that cannot be done now. */
  act(report: Report): Promise<ObjectAction>;
  /** For a scan that is no job: acts, with a few tries, and tells topic and bus. Resolves when that is durable. */
  finish(object: ObjectRef, report: Report): Promise<ObjectAction>;
}

/** Between the tries of a scan that is no job, whose client waits for the answer. */
const PAUSES_MS = [250, 500];

export function objectScans(options: {
  actions: ObjectActions;
  announcer: Pick<Announcer, "objectScan">;
  policy: ActionPolicy;
  log: Log;
}): ObjectScans {
  const { actions, announcer, policy, log } = options;

  async function act(report: Report): Promise<ObjectAction> {
    try {
      return await actOnObject(report, actions, policy);
    } catch (error) {
      const { bucket } = report.object ?? {};
      log.error("object_action", { bucket, error: error instanceof Error ? error.message : String(error) });
      throw error;
    }
  }

  async function actNow(report: Report): Promise<ObjectAction> {
    for (const ms of PAUSES_MS) {
      const action = await act(report).catch(() => undefined);
      if (action) return action;
      await pause(ms);
    }
    return act(report).catch(() => "no");
  }

  return {
    act,
    async finish(object, report) {
      const action = await actNow(report);
      await announcer.objectScan({ id: randomUUID(), object, report, action });
      return action;
    },
  };
}
