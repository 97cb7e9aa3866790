import type { AdminJob, AdminPage, JobStateName, Verdict } from "@lazaret/contract/admin";
import type { JobHistory } from "../queue/job-history.ts";
import type { JobBrowser, JobState } from "../queue/job-queue.ts";
import { choiceIn, cursorIn, cursorOf, invalidCursor, limitIn, present, textIn, timeIn } from "./asked.ts";
import { fitsText, shownEntry, shownFinished } from "./shown.ts";

/**
 * One list over two stores: jobs that are not done, and those that are. Both are read newest first, and merged by id, as ids are in the
 * order of time. A job that ends while somebody turns pages is in the other store then, and in the same place of the list.
 */
export interface JobStores {
  browser: JobBrowser;
  history: JobHistory;
}

const states: Record<Exclude<JobStateName, "done">, JobState> = {
  queued: "ready",
  under_way: "leased",
  retrying: "delayed",
  dead: "buried",
};
const STATE_NAMES: readonly JobStateName[] = ["queued", "under_way", "retrying", "done", "dead"];
/** Rows of a store that are read for one page of an answer; what fits may be rare among them. */
const ROWS_AT_ONCE = 200;
const MOST_READS = 10;
/** The history reads on by itself, until it has found some or has read many. */
const MOST_READS_OF_DONE = 2;

interface JobFilter {
  state?: JobStateName;
  verdict?: Verdict;
  source?: "url" | "object";
  key?: string;
  tenant?: string;
  since?: number;
  until?: number;
  text?: string;
}

export function filterIn(query: URLSearchParams): JobFilter {
  return present({
    state: choiceIn(query, "state", STATE_NAMES),
    verdict: choiceIn(query, "verdict", ["clean", "infected", "no"]),
    source: choiceIn(query, "source", ["url", "object"]),
    key: textIn(query, "key"),
    tenant: textIn(query, "tenant"),
    since: timeIn(query, "since"),
    until: timeIn(query, "until"),
    text: textIn(query, "q"),
  });
}

export async function listJobs(stores: JobStores, query: URLSearchParams): Promise<AdminPage<AdminJob>> {
  const places = cursorIn(query, placesIn) ?? {};
  const { entries, next } = await jobsFrom(stores, { filter: filterIn(query), limit: limitIn(query), places });
  return { entries, ...(next && { next: cursorOf(next) }) };
}

/** In each store: read on from the page `after`, behind the job `last`; nothing when it was read to its end. */
export interface Places {
  open?: Place | "end";
  done?: Place | "end";
}

interface Place {
  after?: string;
  last?: string;
}

function placesIn(value: Readonly<Record<string, unknown>>): Places | undefined {
  const open = placeIn(value.open);
  const done = placeIn(value.done);
  return open && done ? { open, done } : undefined;
}

function placeIn(value: unknown): Place | "end" | undefined {
  if (value === "end") return value;
  if (typeof value !== "object" || value === null) return undefined;
  const { after, last } = value as Record<string, unknown>;
  const areTexts = [after, last].every((each) => each === undefined || typeof each === "string");
  return areTexts ? (present({ after, last }) as Place) : undefined;
}

export interface Reading {
  filter: JobFilter;
  limit: number;
  places: Places;
}

export async function jobsFrom(
  stores: JobStores,
  { filter, limit, places }: Reading,
): Promise<{ entries: AdminJob[]; next: Places | undefined }> {
  const { state } = filter;
  const start: Place = {};
  const [open, done] = await Promise.all([
    readOn(openJobs(stores.browser, filter), state === "done" ? "end" : (places.open ?? start), {
      filter,
      limit,
      mostReads: MOST_READS,
    }),
    readOn(doneJobs(stores.history, filter), state === undefined || state === "done" ? (places.done ?? start) : "end", {
      filter,
      limit,
      mostReads: MOST_READS_OF_DONE,
    }),
  ]);
  // Below where one store was not read yet, the other has nothing to say.
  const floor = [open.reached, done.reached].sort().at(-1) ?? "";
  const merged = [...open.rows, ...done.rows]
    .filter(({ job }) => job.id >= floor)
    .sort((one, other) => (one.job.id < other.job.id ? 1 : -1))
    .slice(0, limit);
  const shown = new Set(merged);
  const next = { open: placeBehind(open, shown), done: placeBehind(done, shown) };
  const isOver = next.open === "end" && next.done === "end";
  return { entries: merged.map(({ job }) => job), next: isOver ? undefined : next };
}

