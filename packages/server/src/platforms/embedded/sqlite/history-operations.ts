import type { DatabaseSync } from "node:sqlite";
import type { Trace } from "../../../model/tenant.ts";
import type { FinishedJob, HistoryQuery } from "../../../queue/job-history.ts";
import { isWantedJob } from "../../shared/finished-job.ts";
import type { Sealer } from "../../shared/sealed.ts";
import { mayPass } from "./database-unavailable.ts";
import type { TraceDigest } from "./trace-digests.ts";
import { FIRST, LAST, operation, type Sweep, timeSlice } from "./transaction.ts";

/** A job that is done, on its way into the history. */
export interface HistoryRow {
  submittedAt: number;
  finishedAt: number;
  trace?: Trace;
  /** JSON of a `FinishedJob`. */
  content: string;
}

/**
 * Puts the jobs that one transaction finishes into pages, which are sealed as one: with a seal and a row for each job that would take as long
 * as all else that is done to finish it.
 */
export interface HistoryWriter {
  /** Forgets what a transaction left that failed; `without` keeps nothing of this one. */
  begin(without?: boolean): void;
  /** Throws `HistoryDamaged`; so does the next. */
  add(id: string, row: HistoryRow): void;
  /** Before the commit. */
  end(): void;
}

/** Whatever else is written must be written without it. */
export class HistoryDamaged extends Error {}

/** Who reads one job opens so much. */
const LARGEST_PAGE_JOBS = 64;
const LARGEST_PAGE_CHARACTERS = 64 * 1024;
/** Of the digest of a trace id: enough that no two are taken for one. */
const TRACE_BYTES = 8;

export function historyWriter(
  db: DatabaseSync,
  { sealer, traceDigest }: { sealer: Sealer; traceDigest: TraceDigest },
): HistoryWriter {
  const addPage = db.prepare(
    `INSERT INTO history_pages (finished_at, upto, ids, traces) VALUES
       (?, coalesce((SELECT upto FROM history_pages ORDER BY page DESC LIMIT 1), 0) + ?, ?, ?)`,
  );
  const addContent = db.prepare("INSERT INTO history_content (page, sealed) VALUES (?, ?)");
  const addJob = db.prepare(
    `INSERT INTO history_jobs (id, submitted_at, page) VALUES (?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET submitted_at = excluded.submitted_at, page = excluded.page`,
  );
  let ids: string[] = [];
  let rows: HistoryRow[] = [];
  let characters = 0;
  let keepsNone = false;

  function begin(without = false): void {
    keepsNone = without;
    ids = [];
    rows = [];
    characters = 0;
  }

  function end(): void {
    const last = rows.at(-1);
    if (!last) return;
    try {
      write(last);
    } catch (error) {
      throw mayPass(error) ? error : new HistoryDamaged("the history cannot be written", { cause: error });
    }
    begin();
  }

  function write(last: HistoryRow): void {
    const traces = Buffer.alloc(rows.length * TRACE_BYTES);
    for (const [place, { trace }] of rows.entries()) {
      if (trace) traces.set(traceDigest(trace).subarray(0, TRACE_BYTES), place * TRACE_BYTES);
    }
    const { lastInsertRowid: page } = addPage.run(last.finishedAt, rows.length, JSON.stringify(ids), traces);
    const text = `[${rows.map(({ content }) => content).join(",")}]`;
    addContent.run(page, sealer.seal(text, ["history", String(page)]));
    for (const [place, { submittedAt }] of rows.entries()) addJob.run(ids[place] ?? "", submittedAt, page);
  }

  return {
    begin,
    add(id, row) {
      if (keepsNone) return;
      ids.push(id);
      rows.push(row);
      characters += row.content.length;
      if (rows.length >= LARGEST_PAGE_JOBS || characters >= LARGEST_PAGE_CHARACTERS) end();
    },
    end,
  };
}

/** Looks from here on, and so long. */
interface ListArgs extends Omit<HistoryQuery, "after"> {
  before?: string;
  /** What was finished by then is over. */
  overBy: number;
  /** Rows to look at, at most. */
  most: number;
}

