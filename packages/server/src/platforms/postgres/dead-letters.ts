import { redriven } from "../../model/job.ts";
import { jobCard } from "../../model/job-card.ts";
import type { DeadLetter, DeadLetters, ExpiredLetter, Redrive } from "../../queue/job-queue.ts";
import { pageOf, placeIn } from "../shared/page.ts";
import { jobOf, type StoredJob, storedJob } from "../shared/stored-job.ts";
import { type BrowsedRow, deadLettersSql, openRow } from "./database/browse-sql.ts";
import { heardAtWrite, type StoreParts } from "./database/store-parts.ts";

/** Null stands for all of them. */
type Ids = readonly string[] | null;

/** So that no transaction takes long, however many dead letters there are. */
const CHANGED_AT_ONCE = 1000;
/** Their contents come here and go back. */
const REDRIVEN_AT_ONCE = 100;

interface LetterRow extends Omit<StoredJob, "content" | "share"> {
  id: string;
  buriedAt: number;
  sealed: Uint8Array;
  now: number;
}

export function postgresDeadLetters({
  connections,
  wakeUps,
  sealer,
  times,
  schema: s,
}: Omit<StoreParts, "lane">): DeadLetters {
  const list = `${deadLettersSql(s)} WHERE $1::bigint IS NULL OR (buried_at, seq) < ($1, $2::bigint)
    ORDER BY buried_at DESC, seq DESC LIMIT $3`;
  const chosen = `seq IN (SELECT seq FROM ${s}.dead_letters WHERE $1::text[] IS NULL OR id = ANY ($1)
    LIMIT ${CHANGED_AT_ONCE} FOR UPDATE SKIP LOCKED)`;
  const find = `SELECT id, buried_at AS "buriedAt", submitted_at AS "submittedAt", counts, sealed, ${s}.now_ms() AS now
    FROM ${s}.dead_letters WHERE $1::text[] IS NULL OR id = ANY ($1) LIMIT ${REDRIVEN_AT_ONCE}`;
  // One that somebody else was faster with may be buried again by now: then it is another.
  const redrive = `WITH gone AS (
      DELETE FROM ${s}.dead_letters USING unnest($1::text[], $2::bigint[], $3::bytea[]) AS given (id, buried_at, sealed)
      WHERE dead_letters.id = given.id AND dead_letters.buried_at = given.buried_at
      RETURNING seq, dead_letters.id, submitted_at, share, given.sealed
    ), redriven AS (
      INSERT INTO ${s}.jobs (seq, id, submitted_at, since, due_at, share, counts, sealed)
      SELECT seq, id, submitted_at, ${s}.now_ms(), ${s}.now_ms(), share, '{}', sealed FROM gone
    )
    SELECT count(*) AS count, ${s}.now_ms() AS now FROM gone`;
  const purge = `WITH gone AS (DELETE FROM ${s}.dead_letters WHERE ${chosen} RETURNING 1) SELECT count(*) AS count FROM gone`;
  const expire = `DELETE FROM ${s}.dead_letters WHERE seq IN (SELECT seq FROM ${s}.dead_letters
      WHERE buried_at <= $1 ORDER BY buried_at LIMIT ${CHANGED_AT_ONCE} FOR UPDATE SKIP LOCKED)
    RETURNING id, buried_at AS "buriedAt"`;

  function letterOf(browsed: BrowsedRow): DeadLetter {
    const { id, submittedAt, buriedAt, reason, stored } = openRow(browsed, sealer);
    return { id, submittedAt, buriedAt: buriedAt ?? 0, reason, job: stored && jobCard(jobOf(id, stored)) };
  }

  async function countOf(sql: string, values: readonly unknown[]): Promise<number> {
    const [found] = await connections.query<{ count: number; now?: number }>(sql, values);
    if (found?.now !== undefined) heardAtWrite(times, found.now);
    return found?.count ?? 0;
  }

  /** What cannot be read stays as it is: whoever takes it buries it again. */
  function begun({ id, sealed, now, ...row }: LetterRow, what: Redrive): Uint8Array {
    const content = sealer.unseal(sealed, ["job", id]);
    if (content === undefined) return sealed;
    return sealer.seal(storedJob(redriven(jobOf(id, { ...row, content }), what, now)).content, ["job", id]);
  }

  async function redriveSome(ids: Ids, what: Redrive): Promise<number> {
    const letters = await connections.query<LetterRow>(find, [ids]);
    if (letters.length === 0) return 0;
    return await countOf(redrive, [
      letters.map(({ id }) => id),
      letters.map(({ buriedAt }) => buriedAt),
      letters.map((letter) => begun(letter, what)),
    ]);
  }

  /** Ends when all are done that were there at the start, though some may be buried again meanwhile. */
  async function inSteps(step: (ids: Ids) => Promise<number>, ids: readonly string[] | "all"): Promise<number> {
    const buried = await countOf(`SELECT count(*) AS count FROM ${s}.dead_letters`, []);
    let total = 0;
    while (total < buried) {
      const count = await step(ids === "all" ? null : ids);
      if (count === 0) break;
      total += count;
    }
    return total;
  }

  return {
    async list({ limit, after }) {
      const [buriedAt, seq] = after === undefined ? [null, null] : after.split(".").map(placeIn);
      if (buriedAt === undefined || seq === undefined) return { entries: [], next: undefined };
      const rows = await connections.query<BrowsedRow>(list, [buriedAt, seq, limit + 1]);
      return pageOf(rows, { limit, entryOf: letterOf, placeOf: (row) => `${row.buriedAt}.${row.seq}` });
    },

    async show(id) {
      const [row] = await connections.query<BrowsedRow>(`${deadLettersSql(s)} WHERE id = $1`, [id]);
      return row && letterOf(row);
    },

    async redrive(ids, what = "rest") {
      const count = await inSteps((some) => redriveSome(some, what), ids);
      if (count > 0) {
        // They may be of a share that has had no jobs for long.
        times.wroteBack = true;
        wakeUps.jobs.ring();
      }
      return count;
    },

    purge: (ids) => inSteps((some) => countOf(purge, [some]), ids),

    async expire(buriedBy) {
      const all: ExpiredLetter[] = [];
      for (;;) {
        const some = await connections.query<ExpiredLetter>(expire, [buriedBy]);
        if (some.length === 0) return all;
        all.push(...some);
      }
    },

    countBefore: (buriedBy) =>
      countOf(`SELECT count(*) AS count FROM ${s}.dead_letters WHERE buried_at <= $1`, [buriedBy]),
  };
}
