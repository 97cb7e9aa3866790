import { type Job, traceOf } from "../../model/job.ts";
import type { FinishedJob, JobHistory } from "../../queue/job-history.ts";
import { finishedJob, isWantedJob } from "../shared/finished-job.ts";
import { isJobPlace, wantedPage } from "../shared/page.ts";
import type { Retention } from "../shared/retention.ts";
import { type Sealer, traceDigest } from "../shared/sealed.ts";
import type { KeptJob } from "./database/job-writes.ts";
import type { StoreParts } from "./database/store-parts.ts";

interface HistoryRow {
  id: string;
  submittedAt: number;
  finishedAt: number;
  sealed: Uint8Array;
}

/** Sorts behind every id. */
const BEHIND = "~";
const OF_TRACE_AT_MOST = 100;
/** So many are counted; of more, their numbers say it well enough. */
const COUNTED_AT_MOST = 1000;

export function postgresHistory(
  { connections, sealer, schema: s }: Pick<StoreParts, "connections" | "sealer" | "schema">,
  kept: Retention,
): JobHistory {
  const isKept = `finished_at > ${s}.now_ms() - ${kept.historyMs}`;
  const rows = `SELECT id, submitted_at AS "submittedAt", finished_at AS "finishedAt", sealed FROM ${s}.history WHERE ${isKept}`;
  const list = `${rows} AND id < $1 AND submitted_at >= $2 AND submitted_at < $3 ORDER BY id DESC LIMIT $4`;
  const count = `WITH first AS (SELECT seq FROM ${s}.history WHERE ${isKept} ORDER BY seq LIMIT 1),
      span AS (SELECT coalesce((SELECT max(seq) FROM ${s}.history) - first.seq + 1, 0) AS jobs FROM first)
    SELECT CASE WHEN jobs > ${COUNTED_AT_MOST} THEN jobs
      ELSE (SELECT count(*) FROM ${s}.history WHERE seq >= (SELECT seq FROM first)) END AS count FROM span`;

  function open({ id, submittedAt, finishedAt, sealed }: HistoryRow): FinishedJob | undefined {
    const content = sealer.unseal(sealed, ["history", id]);
    return content === undefined ? undefined : { id, submittedAt, finishedAt, ...JSON.parse(content) };
  }

  return {
    async list({ limit, after, ...query }) {
      if (after !== undefined && !isJobPlace(after)) return undefined;
      const { since = 0, until = Number.MAX_SAFE_INTEGER } = query;
      const parts = {
        limit,
        mostRead: kept.mostRead,
        read: (place = BEHIND, most: number) => connections.query<HistoryRow>(list, [place, since, until, most]),
        open,
        isWanted: (job: FinishedJob) => isWantedJob(job, query),
        placeOf: ({ id }: HistoryRow) => id,
      };
      return await wantedPage(parts, after);
    },

    async show(id) {
      const [row] = await connections.query<HistoryRow>(`${rows} AND id = $1`, [id]);
      return row && open(row);
    },

    async ofTrace(trace) {
      const found = await connections.query<{ id: string }>(
        `SELECT id FROM ${s}.history WHERE ${isKept} AND trace = $1 ORDER BY id DESC LIMIT ${OF_TRACE_AT_MOST}`,
        [traceDigest(sealer, trace)],
      );
      return found.map(({ id }) => id);
    },

    async count() {
      const [found] = await connections.query<{ count: number }>(count);
      return found?.count ?? 0;
    },
  };
}

/** What the queue writes of a job that is done; when that is, the database says. */
export function keptJob(job: Job, attempts: number, sealer: Sealer): KeptJob {
  const { job: card, life } = finishedJob(job, { finishedAt: 0, attempts });
  const trace = traceOf(job);
  return { content: JSON.stringify({ attempts, job: card, life }), trace: trace && traceDigest(sealer, trace) };
}