interface Listed<Entry> {
  entries: Entry[];
  /** How many were looked at. */
  seen: number;
  /** The last of them; undefined at the end. */
  next?: string;
}

/** So many pages are searched for a trace id at once: a few milliseconds. */
const PAGES_AT_ONCE = 20_000;
/** Of so many pages the jobs are counted; of more, their numbers say it well enough. */
const COUNTED_PAGES = 1000;

/** What people ask about jobs that are done. */
export function historyOperations(
  db: DatabaseSync,
  { sealer, traceDigest }: { sealer: Sealer; traceDigest: TraceDigest },
) {
  const list = db.prepare(
    `SELECT id, page FROM history_jobs
     WHERE id < $before AND submitted_at >= $since AND submitted_at < $until ORDER BY id DESC LIMIT $most`,
  );
  const listFirst = db.prepare(
    `SELECT id, page FROM history_jobs
     WHERE submitted_at >= $since AND submitted_at < $until ORDER BY id DESC LIMIT $most`,
  );
  const find = db.prepare("SELECT page FROM history_jobs WHERE id = ?");
  const content = db.prepare(
    "SELECT sealed FROM history_pages JOIN history_content USING (page) WHERE page = ? AND finished_at > ?",
  );
  const firstPage = db.prepare("SELECT min(page) AS page FROM history_pages");
  const lastPage = db.prepare("SELECT max(page) AS page FROM history_pages");
  const traced = db.prepare(
    `SELECT ids, traces FROM history_pages
     WHERE page > $after AND page <= $upTo AND finished_at > $overBy AND instr(traces, $digest) > 0`,
  );
  // By numbers it is off where a clock was wrong, or a process late to write: then pages are not in the order of their times.
  const count = db.prepare(
    `WITH some AS (SELECT finished_at, length(traces) / ${TRACE_BYTES} AS jobs FROM history_pages LIMIT ${COUNTED_PAGES + 1}),
       last AS (SELECT upto FROM history_pages ORDER BY page DESC LIMIT 1)
     SELECT CASE WHEN (SELECT count(*) FROM some) <= ${COUNTED_PAGES}
       THEN (SELECT coalesce(sum(jobs), 0) FROM some WHERE finished_at > $overBy)
       ELSE (SELECT upto FROM last) - coalesce(
         (SELECT upto - json_array_length(ids) FROM history_pages WHERE finished_at > $overBy ORDER BY finished_at, page LIMIT 1),
         (SELECT upto FROM last)) END AS count`,
  );

  /** Opens pages, each once. What cannot be read any more is not there. */
  function opener(overBy: number): (page: number, id: string) => FinishedJob | undefined {
    const open = new Map<number, ReadonlyMap<string, FinishedJob>>();
    return (page, id) => {
      const known = open.get(page) ?? jobsOf(page, content.get(page, overBy));
      open.set(page, known);
      return known.get(id);
    };
  }

  function jobsOf(page: number, row: Record<string, unknown> | undefined): Map<string, FinishedJob> {
    const text = row && sealer.unseal(row.sealed as Uint8Array, ["history", String(page)]);
    const jobs: FinishedJob[] = text === undefined ? [] : JSON.parse(text);
    return new Map(jobs.map((job) => [job.id, job]));
  }

  return {
    /** As many as are wanted, or there is time for. */
    listHistory: operation("read", (args: ListArgs): Listed<FinishedJob> => {
      const { before, since = FIRST, until = LAST, limit, most, overBy } = args;
      const span = { since, until, most };
      const rows = before === undefined ? listFirst.all(span) : list.all({ ...span, before });
      const isOver = timeSlice();
      const open = opener(overBy);
      const entries: FinishedJob[] = [];
      let seen = 0;
      for (const { id, page } of rows as { id: string; page: number }[]) {
        seen += 1;
        const job = open(page, id);
        if (job && isWantedJob(job, args)) entries.push(job);
        if (entries.length === limit || isOver()) return { entries, seen, next: id };
      }
      const last = rows.length === most ? String(rows.at(-1)?.id) : undefined;
      return { entries, seen, ...(last !== undefined && { next: last }) };
    }),

    showHistory: operation("read", ({ id, overBy }: { id: string; overBy: number }): FinishedJob | undefined => {
      const page = find.get(id)?.page;
      return page === undefined ? undefined : opener(overBy)(Number(page), id);
    }),

    /** Among the pages up to one, some at once; `next` is the page to go on from. */
    historyOfTrace: operation("read", (args: TraceArgs): { ids: string[]; next?: number } => {
      const upTo = args.upTo ?? Number(lastPage.get()?.page ?? 0);
      const after = upTo - PAGES_AT_ONCE;
      const digest = traceDigest(args.trace).subarray(0, TRACE_BYTES);
      const rows = traced.all({ after, upTo, overBy: args.overBy, digest });
      const ids = rows.flatMap((row) => {
        const traces = Buffer.from(row.traces as Uint8Array);
        const ids: string[] = JSON.parse(String(row.ids));
        return ids.filter((_, at) => traces.subarray(at * TRACE_BYTES, (at + 1) * TRACE_BYTES).equals(digest));
      });
      // Pages that are gone are not looked for: their numbers never come back, and there are ever more of them.
      return { ids, ...(after >= Number(firstPage.get()?.page ?? 0) && { next: after }) };
    }),

    countHistory: operation("read", ({ overBy }: { overBy: number }): number => Number(count.get({ overBy })?.count)),
  };
}

