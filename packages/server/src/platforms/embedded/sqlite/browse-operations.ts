import type { DatabaseSync, StatementSync } from "node:sqlite";
import { redriven } from "../../../model/job.ts";
import { type ExpiredLetter, type JobState, POISON, type Redrive } from "../../../queue/job-queue.ts";
import type { Sealer } from "../../shared/sealed.ts";
import { jobOf, type StoredJob, storedJob } from "../../shared/stored-job.ts";
import { type ClockCare, COUNTED_AT_ONCE, UNREADABLE } from "./job-operations.ts";
import { FIRST, LAST, operation, timeSlice } from "./transaction.ts";

/** Undefined stands for all of them. */
export type Ids = readonly string[] | undefined;

export interface BrowsedJob extends Omit<BrowsedRow, "sealed" | "sealedReason"> {
  /** Why it was buried; means nothing while it is not. */
  reason: string;
  /** Undefined when it cannot be read. */
  stored: Omit<StoredJob, "share"> | undefined;
}

interface BrowsedRow extends Omit<StoredJob, "content" | "share"> {
  seq: number;
  id: string;
  state: JobState;
  attempts: number;
  dueAt: number | null;
  buriedAt: number | null;
  sealedReason: Uint8Array | null;
  sealed: Uint8Array;
}

const COLUMNS = `seq, id, attempts, submitted_at AS submittedAt, due_at AS dueAt, buried_at AS buriedAt,
  counts, sealed_reason AS sealedReason, sealed,
  CASE WHEN buried_at IS NOT NULL THEN 'buried' WHEN due_at <= $now THEN 'ready'
    WHEN lease_token IS NULL THEN 'delayed' ELSE 'leased' END AS state`;
/** With a large job each the time is over before. */
const CHANGED_AT_ONCE = 1000;
/** Each by what leads to few rows: in the order of `seq` most are ready, in that of `due_at` few are not. */
const STATES: Readonly<Record<JobState, string>> = {
  ready: "+due_at <= $now",
  delayed: "due_at > $now AND lease_token IS NULL",
  leased: "due_at > $now AND lease_token IS NOT NULL",
  buried: "buried_at IS NOT NULL",
};

