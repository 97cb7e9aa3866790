import type { DatabaseSync } from "node:sqlite";
import { type ExpiredLetter, type JobState, POISON } from "../../../queue/job-queue.ts";
import type { Sealer } from "../../shared/sealed.ts";
import type { StoredJob } from "../../shared/stored-job.ts";
import { type ClockCare, UNREADABLE } from "./job-operations.ts";
import { operation } from "./transaction.ts";

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
/** So that no other process waits long for its turn to write, however many dead letters there are. */
const CHANGED_AT_ONCE = 1000;
const CHOSEN = `seq IN (SELECT seq FROM jobs
  WHERE buried_at IS NOT NULL AND ($ids IS NULL OR id IN (SELECT value FROM json_each($ids))) LIMIT ${CHANGED_AT_ONCE})`;

/** What the command line asks. */
export function browseOperations(db: DatabaseSync, { sealer, clock }: { sealer: Sealer; clock: ClockCare }) {
  const jobs = db.prepare(
    `SELECT ${COLUMNS} FROM jobs WHERE ($before IS NULL OR seq < $before) AND ($state IS NULL OR state = $state)
     ORDER BY seq DESC LIMIT $limit`,
  );
  const job = db.prepare(`SELECT ${COLUMNS} FROM jobs WHERE id = $id`);
  const buried = db.prepare(
    `SELECT ${COLUMNS} FROM jobs
     WHERE buried_at IS NOT NULL AND ($buriedAt IS NULL OR (buried_at, seq) < ($buriedAt, $seq))
     ORDER BY buried_at DESC, seq DESC LIMIT $limit`,
  );
  const redrive = db.prepare(
    `UPDATE jobs SET buried_at = NULL, sealed_reason = NULL, since = $now, due_at = $now, attempts = 0,
       counts = '{}' WHERE ${CHOSEN}`,
  );
  const purge = db.prepare(`DELETE FROM jobs WHERE ${CHOSEN}`);
  const expire = db.prepare(
    `DELETE FROM jobs WHERE seq IN
       (SELECT seq FROM jobs WHERE buried_at <= ? ORDER BY buried_at LIMIT ${CHANGED_AT_ONCE})
     RETURNING id, buried_at AS buriedAt`,
  );
  const buriedBefore = db.prepare("SELECT count(*) AS count FROM jobs WHERE buried_at <= ?");

  function open({ sealed, sealedReason, ...row }: BrowsedRow): BrowsedJob {
    const content = sealer.unseal(sealed, ["job", row.id]);
    const reason = sealedReason ? sealer.unseal(sealedReason, ["reason", row.id]) : POISON;
    return { ...row, reason: reason ?? UNREADABLE, stored: content === undefined ? undefined : { ...row, content } };
  }

  const opened = (rows: readonly unknown[]): BrowsedJob[] => (rows as BrowsedRow[]).map(open);
  const json = (ids: Ids): string | null => (ids ? JSON.stringify(ids) : null);

  return {
    jobs: operation("read", (args: { now: number; limit: number; before?: number; state?: JobState }): BrowsedJob[] => {
      const { now, limit, before = null, state = null } = args;
      return opened(jobs.all({ now, limit, before, state }));
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
    redrive: operation("durable", ({ ids, now }: { ids: Ids; now: number }): number => {
      clock.saw(now);
      return Number(redrive.run({ now, ids: json(ids) }).changes);
    }),

    purge: operation("durable", ({ ids }: { ids: Ids }): number => Number(purge.run({ ids: json(ids) }).changes)),

    expire: operation("durable", ({ buriedBy }: { buriedBy: number }): ExpiredLetter[] => {
      return (expire.all(buriedBy) as unknown as ExpiredLetter[]).map(({ id, buriedAt }) => ({ id, buriedAt }));
    }),

    buriedBefore: operation("read", ({ buriedBy }: { buriedBy: number }): number => {
      return Number(buriedBefore.get(buriedBy)?.count);
    }),
  };
}

/** Where a page of dead letters ended. */
export interface BuriedBefore {
  buriedAt: number;
  seq: number;
}
