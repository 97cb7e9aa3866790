import { randomUUID } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { LEASE_SECONDS, type QueueCounts } from "../../../queue/job-queue.ts";
import type { Sealer } from "../sealed.ts";
import type { StoredJob } from "../stored-job.ts";
import type { ClockCare } from "./clock-care.ts";
import { operation } from "./operation.ts";

export interface LeasedJob extends StoredJob, Holder {
  attempt: number;
}

/** Whose lease it is. Nothing is written for a lease that was lost. */
export interface Holder {
  id: string;
  token: string;
}

interface Held extends Holder {
  job: StoredJob;
}

interface DueRow extends Omit<StoredJob, "content"> {
  seq: number;
  id: string;
  attempts: number;
  sealed: Uint8Array;
}

interface TakeArgs {
  now: number;
  limit: number;
  leaseMs: number;
  maxAttempts: number;
}

interface Parts {
  sealer: Sealer;
  clock: ClockCare;
  /** Done on the side of each take, because workers take all the time. */
  sweep(now: number): void;
}

/** Why a job was buried whose content was damaged. */
export const UNREADABLE = "unreadable";

/** What the queue asks. */
export function jobOperations(db: DatabaseSync, { sealer, clock, sweep }: Parts) {
  const add = db.prepare(
    `INSERT INTO jobs (id, submitted_at, since, due_at, counts, sealed)
     VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
  );
  const due = db.prepare(
    `SELECT seq, id, attempts, submitted_at AS submittedAt, counts, sealed
     FROM jobs WHERE due_at <= ? ORDER BY due_at, seq LIMIT ?`,
  );
  const lease = db.prepare(
    "UPDATE jobs SET attempts = attempts + 1, lease_token = ?, since = ?, due_at = ? WHERE seq = ?",
  );
  const buryDue = db.prepare(
    "UPDATE jobs SET due_at = NULL, lease_token = NULL, buried_at = ?, sealed_reason = ? WHERE seq = ?",
  );
  const extend = db.prepare("UPDATE jobs SET since = ?, due_at = ? WHERE id = ? AND lease_token = ?");
  const held = "sealed = ?, counts = ? WHERE id = ? AND lease_token = ?";
  const save = db.prepare(`UPDATE jobs SET ${held}`);
  const finish = db.prepare("DELETE FROM jobs WHERE id = ? AND lease_token = ?");
  const putBack = db.prepare(`UPDATE jobs SET lease_token = NULL, attempts = 0, since = ?, due_at = ?, ${held}`);
  const bury = db.prepare(
    `UPDATE jobs SET lease_token = NULL, due_at = NULL, buried_at = ?, sealed_reason = ?, ${held}`,
  );
  const nextDue = db.prepare("SELECT min(due_at) AS dueAt FROM jobs WHERE due_at IS NOT NULL");
  // From the index alone, but for what is due within the time of a lease: nothing that is leased is due later.
  const counts = db.prepare(
    `SELECT
       (SELECT count(*) FROM jobs WHERE due_at <= $now) AS ready,
       (SELECT count(*) FROM jobs WHERE due_at > $now) AS later,
       (SELECT count(*) FROM jobs WHERE due_at > $now AND due_at <= $now + ${LEASE_SECONDS * 1000}
          AND lease_token IS NOT NULL) AS leased,
       (SELECT count(*) FROM jobs WHERE buried_at IS NOT NULL) AS buried,
       coalesce(($now - (SELECT min(due_at) FROM jobs WHERE due_at <= $now)) / 1000.0, 0) AS oldestSeconds`,
  );

  /** The parameters of what is written by the holder of a lease. */
  function heldBy({ id, token, job }: Held): [Uint8Array, string, string, string] {
    return [sealer.seal(job.content, ["job", id]), job.counts, id, token];
  }

  /** Undefined when it was buried instead. */
  function leaseRow({ seq, attempts, sealed, ...row }: DueRow, args: TakeArgs): LeasedJob | undefined {
    const content = sealer.unseal(sealed, ["job", row.id]);
    if (content === undefined || attempts >= args.maxAttempts) {
      buryDue.run(args.now, content === undefined ? sealer.seal(UNREADABLE, ["reason", row.id]) : null, seq);
      return undefined;
    }
    const token = randomUUID();
    lease.run(token, args.now, args.now + args.leaseMs, seq);
    return { ...row, content, token, attempt: attempts + 1 };
  }

  return {
    /** An id that is there already stays as it is: the add was tried again after a lost answer. */
    add: operation("durable", ({ id, job, now }: { id: string; job: StoredJob; now: number }): void => {
      clock.saw(now);
      const sealed = sealer.seal(job.content, ["job", id]);
      add.run(id, job.submittedAt, now, now, job.counts, sealed);
    }),

    take: operation("relaxed", (args: TakeArgs): LeasedJob[] => {
      sweep(args.now);
      clock.rebase(args.now);
      const taken: LeasedJob[] = [];
      while (taken.length < args.limit) {
        const rows = due.all(args.now, args.limit - taken.length) as unknown as DueRow[];
        if (rows.length === 0) break;
        taken.push(...rows.flatMap((row) => leaseRow(row, args) ?? []));
      }
      return taken;
    }),

    extend: operation("relaxed", ({ id, token, now, leaseMs }: Holder & { now: number; leaseMs: number }): boolean => {
      clock.saw(now);
      return extend.run(now, now + leaseMs, id, token).changes === 1;
    }),

    save: operation("durable", (args: Held): boolean => save.run(...heldBy(args)).changes === 1),

    finish: operation("durable", ({ id, token }: Holder): boolean => finish.run(id, token).changes === 1),

    putBack: operation("durable", (args: Held & { now: number; delayMs: number }): boolean => {
      clock.saw(args.now);
      return putBack.run(args.now, args.now + args.delayMs, ...heldBy(args)).changes === 1;
    }),

    bury: operation("durable", (args: Held & { now: number; reason: string }): boolean => {
      const reason = sealer.seal(args.reason, ["reason", args.id]);
      return bury.run(args.now, reason, ...heldBy(args)).changes === 1;
    }),

    /** How long until a job is due, at most 0 when one is; undefined when none will be. */
    untilDue: operation("read", ({ now }: { now: number }): number | undefined => {
      const dueAt = nextDue.get()?.dueAt;
      return typeof dueAt === "number" ? dueAt - now : undefined;
    }),

    counts: operation("read", ({ now }: { now: number }): QueueCounts => {
      const { later, ...found } = counts.get({ now }) as unknown as Omit<QueueCounts, "delayed"> & { later: number };
      return { ...found, delayed: later - found.leased };
    }),
  };
}
