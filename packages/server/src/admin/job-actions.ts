import type { DeadLetters } from "../queue/job-queue.ts";
import type { SubmitJob } from "../receive/async-routes.ts";
import { Problem } from "../receive/problem.ts";
import type { ConsoleCaller } from "../receive/route.ts";
import { isStoreText } from "./asked.ts";
import { type DetailParts, type FoundJob, findJob, whatCanBeDone, whyNoRescan } from "./job-detail.ts";

export interface JobActionParts extends DetailParts {
  deadLetters: DetailParts["deadLetters"] & Pick<DeadLetters, "redrive">;
  submit: SubmitJob;
}

/** The job to look at next. */
interface Acted {
  id: string;
}

/** Only what a dead letter still has can be sent again: header values, custom data and queries of a job that is done are gone. */
export async function sendCallbackAgain(parts: JobActionParts, id: string, caller: ConsoleCaller): Promise<Acted> {
  const found = await existing(parts, id);
  if (!whatCanBeDone(found).callback) throw new Problem(409, ...whyNoCallback(found));
  await caller.record(id);
  await redriven(parts, id, "rest");
  return { id };
}

export async function rescan(parts: JobActionParts, id: string, caller: ConsoleCaller): Promise<Acted> {
  const found = await existing(parts, id);
  const { shown, card } = found;
  if (shown.state !== "dead" && shown.state !== "done") throw stillUnderWay();
  const why = whyNoRescan(found);
  if (why !== undefined || !card) {
    throw new Problem(409, "not_kept", { message: `it cannot be scanned again: ${why}`, hint: "submit it again" });
  }
  await caller.record(id);
  if (shown.state === "dead") {
    await redriven(parts, id, "whole");
    return { id };
  }
  // Nobody is called back, and no trace id is answered differently: an operator's look is no submission of the client's.
  const source = card.source.kind === "url" ? { kind: "url" as const, url: card.source.url, headers: {} } : card.source;
  const job = await parts.submit({ source, tenant: shown.tenant, key: caller.who });
  return { id: job.id };
}

async function existing(parts: JobActionParts, id: string): Promise<FoundJob> {
  const found = isStoreText(id) ? await findJob(parts, id) : undefined;
  if (found) return found;
  throw noSuchJob();
}

export function noSuchJob(): Problem {
  return new Problem(404, "not_found", {
    message: "there is no such job",
    hint: "jobs that are done are kept for LAZARET_HISTORY_HOURS",
  });
}

async function redriven({ deadLetters }: JobActionParts, id: string, what: "rest" | "whole"): Promise<void> {
  if ((await deadLetters.redrive([id], what)) === 0) throw stillUnderWay();
}

function whyNoCallback({ shown, card }: FoundJob): [string, { message: string; hint?: string }] {
  if (card && !card.callback) return ["no_callback", { message: "no callback was asked for" }];
  if (shown.state === "done") {
    return [
      "not_kept",
      {
        message: "the callback's header values and custom data are not kept once a job is done",
        hint: "submit it again",
      },
    ];
  }
  if (shown.state === "dead") {
    return ["no_report", { message: "it was given up before there was a report", hint: "scan it again instead" }];
  }
  const { code, message, hint } = stillUnderWay();
  return [code, { message, ...(hint !== undefined && { hint }) }];
}

function stillUnderWay(): Problem {
  return new Problem(409, "under_way", {
    message: "the job is under way, or waits for its next try",
    hint: "what is given up can be put back",
  });
}
