import type { Trace } from "../../../model/tenant.ts";
import { type Sealer, traceDigest } from "../../shared/sealed.ts";
import type { StoredJob } from "../../shared/stored-job.ts";
import type { Query } from "./connections.ts";
import { RESULT_MS } from "./store-parts.ts";
import type { Batch, BulkWrite } from "./write-lane.ts";

/** Whose lease it is. Nothing is written for a lease that was lost. */
export interface Holder {
  id: string;
  token: string;
}

export interface Held extends Holder {
  job: StoredJob;
}

/** A job that is done, on its way into the history. */
export interface KeptJob {
  content: string;
  trace: Uint8Array | undefined;
}

interface Added {
  id: string;
  trace: Trace | undefined;
  job: StoredJob;
}

export interface Written {
  /** Undefined when nobody knows: the answer to the first try was lost, and the second found no such lease. */
  written: boolean | undefined;
  /** By the database's clock. */
  now: number;
}

interface JobWrites {
  add: BulkWrite<Added, { now: number }>;
  extend: BulkWrite<Holder & { leaseMs: number }, Written>;
  save: BulkWrite<Held, Written>;
  /** Without a job it leaves nothing behind. */
  finish: BulkWrite<Holder & { kept: KeptJob | undefined }, Written>;
  putBack: BulkWrite<Held & { delayMs: number }, Written>;
  /** Without a job its content stays as it is. */
  bury: BulkWrite<Holder & { job?: StoredJob; reason: string }, Written>;
}

interface Parts {
  sealer: Sealer;
  schema: string;
  shareDigest(share: string): string;
}

