import type { AdminJob, AdminJobDetail } from "@lazaret/contract/admin";
import type { AccessStore } from "../access/access-store.ts";
import type { JobCard } from "../model/job-card.ts";
import type { Life } from "../model/life.ts";
import { DEFAULT_TENANT } from "../model/tenant.ts";
import type { DeadLetters } from "../queue/job-queue.ts";
import { buriedLife } from "../queue/run-life.ts";
import type { CallbackView } from "./callback-view.ts";
import { type JobStores, jobsFrom } from "./job-list.ts";
import { shownEntry, shownFinished } from "./shown.ts";

export interface DetailParts extends JobStores {
  deadLetters: Pick<DeadLetters, "show">;
  access: Pick<AccessStore, "read">;
  callbackOf: CallbackView;
}

/** A job as it was found, done or not. */
export interface FoundJob {
  shown: AdminJob;
  card: JobCard | undefined;
  life: Life | undefined;
}

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Tenants whose trace ids are asked for one by one; of the others, what a search finds. */
const MOST_TENANTS = 100;
const MOST_OTHERS = 100;

export async function findJob(
  { browser, history, deadLetters }: DetailParts,
  id: string,
): Promise<FoundJob | undefined> {
  const entry = await browser.show(id);
  if (entry) {
    const shown = shownEntry(entry);
    const letter = shown.state === "dead" ? await deadLetters.show(id) : undefined;
    if (!letter) return { shown, card: entry.job, life: entry.life };
    return { shown: { ...shown, reason: letter.reason }, card: entry.job, life: buriedLife(entry.life, letter) };
  }
  const finished = await history.show(id);
  return finished && { shown: shownFinished(finished), card: finished.job, life: finished.life };
}

/** By its id, or the newest of a trace id, whosever it is. */
export async function jobDetail(parts: DetailParts, asked: string): Promise<AdminJobDetail | undefined> {
  const byId = ID.test(asked) ? await findJob(parts, asked) : undefined;
  const traceId = byId ? byId.shown.trace_id : asked;
  const same = traceId === undefined ? [] : await jobsOfTrace(parts, traceId, byId?.shown.tenant);
  const newest = same[0];
  const found = byId ?? (newest && (await findJob(parts, newest.id)));
  if (!found) return undefined;
  const { shown, card, life } = found;
  const callback = card && (await parts.callbackOf(shown, card));
  return {
    ...shown,
    ...ofReport(card),
    header_names: card?.source.kind === "url" ? [...card.source.headerNames] : [],
    callback_header_names: [...(card?.callback?.headerNames ?? [])],
    life: [...(life?.steps ?? [])],
    life_left_out: life?.leftOut ?? 0,
    ...(callback && { callback }),
    can: whatCanBeDone(found),
    others: same
      .filter(({ id }) => id !== shown.id)
      .map(({ id, submitted_at, state }) => ({ id, submitted_at, state })),
  };
}

export function whatCanBeDone({ shown, card }: Pick<FoundJob, "shown" | "card">): AdminJobDetail["can"] {
  const isDead = shown.state === "dead" && card !== undefined;
  return {
    callback: isDead && card.report !== undefined && card.callback !== undefined,
    rescan: (isDead || shown.state === "done") && whyNoRescan({ shown, card }) === undefined,
    redrive: isDead,
  };
}

/** What is missing to fetch its file again. */
export function whyNoRescan({ shown, card }: Pick<FoundJob, "shown" | "card">): string | undefined {
  if (!card) return "the job cannot be read any more";
  if (card.source.kind === "object") return undefined;
  const { url, headerNames, headersGone = false } = card.source;
  if (headersGone) return "the headers it was fetched with were deleted after the scan";
  // A job that waits among the dead letters has the rest.
  if (shown.state === "dead") return undefined;
  if (url.endsWith("?…")) return "the query of its link is not kept once a job is done";
  return headerNames.length > 0 ? "the headers it was fetched with are not kept" : undefined;
}

function ofReport(card: JobCard | undefined): Partial<AdminJobDetail> {
  const { report, action } = card ?? {};
  if (!report) return {};
  const { verdict, sha256, downloadSeconds, scanSeconds, scannedBy } = report;
  return {
    ...(verdict.kind === "infected" && verdict.member !== undefined && { member: verdict.member }),
    ...(verdict.kind === "unscannable" && verdict.detail !== undefined && { detail: verdict.detail }),
    ...(verdict.kind !== "unscannable" && verdict.cached && { cached: true }),
    ...(sha256 !== undefined && { sha256 }),
    ...(scannedBy && { engine: scannedBy.engine }),
    ...(scannedBy?.signatures !== undefined && { signatures: scannedBy.signatures }),
    download_seconds: downloadSeconds,
    scan_seconds: scanSeconds,
    ...(action && { action }),
  };
}

/** Newest first. */
async function jobsOfTrace(parts: DetailParts, traceId: string, tenant: string | undefined): Promise<AdminJob[]> {
  const filter = { text: traceId, ...(tenant !== undefined && { tenant }) };
  const tenants = tenant === undefined ? await tenantsOf(parts) : [tenant];
  const [searched, ...ids] = await Promise.all([
    jobsFrom(parts, { filter, limit: MOST_OTHERS, places: {} }),
    ...tenants.map((each) => parts.history.ofTrace({ tenant: each, traceId })),
  ]);
  const jobs = new Map(searched.entries.filter(({ trace_id }) => trace_id === traceId).map((job) => [job.id, job]));
  for (const id of ids.flat().slice(0, MOST_OTHERS)) {
    if (jobs.has(id)) continue;
    const finished = await parts.history.show(id);
    if (finished) jobs.set(id, shownFinished(finished));
  }
  return [...jobs.values()].sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, MOST_OTHERS);
}

async function tenantsOf({ access }: DetailParts): Promise<string[]> {
  const { tenants, keys } = await access.read();
  const names = [DEFAULT_TENANT, ...tenants.map(({ name }) => name), ...keys.map(({ tenant }) => tenant)];
  return [...new Set(names)].slice(0, MOST_TENANTS);
}
