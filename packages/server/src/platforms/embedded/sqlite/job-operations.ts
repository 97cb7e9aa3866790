import { randomUUID } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { turns } from "../../../flow/turns.ts";
import { isBefore, LEASE_SECONDS, type QueueCounts, type ShareLine } from "../../../queue/job-queue.ts";
import type { Sealer } from "../../shared/sealed.ts";
import type { StoredJob } from "../../shared/stored-job.ts";
import type { HistoryRow, HistoryWriter } from "./history-operations.ts";
import type { Expected } from "./result-operations.ts";
import { FIRST, LAST, operation } from "./transaction.ts";

export interface LeasedJob extends Omit<StoredJob, "share">, Holder {
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

/** Places of the worker that asks: who holds how many, and how many one share may hold. */
export interface ShareCounts {
  held: readonly (readonly [share: string, count: number])[];
  perShare: number;
  weights: readonly (readonly [share: string, weight: number])[];
}

/** The jobs of one share that are due. */
interface DueLine extends ShareLine {
  share: string;
  /** Those that were read already. */
  rows: DueRow[];
}

interface DueRow extends Omit<StoredJob, "content" | "share"> {
  seq: number;
  id: string;
  attempts: number;
  sealed: Uint8Array;
}

interface TakeArgs extends ShareCounts {
  now: number;
  /** Milliseconds by a clock that nobody sets. */
  elapsed: number;
  limit: number;
  leaseMs: number;
  maxAttempts: number;
}

interface Parts {
  sealer: Sealer;
  clock: ClockCare;
  expect(expected: Expected): void;
  history: Pick<HistoryWriter, "add">;
}

interface AddArgs {
  id: string;
  job: StoredJob;
  now: number;
  /** For a job with a trace id. */
  expected?: Omit<Expected, "jobId">;
}

/** Counts that many more do not fit into add up. */
interface CountedJobs extends Omit<QueueCounts, "buried"> {
  next?: number;
}

/** Takes a few milliseconds. */
export const COUNTED_AT_ONCE = 50_000;
/** Why a job was buried whose content was damaged. */
export const UNREADABLE = "unreadable";
/** Enough that no two shares are taken for one. */
const SHARE_BYTES = 12;
/** There are as many shares as API keys, and a digest takes as long as writing the job. */
const DIGESTS_AT_HAND = 1000;

/** What the queue asks. */
export function jobOperations(db: DatabaseSync, { sealer, clock, expect, history }: Parts) {
  const add = db.prepare(
    `INSERT INTO jobs (id, submitted_at, since, due_at, counts, share, sealed)
     VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
  );
  // The cast: a statement whose limit is a bare parameter is compiled anew each time.
  const due = db.prepare(
    `SELECT seq, id, attempts, submitted_at AS submittedAt, counts, sealed
     FROM jobs WHERE share = ? AND due_at <= ? ORDER BY due_at, seq LIMIT CAST(? AS INTEGER)`,
  );
  // From one share to the next in the index, without looking at the jobs in between.
  const shares = db.prepare(
    `WITH RECURSIVE known (share) AS (
       SELECT min(share) FROM jobs WHERE due_at IS NOT NULL
       UNION ALL
       SELECT (SELECT min(share) FROM jobs WHERE share > known.share AND due_at IS NOT NULL)
       FROM known WHERE known.share IS NOT NULL
     )
     SELECT share, (SELECT min(due_at) FROM jobs WHERE jobs.share = known.share AND due_at IS NOT NULL) AS dueAt
     FROM known WHERE share IS NOT NULL`,
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
  // From the index alone, but for what is due within the time of a lease: nothing that is leased is due later.
  const counts = db.prepare(
    `SELECT
       (SELECT count(*) FROM jobs WHERE due_at > $after AND due_at <= min($now, $until)) AS ready,
       (SELECT count(*) FROM jobs WHERE due_at > max($now, $after) AND due_at <= $until) AS later,
       (SELECT count(*) FROM jobs WHERE due_at > max($now, $after)
          AND due_at <= min($now + ${LEASE_SECONDS * 1000}, $until) AND lease_token IS NOT NULL) AS leased,
       coalesce(($now - (SELECT min(due_at) FROM jobs WHERE due_at <= $now)) / 1000.0, 0) AS oldestSeconds`,
  );
  const unfinished = db.prepare(
    `SELECT count(*) AS jobs FROM
       (SELECT 1 FROM jobs WHERE share = ? AND due_at IS NOT NULL LIMIT CAST(? AS INTEGER))`,
  );
  const countedTo = db.prepare(
    `SELECT due_at AS dueAt FROM jobs WHERE due_at > ? ORDER BY due_at LIMIT 1 OFFSET ${COUNTED_AT_ONCE}`,
  );

  const digests = new Map<string, string>();
  const given = turns();

  /** The parameters of what is written by the holder of a lease. */
  function heldBy({ id, token, job }: Held): [Uint8Array, string, string, string] {
    return [sealer.seal(job.content, ["job", id]), job.counts, id, token];
  }

  /** What is in clear must not show whose job it is. */
  function digestOf(share: string): string {
    const known = digests.get(share);
    if (known) return known;
    const digest = Buffer.from(sealer.digest(`share ${share}`)).toString("hex", 0, SHARE_BYTES);
    if (digests.size === DIGESTS_AT_HAND) digests.clear();
    digests.set(share, digest);
    return digest;
  }

  /** Shares that may be taken from, whether or not a job of theirs is due already. */
  function openShares({ held, perShare, weights }: ShareCounts): DueLine[] {
    const byDigest = (counts: ShareCounts["held"]): Map<string, number> =>
      new Map(counts.map(([share, count]) => [digestOf(share), count]));
    const counts = byDigest(held);
    const weightOf = byDigest(weights);
    return (shares.all() as { share: string; dueAt: number }[])
      .map(({ share, dueAt }) => ({
        share,
        held: counts.get(share) ?? 0,
        weight: weightOf.get(share) ?? 1,
        turn: given.of(share),
        dueAt,
        rows: [],
      }))
      .filter((each) => each.held < perShare);
  }

  /** The next job of the share that comes first. */
  function nextRow(lines: DueLine[], now: number, wanted: number): { line: DueLine; row: DueRow } | undefined {
    for (;;) {
      const line = lines.reduce<DueLine | undefined>(
        (best, each) => (best && !isBefore(each, best) ? best : each),
        undefined,
      );
      if (!line) return undefined;
      if (line.rows.length === 0) line.rows = due.all(line.share, now, wanted) as unknown as DueRow[];
      const row = line.rows.shift();
      if (row) return { line, row };
      lines.splice(lines.indexOf(line), 1);
    }
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
    add: operation("durable", ({ id, job, now, expected }: AddArgs): void => {
      clock.saw(now);
      const sealed = sealer.seal(job.content, ["job", id]);
      const { changes } = add.run(id, job.submittedAt, now, now, job.counts, digestOf(job.share), sealed);
      if (changes === 1 && expected) expect({ ...expected, jobId: id });
    }),

    take: operation("relaxed", (args: TakeArgs): LeasedJob[] => {
      clock.rebase(args.now, args.elapsed);
      const taken: LeasedJob[] = [];
      const lines = openShares(args).filter(({ dueAt }) => dueAt <= args.now);
      const counts = new Map<string, number>();
      const weights = new Map(lines.map(({ share, weight }) => [share, weight]));
      while (taken.length < args.limit) {
        const next = nextRow(lines, args.now, args.limit - taken.length);
        if (!next) break;
        const leased = leaseRow(next.row, args);
        if (!leased) continue;
        taken.push(leased);
        next.line.held += 1;
        counts.set(next.line.share, (counts.get(next.line.share) ?? 0) + 1);
        if (next.line.held >= args.perShare) lines.splice(lines.indexOf(next.line), 1);
      }
      given.served(counts, (share) => weights.get(share) ?? 1);
      return taken;
    }),

    extend: operation("relaxed", ({ id, token, now, leaseMs }: Holder & { now: number; leaseMs: number }): boolean => {
      clock.saw(now);
      return extend.run(now, now + leaseMs, id, token).changes === 1;
    }),

    save: operation("durable", (args: Held): boolean => save.run(...heldBy(args)).changes === 1),

    finish: operation("durable", ({ id, token, kept }: Holder & { kept?: HistoryRow }): boolean => {
      const finished = finish.run(id, token).changes === 1;
      if (finished && kept) history.add(id, kept);
      return finished;
    }),

    putBack: operation("durable", (args: Held & { now: number; delayMs: number }): boolean => {
      clock.saw(args.now);
      return putBack.run(args.now, args.now + args.delayMs, ...heldBy(args)).changes === 1;
    }),

    bury: operation("durable", (args: Held & { now: number; reason: string }): boolean => {
      const reason = sealer.seal(args.reason, ["reason", args.id]);
      return bury.run(args.now, reason, ...heldBy(args)).changes === 1;
    }),

    /** How long until a job is due that may be taken, at most 0 when one is; undefined when none will be. */
    untilDue: operation("read", ({ now, ...counts }: ShareCounts & { now: number }): number | undefined => {
      const times = openShares(counts).map(({ dueAt }) => dueAt);
      return times.length > 0 ? Math.min(...times) - now : undefined;
    }),

    unfinished: operation("read", ({ share, upTo }: { share: string; upTo: number }): number =>
      Number(unfinished.get(digestOf(share), upTo)?.jobs),
    ),

    /** Of those that are due after a time, some at once; `next` is the time to go on from. */
    counts: operation("read", ({ now, after = FIRST }: { now: number; after?: number }): CountedJobs => {
      const next = countedTo.get(after)?.dueAt as number | undefined;
      const { later, ...found } = counts.get({ now, after, until: next ?? LAST }) as unknown as Omit<
        CountedJobs,
        "delayed"
      > & { later: number };
      return { ...found, delayed: later - found.leased, ...(next !== undefined && { next }) };
    }),
  };
}

/**
 * A clock that was set back would make jobs wait as long as it was wrong, for ever if it was wrong by years. So a job
 * whose delay or lease began in the future waits its whole length again, from now on; never longer. A clock that was set forward would end
 * all leases while their holders live: each job would run twice, the second time as a suspect that is scanned alone. So leases that had not
 * run out by the time that really passed begin anew.
 */
export interface ClockCare {
  /** What the clock said when something was written. */
  saw(now: number): void;
  /** Mends such jobs: at the start, when the clock is seen to go back or forward, and now and then. `elapsed` goes on whatever the clock does. */
  rebase(now: number, elapsed: number): void;
}

/** Clocks that are slewed, or were read a moment apart, differ by less. */
const SET_FORWARD_MS = 1000;

/** For a clock that was wrong for a moment only, in which another process wrote. */
const CHECK_EVERY_MS = 10_000;
const CHECKED_AT_ONCE = 1000;

export function clockCare(db: DatabaseSync, checkEveryMs = CHECK_EVERY_MS): ClockCare {
  const later = db.prepare(
    `SELECT seq, due_at AS dueAt, since FROM jobs WHERE due_at > $now AND (due_at, seq) > ($dueAt, $seq)
     ORDER BY due_at, seq LIMIT ${CHECKED_AT_ONCE}`,
  );
  const rebase = db.prepare("UPDATE jobs SET since = $now, due_at = $now + (due_at - since) WHERE seq = $seq");
  // By the clock as it was: not those that had run out by then, nor those that began since.
  const renew = db.prepare(
    `UPDATE jobs SET since = $now, due_at = $now + (due_at - since)
     WHERE due_at > $before AND since <= $before AND lease_token IS NOT NULL`,
  );
  const start = { dueAt: FIRST, seq: 0 };
  let latest = Number.POSITIVE_INFINITY;
  let checkedAt = Number.NEGATIVE_INFINITY;
  let place = start;
  /** How far the clock is ahead of the time that passed. */
  let ahead = Number.POSITIVE_INFINITY;

  function renewLeases(now: number, elapsed: number): void {
    const forward = now - elapsed - ahead;
    ahead = now - elapsed;
    if (forward > SET_FORWARD_MS) renew.run({ now, before: now - forward });
  }

  /** Goes on where it was, and is done when it came to the end. */
  function check(now: number): void {
    const rows = later.all({ now, ...place }) as unknown as (typeof place & { since: number })[];
    for (const { seq, since } of rows) if (since > now) rebase.run({ now, seq });
    const last = rows.length === CHECKED_AT_ONCE ? rows.at(-1) : undefined;
    place = last ? { dueAt: last.dueAt, seq: last.seq } : start;
    if (!last) checkedAt = performance.now();
  }

  return {
    saw(now) {
      latest = Math.max(latest, now);
    },
    rebase(now, elapsed) {
      renewLeases(now, elapsed);
      if (now < latest) {
        place = start;
        checkedAt = Number.NEGATIVE_INFINITY;
      }
      if (performance.now() - checkedAt >= checkEveryMs) check(now);
      latest = now;
    },
  };
}