/** What the command line asks. */
export function browseOperations(db: DatabaseSync, { sealer, clock }: { sealer: Sealer; clock: ClockCare }) {
  const jobsThat = (are: string): StatementSync =>
    db.prepare(`SELECT ${COLUMNS} FROM jobs WHERE seq < $before AND ${are} ORDER BY seq DESC LIMIT $limit`);
  const jobs = {
    any: jobsThat("true"),
    ready: jobsThat(STATES.ready),
    delayed: jobsThat(STATES.delayed),
    leased: jobsThat(STATES.leased),
    buried: jobsThat(STATES.buried),
  };
  const job = db.prepare(`SELECT ${COLUMNS} FROM jobs WHERE id = $id`);
  const buried = db.prepare(
    `SELECT ${COLUMNS} FROM jobs
     WHERE buried_at IS NOT NULL AND ($buriedAt IS NULL OR (buried_at, seq) < ($buriedAt, $seq))
     ORDER BY buried_at DESC, seq DESC LIMIT $limit`,
  );
  const buriedBy = db.prepare(
    `SELECT seq, id, buried_at AS buriedAt FROM jobs WHERE buried_at <= ? ORDER BY buried_at LIMIT ${CHANGED_AT_ONCE}`,
  );
  const chosen = db.prepare(
    `SELECT seq, id, buried_at AS buriedAt FROM jobs
     WHERE id IN (SELECT value FROM json_each(?)) AND buried_at IS NOT NULL LIMIT ${CHANGED_AT_ONCE}`,
  );
  const content = db.prepare("SELECT id, submitted_at AS submittedAt, counts, sealed FROM jobs WHERE seq = ?");
  const redrive = db.prepare(
    `UPDATE jobs SET buried_at = NULL, sealed_reason = NULL, since = $now, due_at = $now, attempts = 0,
       counts = '{}', sealed = $sealed WHERE seq = $seq`,
  );
  const remove = db.prepare("DELETE FROM jobs WHERE seq = ?");
  const countBuried = db.prepare("SELECT count(*) AS count FROM jobs WHERE buried_at > ? AND buried_at <= ?");
  const countedTo = db.prepare(
    `SELECT buried_at AS buriedAt FROM jobs WHERE buried_at > ? AND buried_at <= ?
     ORDER BY buried_at LIMIT 1 OFFSET ${COUNTED_AT_ONCE}`,
  );

  function open({ sealed, sealedReason, ...row }: BrowsedRow): BrowsedJob {
    const content = sealer.unseal(sealed, ["job", row.id]);
    const reason = sealedReason ? sealer.unseal(sealedReason, ["reason", row.id]) : POISON;
    return { ...row, reason: reason ?? UNREADABLE, stored: content === undefined ? undefined : { ...row, content } };
  }

  const opened = (rows: readonly unknown[]): BrowsedJob[] => (rows as BrowsedRow[]).map(open);

  /** Does it to as many as there is time for, at least one, and answers which. */
  function toEach(letters: unknown[], change: (seq: number) => unknown): ExpiredLetter[] {
    const isOver = timeSlice();
    const done: ExpiredLetter[] = [];
    for (const { seq, id, buriedAt } of letters as (ExpiredLetter & { seq: number })[]) {
      change(seq);
      done.push({ id, buriedAt });
      if (isOver()) break;
    }
    return done;
  }

  /** What cannot be read stays as it is: whoever takes it buries it again. */
  function begun(seq: number, what: Redrive, now: number): Uint8Array {
    const { id, sealed, ...row } = content.get(seq) as unknown as Pick<
      BrowsedRow,
      "id" | "sealed" | "submittedAt" | "counts"
    >;
    const text = sealer.unseal(sealed, ["job", id]);
    if (text === undefined) return sealed;
    return sealer.seal(storedJob(redriven(jobOf(id, { ...row, content: text }), what, now)).content, ["job", id]);
  }

  const lettersOf = (ids: Ids): unknown[] => (ids ? chosen.all(JSON.stringify(ids)) : buriedBy.all(LAST));

  return {
    jobs: operation("read", (args: { now: number; limit: number; before?: number; state?: JobState }): BrowsedJob[] => {
      const { now, limit, before = LAST, state = "any" } = args;
      return opened(jobs[state].all({ now, limit, before }));
    }),

    job: operation("read", (args: { id: string; now: number }): BrowsedJob | undefined => {
      return opened(job.all(args))[0];
    }),

    buried: operation("read", (args: { now: number; limit: number; before?: BuriedBefore }): BrowsedJob[] => {
      const { now, limit, before } = args;
      const place = { buriedAt: before?.buriedAt ?? null, seq: before?.seq ?? null };
      return opened(buried.all({ now, limit, ...place }));
    }),

    /** At most some of them at a time; so does `purge`. */
    redrive: operation("durable", ({ ids, what, now }: { ids: Ids; what: Redrive; now: number }): number => {
      clock.saw(now);
      return toEach(lettersOf(ids), (seq) => redrive.run({ now, seq, sealed: begun(seq, what, now) })).length;
    }),

    purge: operation("durable", ({ ids }: { ids: Ids }): number => {
      return toEach(lettersOf(ids), (seq) => remove.run(seq)).length;
    }),

    expire: operation("durable", (args: { buriedBy: number }): ExpiredLetter[] => {
      return toEach(buriedBy.all(args.buriedBy), (seq) => remove.run(seq));
    }),

    /** Those that were buried after a time, some at once; `next` is the time to go on from. */
    countBuried: operation("read", (args: { buriedBy?: number; after?: number }): { count: number; next?: number } => {
      const { buriedBy = LAST, after = FIRST } = args;
      const next = countedTo.get(after, buriedBy)?.buriedAt as number | undefined;
      const count = Number(countBuried.get(after, next ?? buriedBy)?.count);
      return { count, ...(next !== undefined && { next }) };
    }),
  };
}

/** Where a page of dead letters ended. */
export interface BuriedBefore {
  buriedAt: number;
  seq: number;
}
