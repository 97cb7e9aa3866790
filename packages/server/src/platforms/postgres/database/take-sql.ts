import type { QueueCounts } from "../../../queue/job-queue.ts";
import type { Query } from "./connections.ts";
import { RESULT_MS } from "./store-parts.ts";

export interface LeasedRow {
  id: string;
  token: string;
  attempt: number;
  submittedAt: number;
  counts: string;
  sealed: Uint8Array;
}

/** The shares that have jobs, and when the first of each is due: from one to the next in the index, past the jobs in between. */
export function sharesSql(s: string): string {
  return `WITH RECURSIVE known (share, due_at) AS (
      (SELECT share, due_at FROM ${s}.jobs ORDER BY share, due_at LIMIT 1)
      UNION ALL
      SELECT next.* FROM known CROSS JOIN LATERAL (
        SELECT jobs.share, jobs.due_at FROM ${s}.jobs WHERE jobs.share > known.share ORDER BY jobs.share, jobs.due_at LIMIT 1
      ) AS next
    )
    SELECT clock.now, known.share, known.due_at AS "dueAt"
    FROM (SELECT ${s}.now_ms() AS now) AS clock LEFT JOIN known ON true`;
}

/** The same of the shares in $1 alone, each from the time in $2 on: what was done since the last look is not passed again. */
export function sharesFromSql(s: string): string {
  return `SELECT clock.now, found.share, found.due_at AS "dueAt"
    FROM (SELECT ${s}.now_ms() AS now) AS clock LEFT JOIN (
      SELECT known.share, first.due_at FROM unnest($1::text[], $2::bigint[]) AS known (share, begin) CROSS JOIN LATERAL (
        SELECT due_at FROM ${s}.jobs WHERE jobs.share = known.share AND due_at >= known.begin ORDER BY due_at LIMIT 1
      ) AS first
    ) AS found ON true`;
}

/**
 * Leases as many jobs of each share as are wanted, from the time in $6 on, passing over those that somebody else is taking at this moment. One that was
 * taken too often is buried instead. May be forgotten when the server crashes: then the job is due again.
 *
 * No quota is above $5, which changes nothing but the plan: of a limit that it cannot know the server expects a tenth of all that
 * waits, and prepares for that, longer than the whole statement takes.
 */
export function leaseSql(s: string): string {
  const now = `${s}.now_ms()`;
  return `WITH due AS (
      SELECT found.* FROM unnest($1::text[], $2::int[], $6::bigint[]) AS wanted (share, quota, begin)
      CROSS JOIN LATERAL (
        SELECT * FROM (
          SELECT seq, due_at, attempts FROM ${s}.jobs
          WHERE jobs.share = wanted.share AND due_at >= wanted.begin AND due_at <= ${now}
          ORDER BY due_at, seq LIMIT wanted.quota FOR UPDATE SKIP LOCKED
        ) AS first LIMIT $5::int
      ) AS found
    ), poison AS (
      DELETE FROM ${s}.jobs USING due WHERE jobs.seq = due.seq AND due.attempts >= $3 RETURNING jobs.*
    ), letters AS (
      INSERT INTO ${s}.dead_letters (seq, id, submitted_at, buried_at, attempts, share, counts, sealed)
      SELECT seq, id, submitted_at, ${now}, attempts, share, counts, sealed FROM poison
    ), leased AS (
      UPDATE ${s}.jobs SET attempts = jobs.attempts + 1, lease_token = gen_random_uuid(), since = ${now},
        due_at = ${now} + $4::bigint
      FROM due WHERE jobs.seq = due.seq AND due.attempts < $3
      RETURNING jobs.seq, id, lease_token AS token, jobs.attempts AS attempt, submitted_at AS "submittedAt", counts, sealed,
        due.due_at AS was_due_at
    )
    SELECT relaxed.buried, leased.*
    FROM (SELECT (SELECT count(*) FROM poison) AS buried, set_config('synchronous_commit', 'off', true)) AS relaxed
    LEFT JOIN leased ON true ORDER BY was_due_at, seq`;
}

/** So that no statement takes long, however many wait. */
const REBASED_AT_ONCE = 5000;

