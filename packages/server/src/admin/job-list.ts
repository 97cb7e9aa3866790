import type { AdminJob, AdminPage, JobStateName, Verdict } from "@lazaret/contract/admin";
import type { JobHistory } from "../queue/job-history.ts";
import type { JobBrowser, JobState } from "../queue/job-queue.ts";
import { choiceIn, cursorIn, cursorOf, invalidCursor, isStoreText, limitIn, present, textIn, timeIn } from "./asked.ts";
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

/** What was written later may have been submitted earlier, by another clock. */
const OUT_OF_ORDER_MS = 60_000;

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

/** Where to read on in each store. */
export interface Places {
  open?: Place;
  done?: Place;
}

/** From the page `after` of the store on, behind the job `last`. */
interface Place {
  after?: string;
  last?: string;
}

function placesIn(value: Readonly<Record<string, unknown>>): Places | undefined {
  const open = placeIn(value.open);
  const done = placeIn(value.done);
  return open && done ? { open, done } : undefined;
}

function placeIn(value: unknown): Place | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { after, last } = value as Record<string, unknown>;
  const areTexts = [after, last].every((each) => each === undefined || isStoreText(each));
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
  const [open, done] = await Promise.all([
    state === "done"
      ? nothing
      : readOn(openJobs(stores.browser, filter), places.open ?? {}, {
          filter,
          limit,
          mostReads: MOST_READS,
          byId: false,
        }),
    state === undefined || state === "done"
      ? readOn(doneJobs(stores.history, filter), places.done ?? {}, {
          filter,
          limit,
          mostReads: MOST_READS_OF_DONE,
          byId: true,
        })
      : nothing,
  ]);
  const { merged, shown } = merge(open, done, limit);
  const lowest = merged.at(-1)?.id;
  const isOver = [open, done].every((read, index) => read.ended && shown[index] === read.rows.length);
  const behindOpen = placeBehind(open, shown[0]);
  const hasPlace = behindOpen.after !== undefined || behindOpen.last !== undefined;
  const next = {
    // Nothing was there yet: what comes is newer than what was shown.
    open: hasPlace ? behindOpen : belowShown(behindOpen, lowest),
    done: belowShown(placeBehind(done, shown[1]), lowest),
  };
  return { entries: merged, next: isOver ? undefined : next };
}

/**
 * The newer of the two first, each store in its own order: ids of several machines are only about in the order of time. Ends where one
 * store was not read yet. Answers how many of each were taken, too.
 */
function merge(open: Read, done: Read, limit: number): { merged: AdminJob[]; shown: [number, number] } {
  const merged: AdminJob[] = [];
  const shown: [number, number] = [0, 0];
  while (merged.length < limit) {
    const [one, other] = [open.rows[shown[0]], done.rows[shown[1]]];
    if ((!one && !open.ended) || (!other && !done.ended)) break;
    const isOpen = one !== undefined && (!other || one.job.id > other.job.id);
    const next = isOpen ? one : other;
    if (!next) break;
    shown[isOpen ? 0 : 1] += 1;
    merged.push(next.job);
  }
  return { merged, shown };
}

interface Row {
  job: AdminJob;
  place: Place;
}

interface Read {
  rows: Row[];
  began: Place;
  /** Where to go on behind all rows. */
  rest: Place;
  /** There were no more when it was read. */
  ended: boolean;
}

const nothing: Read = { rows: [], began: {}, rest: {}, ended: true };

function placeBehind({ rows, began, rest }: Read, shown: number): Place {
  return shown === rows.length ? rest : (rows[shown - 1]?.place ?? began);
}

/** What is newer than the oldest one shown and comes into the history later was shown before it ended. */
function belowShown(place: Place, lowest: string | undefined): Place {
  const { last } = place;
  return lowest !== undefined && (last === undefined || lowest < last) ? { ...place, last: lowest } : place;
}

interface StorePage {
  jobs: AdminJob[];
  next: string | undefined;
}

type ReadPage = (limit: number, after: string | undefined) => Promise<StorePage>;

async function readOn(
  read: ReadPage,
  began: Place,
  { filter, limit, mostReads, byId }: Pick<Reading, "filter" | "limit"> & { mostReads: number; byId: boolean },
): Promise<Read> {
  const rows: Row[] = [];
  let { after, last } = began;
  const until = (ended: boolean): Read => ({ rows, began, rest: present({ after, last }), ended });
  for (let reads = 0; reads < mostReads; reads += 1) {
    const page = await read(ROWS_AT_ONCE, after);
    for (const job of behind(page.jobs, last)) {
      last = job.id;
      if (filter.since !== undefined && job.submitted_at < filter.since - OUT_OF_ORDER_MS) return until(true);
      if (!fits(job, filter)) continue;
      rows.push({ job, place: present({ after, last }) });
      if (rows.length === limit) return until(false);
    }
    if (page.next === undefined) return until(true);
    after = page.next;
    if (!byId) last = undefined;
  }
  return until(false);
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

function fits(job: AdminJob, { verdict, source, key, tenant, since, until, text }: JobFilter): boolean {
  if (since !== undefined && job.submitted_at < since) return false;
  if (verdict !== undefined && job.verdict !== verdict) return false;
  if (source !== undefined && job.source.kind !== source) return false;
  if (key !== undefined && job.key !== key) return false;
  if (tenant !== undefined && job.tenant !== tenant) return false;
  if (until !== undefined && job.submitted_at >= until) return false;
  return text === undefined || fitsText(job, text);
}