interface Row {
  job: AdminJob;
  place: Place;
}

interface Read {
  rows: Row[];
  began: Place | "end";
  /** Where to go on behind all rows. */
  rest: Place | "end";
  /** The id down to which all is known; empty at the end of the store. */
  reached: string;
}

function placeBehind({ rows, began, rest }: Read, shown: ReadonlySet<Row>): Place | "end" {
  const last = rows.findLastIndex((row) => shown.has(row));
  if (last === rows.length - 1) return rest;
  return rows[last]?.place ?? began;
}

interface StorePage {
  jobs: AdminJob[];
  next: string | undefined;
}

type ReadPage = (limit: number, after: string | undefined) => Promise<StorePage>;

async function readOn(
  read: ReadPage,
  began: Place | "end",
  { filter, limit, mostReads }: Pick<Reading, "filter" | "limit"> & { mostReads: number },
): Promise<Read> {
  const rows: Row[] = [];
  if (began === "end") return { rows, began, rest: "end", reached: "" };
  let { after, last } = began;
  let reached = last ?? "\uffff";
  for (let reads = 0; reads < mostReads; reads += 1) {
    const page = await read(ROWS_AT_ONCE, after);
    for (const job of behind(page.jobs, last)) {
      reached = job.id;
      last = job.id;
      if (filter.since !== undefined && job.submitted_at < filter.since) {
        return { rows, began, rest: "end", reached: "" };
      }
      if (!fits(job, filter)) continue;
      rows.push({ job, place: present({ after, last }) });
      if (rows.length === limit) return { rows, began, rest: present({ after, last }), reached };
    }
    if (page.next === undefined) return { rows, began, rest: "end", reached: "" };
    after = page.next;
  }
  return { rows, began, rest: present({ after, last }), reached };
}

/** The job that was shown last may be in the other store by now. */
function behind(jobs: readonly AdminJob[], last: string | undefined): readonly AdminJob[] {
  if (last === undefined) return jobs;
  const at = jobs.findIndex(({ id }) => id === last);
  return at === -1 ? jobs.filter(({ id }) => id < last) : jobs.slice(at + 1);
}

function openJobs(browser: JobBrowser, { state }: JobFilter): ReadPage {
  const wanted = state && state !== "done" ? { state: states[state] } : {};
  return async (limit, after) => {
    const { entries, next } = await browser.list({ limit, ...present({ after }), ...wanted });
    return { jobs: entries.map(shownEntry), next };
  };
}

function doneJobs(history: JobHistory, { since, until, tenant, verdict, text }: JobFilter): ReadPage {
  return async (limit, after) => {
    const page = await history.list({ limit, ...present({ after, since, until, tenant, verdict, text }) });
    if (!page) throw invalidCursor();
    return { jobs: page.entries.map(shownFinished), next: page.next };
  };
}

function fits(job: AdminJob, { verdict, source, key, tenant, until, text }: JobFilter): boolean {
  if (verdict !== undefined && job.verdict !== verdict) return false;
  if (source !== undefined && job.source.kind !== source) return false;
  if (key !== undefined && job.key !== key) return false;
  if (tenant !== undefined && job.tenant !== tenant) return false;
  if (until !== undefined && job.submitted_at >= until) return false;
  return text === undefined || fitsText(job, text);
}