interface TraceArgs {
  trace: Trace;
  overBy: number;
  upTo?: number;
}

/** Each is a page of jobs. */
const SWEPT_AT_ONCE = 4;

interface PageRow {
  page: number;
  ids: string;
  traces: Uint8Array;
  upto: number;
}

/** Deletes pages that are over, and the oldest jobs while there are too many. */
export function historySweep(db: DatabaseSync): Sweep {
  const columns = "page, ids, traces, upto FROM history_pages";
  const aged = db.prepare(`SELECT ${columns} WHERE finished_at <= ? ORDER BY finished_at LIMIT ${SWEPT_AT_ONCE}`);
  const oldest = db.prepare(`SELECT ${columns} ORDER BY page LIMIT ${SWEPT_AT_ONCE}`);
  const newest = db.prepare("SELECT upto FROM history_pages ORDER BY page DESC LIMIT 1");
  const removeJobs = db.prepare("DELETE FROM history_jobs WHERE id IN (SELECT value FROM json_each(?)) AND page = ?");
  const removeContent = db.prepare("DELETE FROM history_content WHERE page = ?");
  const removePage = db.prepare("DELETE FROM history_pages WHERE page = ?");
  const cutPage = db.prepare("UPDATE history_pages SET ids = ?, traces = ? WHERE page = ?");

  function remove({ page, ids }: PageRow): void {
    removeJobs.run(ids, page);
    removeContent.run(page);
    removePage.run(page);
  }

  /** What is cut off is opened by nobody any more, and goes with its page. */
  function cut({ page, ids, traces }: PageRow, jobs: number): void {
    const all: string[] = JSON.parse(ids);
    removeJobs.run(JSON.stringify(all.slice(0, jobs)), page);
    cutPage.run(JSON.stringify(all.slice(jobs)), traces.subarray(jobs * TRACE_BYTES), page);
  }

  return (now, { historyMs, historyMost }) => {
    const over = aged.all(now - historyMs) as unknown as PageRow[];
    over.forEach(remove);
    if (over.length === SWEPT_AT_ONCE) return true;
    const upto = Number(newest.get()?.upto ?? 0);
    const pages = oldest.all() as unknown as PageRow[];
    // Jobs are numbered by `upto`: those up to this number are too many.
    const goneUpto = upto - historyMost;
    for (const page of pages) {
      if (page.upto <= goneUpto) remove(page);
      else {
        const tooMany = JSON.parse(page.ids).length - (page.upto - goneUpto);
        if (tooMany > 0) cut(page, tooMany);
        return false;
      }
    }
    return pages.length === SWEPT_AT_ONCE;
  };
}