/** Where a delay or lease began in the future it begins now. Answers whether there may be more such. */
export function rebaseSql(s: string): string {
  return `WITH late AS (
      SELECT found.seq FROM (${sharesSql(s)}) AS shares CROSS JOIN LATERAL (
        SELECT seq FROM ${s}.jobs WHERE jobs.share = shares.share AND due_at > ${s}.now_ms() AND since > ${s}.now_ms()
        LIMIT ${REBASED_AT_ONCE}
      ) AS found LIMIT ${REBASED_AT_ONCE}
    ), rebased AS (
      UPDATE ${s}.jobs SET since = ${s}.now_ms(), due_at = ${s}.now_ms() + (due_at - since)
      WHERE seq IN (SELECT seq FROM late) AND due_at > ${s}.now_ms() AND since > ${s}.now_ms() RETURNING 1
    )
    SELECT count(*) = ${REBASED_AT_ONCE} AS more FROM rebased`;
}

const SWEPT_AT_ONCE = 1000;
/** Longer than any process tries to hear whether its batch came through. */
const COMMITS_KEPT_MS = 3_600_000;

/**
 * Deletes what has had its time, some at a time: a result that is over, unless its job is still waiting or buried, and then that gets
 * its time again; marks of batches.
 */
export function sweepSql(s: string): readonly string[] {
  const now = `${s}.now_ms()`;
  const over = `SELECT trace, sealed IS NULL AND (EXISTS (SELECT FROM ${s}.jobs WHERE id = job_id)
        OR EXISTS (SELECT FROM ${s}.dead_letters WHERE id = job_id)) AS awaited
      FROM ${s}.results WHERE expires_at <= ${now} ORDER BY expires_at LIMIT ${SWEPT_AT_ONCE} FOR UPDATE SKIP LOCKED`;
  return [
    `WITH over AS (${over}), prolonged AS (
       UPDATE ${s}.results SET expires_at = ${now} + ${RESULT_MS} FROM over WHERE results.trace = over.trace AND awaited
     )
     DELETE FROM ${s}.results USING over WHERE results.trace = over.trace AND NOT awaited`,
    `DELETE FROM ${s}.commits WHERE id IN
       (SELECT id FROM ${s}.commits WHERE committed_at <= ${now} - ${COMMITS_KEPT_MS} LIMIT ${SWEPT_AT_ONCE} FOR UPDATE SKIP LOCKED)`,
  ];
}

/** So many are counted one by one; of more, these stand for all that the server estimates there are. */
const COUNTED_AT_MOST = 100_000;

export async function countJobs(query: Query, s: string): Promise<QueueCounts> {
  const [found] = await query<QueueCounts & { counted: number; estimate: number; oldestMs: number }>(
    // Materialized, or the time is worked out anew for every row.
    `WITH clock AS MATERIALIZED (SELECT ${s}.now_ms() AS now)
     SELECT count(due_at) AS counted,
       count(*) FILTER (WHERE due_at <= clock.now) AS ready,
       count(*) FILTER (WHERE due_at > clock.now AND lease_token IS NULL) AS delayed,
       count(*) FILTER (WHERE due_at > clock.now AND lease_token IS NOT NULL) AS leased,
       (SELECT count(*) FROM (SELECT FROM ${s}.dead_letters LIMIT ${COUNTED_AT_MOST}) AS few) AS buried,
       (SELECT reltuples FROM pg_class WHERE oid = to_regclass($1)) AS estimate,
       max(clock.now) - (SELECT min("dueAt") FROM (${sharesSql(s)}) AS shares) AS "oldestMs"
     FROM clock
     LEFT JOIN (SELECT due_at, lease_token FROM ${s}.jobs LIMIT ${COUNTED_AT_MOST}) AS few ON true`,
    [`${s}.jobs`],
  );
  if (!found) throw new Error("the database counted nothing");
  const times = found.counted < COUNTED_AT_MOST ? 1 : Math.max(1, found.estimate / COUNTED_AT_MOST);
  return {
    ready: Math.round(found.ready * times),
    delayed: Math.round(found.delayed * times),
    leased: found.leased,
    buried: found.buried,
    oldestSeconds: Math.max(0, found.oldestMs ?? 0) / 1000,
  };
}
