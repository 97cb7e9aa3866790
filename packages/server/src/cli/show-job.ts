import type { JobCard } from "../model/job-card.ts";
import type { Life, LifeStep } from "../model/life.ts";
import type { Report } from "../model/report.ts";
import { DEFAULT_TENANT } from "../model/tenant.ts";
import { statusOf } from "../model/verdict.ts";
import type { FinishedJob } from "../queue/job-history.ts";
import type { JobEntry, JobState } from "../queue/job-queue.ts";
import { buriedLife } from "../queue/run-life.ts";
import type { OperatorStore } from "./data-folder.ts";
import { inBytes, printable, table } from "./terminal/output.ts";

/** A job in whatever state, as `lazaret jobs show` has it. */
export type ShownJob = (JobEntry | (FinishedJob & { state: "done" })) & {
  /** Ids of other jobs of the same trace id. */
  others?: readonly string[];
};

/** What waits is in no order of trace ids: so many are looked at. */
const SEARCHED_PAGES = 25;
const PAGE = 200;

/** By its id, or the newest of a trace id. Undefined when there is none, or none any more. */
export async function findJob(
  store: Pick<OperatorStore, "browser" | "history" | "deadLetters">,
  name: string,
  tenant: string = DEFAULT_TENANT,
): Promise<ShownJob | undefined> {
  const byId = await jobOf(store, name);
  if (byId) return byId;
  const waiting = await waitingOf(store, name, tenant);
  const [newest, ...others] = [...waiting, ...(await store.history.ofTrace({ tenant, traceId: name }))]
    .sort()
    .reverse();
  const job = newest === undefined ? undefined : await jobOf(store, newest);
  return job && { ...job, ...(others.length > 0 && { others }) };
}

async function jobOf(
  { browser, history, deadLetters }: Pick<OperatorStore, "browser" | "history" | "deadLetters">,
  id: string,
): Promise<ShownJob | undefined> {
  const waiting = await browser.show(id);
  if (waiting?.state === "buried") {
    const letter = await deadLetters.show(id);
    return letter ? { ...waiting, life: buriedLife(waiting.life, letter) } : waiting;
  }
  if (waiting) return waiting;
  const finished = await history.show(id);
  return finished && { state: "done", ...finished };
}

async function waitingOf(
  { browser }: Pick<OperatorStore, "browser">,
  traceId: string,
  tenant: string,
): Promise<string[]> {
  const ids: string[] = [];
  let after: string | undefined;
  for (let page = 0; page < SEARCHED_PAGES; page += 1) {
    const { entries, next } = await browser.list({ limit: PAGE, ...(after !== undefined && { after }) });
    for (const { id, job } of entries) {
      if (job?.traceId === traceId && (job.tenant ?? DEFAULT_TENANT) === tenant) ids.push(id);
    }
    if (next === undefined) break;
    after = next;
  }
  return ids;
}

/** What it is, and what happened to it, for people. */
export function jobInWords(shown: ShownJob): string {
  const { id, state, job, life, others = [] } = shown;
  const facts: [string, string | undefined][] = [
    ["job", id],
    ["state", stateInWords(state)],
    ...(job ? factsOf(job) : [["content", "unreadable: the storage or its key was damaged"] as [string, string]]),
    ["others", others.length > 0 ? others.join(" ") : undefined],
  ];
  const width = Math.max(...facts.map(([name]) => name.length));
  const lines = facts.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name.padEnd(width)}  ${printable(value)}\n`],
  );
  return `${lines.join("")}${life && life.steps.length > 0 ? `\n${lifeInWords(life)}` : ""}`;
}

function stateInWords(state: JobState | "done"): string {
  const words = { ready: "queued", delayed: "waits for another try", leased: "under way", buried: "dead letter" };
  return state === "done" ? state : `${state}: ${words[state]}`;
}

function factsOf({ report, source, traceId, tenant, key, callback, action }: JobCard): [string, string | undefined][] {
  const said = report && { verdict: statusOf(report.verdict), ...report.verdict };
  const finding = said && "finding" in said ? ` ${said.finding}` : "";
  const member = said && "member" in said && said.member !== undefined ? ` in ${said.member}` : "";
  return [
    ["verdict", said && `${said.verdict}${finding}${member}`],
    ["source", source.kind === "url" ? source.url : `${source.bucket}/${source.key}`],
    ["size", report && inBytes(report.sizeBytes)],
    ["type", report?.verdict.fileType],
    ["sha256", report?.sha256],
    ["engine", engineOf(report)],
    ["trace id", traceId],
    ["tenant", key === undefined ? tenant : `${tenant}/${key}`],
    ["callback", callback?.url],
    ["action", action],
  ];
}

function engineOf({ scannedBy }: Partial<Report> = {}): string | undefined {
  return scannedBy?.signatures === undefined
    ? scannedBy?.engine
    : `${scannedBy.engine}, signatures ${scannedBy.signatures}`;
}

function lifeInWords({ steps, leftOut }: Life): string {
  const rows = steps.map(({ at, what, ms, attempt, status, detail }: LifeStep) => [
    new Date(at).toISOString(),
    what,
    attempt === undefined ? "" : `#${attempt}`,
    ms === undefined ? "" : what === "put_back" ? `for ${ms} ms` : `${ms} ms`,
    [status, detail].filter((word) => word !== undefined).join(" "),
  ]);
  const missing = leftOut > 0 ? `(${leftOut} steps between the first and the last ones are left out)\n` : "";
  return `${table(["AT", "WHAT", "TRY", "TOOK", "DETAIL"], rows)}${missing}`;
}