/** What is written about jobs, many at a time. */
export function jobWrites({ sealer, schema: s, shareDigest }: Parts): JobWrites {
  const sealedJob = ({ id, job }: { id: string; job: StoredJob }): Uint8Array => sealer.seal(job.content, ["job", id]);
  const now = `${s}.now_ms()`;
  const held = "jobs.id = held.id AND jobs.lease_token = held.token";
  const givenJobs = "unnest($1::text[], $2::uuid[], $3::bytea[], $4::text[]) AS held (id, token, sealed, counts)";
  const contents = (all: readonly Held[]): unknown[] => [all.map(sealedJob), all.map(({ job }) => job.counts)];

  return {
    add: {
      durable: true,
      bytesOf: ({ job }) => job.content.length,
      async run(query, all, batch) {
        const rows = await query<{ now: number }>(addSql(s), [
          batch.id,
          all.map(({ id }) => id),
          all.map(({ job }) => job.submittedAt),
          all.map(({ job }) => job.counts),
          all.map(({ job }) => shareDigest(job.share)),
          all.map(sealedJob),
          all.map(({ trace }) => (trace ? traceDigest(sealer, trace) : null)),
          RESULT_MS,
        ]);
        return all.map(() => ({ now: rows[0]?.now ?? 0 }));
      },
    },

    extend: heldWrite(
      false,
      `UPDATE ${s}.jobs SET since = ${now}, due_at = ${now} + held.length
       FROM unnest($1::text[], $2::uuid[], $3::bigint[]) AS held (id, token, length) WHERE ${held}`,
      (all) => [all.map(({ leaseMs }) => leaseMs)],
    ),

    save: heldWrite(
      true,
      `UPDATE ${s}.jobs SET sealed = held.sealed, counts = held.counts FROM ${givenJobs} WHERE ${held}`,
      contents,
    ),

    finish: heldWrite(
      true,
      `DELETE FROM ${s}.jobs
       USING unnest($1::text[], $2::uuid[], $3::bytea[], $4::bytea[]) AS held (id, token, kept, trace) WHERE ${held}`,
      (all) => [
        all.map(({ id, kept }) => (kept ? sealer.seal(kept.content, ["history", id]) : null)),
        all.map(({ kept }) => kept?.trace ?? null),
      ],
      {
        returning: "jobs.submitted_at, held.kept, held.trace",
        also: `, finished AS (
          INSERT INTO ${s}.history (id, submitted_at, finished_at, trace, sealed)
          SELECT id, submitted_at, ${now}, trace, kept FROM written WHERE kept IS NOT NULL
          ON CONFLICT (id) DO UPDATE SET finished_at = excluded.finished_at, sealed = excluded.sealed
        )`,
      },
    ),

    putBack: heldWrite(
      true,
      `UPDATE ${s}.jobs SET lease_token = NULL, attempts = 0, since = ${now}, due_at = ${now} + held.delay,
         sealed = held.sealed, counts = held.counts
       FROM unnest($1::text[], $2::uuid[], $3::bytea[], $4::text[], $5::bigint[]) AS held (id, token, sealed, counts, delay)
       WHERE ${held}`,
      (all) => [...contents(all), all.map(({ delayMs }) => delayMs)],
    ),

    bury: heldWrite(
      true,
      `DELETE FROM ${s}.jobs
       USING unnest($1::text[], $2::uuid[], $3::bytea[], $4::text[], $5::bytea[]) AS held (id, token, sealed, counts, reason)
       WHERE ${held}`,
      (all) => [
        all.map(({ id, job }) => (job ? sealedJob({ id, job }) : null)),
        all.map(({ job }) => job?.counts ?? null),
        all.map(({ id, reason }) => sealer.seal(reason, ["reason", id])),
      ],
      {
        returning: `jobs.seq, jobs.submitted_at, jobs.attempts, jobs.share, held.reason,
          coalesce(held.counts, jobs.counts) AS counts, coalesce(held.sealed, jobs.sealed) AS sealed`,
        also: `, letters AS (
          INSERT INTO ${s}.dead_letters (seq, id, submitted_at, buried_at, attempts, share, counts, sealed_reason, sealed)
          SELECT seq, id, submitted_at, ${now}, attempts, share, counts, reason, sealed FROM written
        )`,
      },
    ),
  };

  /** One statement that writes where the lease is still held, and says where that was. */
  function heldWrite<Args extends Holder & { job?: StoredJob; kept?: KeptJob | undefined }>(
    durable: boolean,
    sql: string,
    more: (all: readonly Args[]) => readonly unknown[],
    { returning = "", also = "" }: { returning?: string; also?: string } = {},
  ): BulkWrite<Args, Written> {
    const columns = ["jobs.id", returning].filter((text) => text !== "").join(", ");
    const statement = `WITH written AS (${sql} RETURNING ${columns})${also}
      SELECT ${now} AS now, coalesce(array_agg(id), '{}') AS ids FROM written`;
    return {
      durable,
      bytesOf: ({ job, kept }) => (job ?? kept)?.content.length ?? 0,
      async run(query: Query, all: readonly Args[], { repeated }: Batch): Promise<Written[]> {
        const values = [all.map(({ id }) => id), all.map(({ token }) => token), ...more(all)];
        const [found] = await query<{ now: number; ids: string[] }>(statement, values);
        const ids = new Set(found?.ids);
        // Of two that ask the same at once one has written.
        return all.map(({ id }) => ({
          written: ids.delete(id) || (repeated ? undefined : false),
          now: found?.now ?? 0,
        }));
      },
    };
  }
}

/**
 * An id that is there already stays as it is. A batch that came through before, unheard, adds nothing: the mark of the first try
 * stands in the way, or is waited for until that try has ended. The mark is then written again, as only a commit that writes waits
 * for the standby, and so for all that was written before.
 */
function addSql(s: string): string {
  const now = `${s}.now_ms()`;
  return `WITH mark AS (
      INSERT INTO ${s}.commits (id, committed_at) VALUES ($1, ${now})
      ON CONFLICT (id) DO UPDATE SET committed_at = excluded.committed_at RETURNING xmax = 0 AS first
    ), given AS (
      SELECT * FROM unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::bytea[], $7::bytea[])
        WITH ORDINALITY AS given (id, submitted_at, counts, share, sealed, trace, place)
    ), added AS (
      INSERT INTO ${s}.jobs (id, submitted_at, since, due_at, counts, share, sealed)
      SELECT id, submitted_at, ${now}, ${now}, counts, share, sealed FROM given
      WHERE (SELECT first FROM mark) ORDER BY place
      ON CONFLICT (id) DO NOTHING RETURNING id
    ), expected AS (
      INSERT INTO ${s}.results (trace, job_id, expires_at)
      SELECT DISTINCT ON (trace) trace, id, ${now} + $8::bigint FROM given JOIN added USING (id)
      WHERE trace IS NOT NULL ORDER BY trace, place DESC
      ON CONFLICT (trace) DO UPDATE SET job_id = excluded.job_id, expires_at = excluded.expires_at, sealed = NULL
    )
    SELECT ${now} AS now`;
}
