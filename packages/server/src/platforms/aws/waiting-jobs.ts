import { createHash } from "node:crypto";
import { type Job, shareOf } from "../../model/job.ts";
import type { JobItems } from "./job-items.ts";
import { type JobKey, keyAt, placeOf } from "./job-state.ts";
import { ANY, type Attributes, type Table } from "./table.ts";

/**
 * Which jobs of a share wait: a small item for each, because neither SQS nor the table counts by share. Only of jobs that are `counted`.
 *
 *   add      message ─▶ item here                    a crash in between: one too few
 *   settle   job's own item ─▶ item here deleted     a crash in between: one too many, until somebody would be refused for it
 *
 * A count may be wrong by that, and no job is: what cannot be written here fails nothing else.
 */
export interface WaitingJobs {
  add(key: JobKey, job: Job): Promise<void>;
  remove(key: JobKey, job: Job): Promise<void>;
  /** Up to a limit, and not beyond. Throws `QueueUnavailable`. */
  count(share: string, upTo: number): Promise<number>;
}

export interface WaitingJobsOptions {
  table: Table;
  items: Pick<JobItems, "get">;
  now(): number;
}

/** A partition takes about 1,000 writes a second, and a job needs two: half of all that the items of jobs have room for. */
const PARTS = 4;
/** As long as the item of a job that nobody takes. */
const KEPT_SECONDS = 15 * 86_400;
/** So many are compared with the items of their jobs at once, and again after a while if all were right. */
const COMPARED = 25;
const COMPARE_EVERY_MS = 10_000;

/** How far the items of a share were compared. */
interface Comparison {
  at: number;
  part: number;
  after: Attributes | undefined;
}

export function waitingJobs({ table, items, now }: WaitingJobsOptions): WaitingJobs {
  /** Of shares that are at their limit. */
  const comparisons = new Map<string, Comparison>();

  async function countAll(share: string, upTo: number, consistent: boolean): Promise<number> {
    const parts = Array.from({ length: PARTS }, (_, part) => partition(share, part));
    const counts = await Promise.all(parts.map((pk) => table.count({ pk, upTo, consistent })));
    return Math.min(
      upTo,
      counts.reduce((sum, count) => sum + count, 0),
    );
  }

  /** Those of a share that come next, oldest first; then the next part's, once around at most. */
  async function next(share: string, comparison: Comparison): Promise<Attributes[]> {
    const found: Attributes[] = [];
    for (let parts = 0; parts <= PARTS && found.length < COMPARED; parts += 1) {
      const { items: some, next: after } = await table.query({
        pk: partition(share, comparison.part),
        newestFirst: false,
        consistent: true,
        limit: COMPARED - found.length,
        ...(comparison.after && { after: comparison.after }),
      });
      found.push(...some);
      comparison.after = after;
      if (!after) comparison.part = (comparison.part + 1) % PARTS;
    }
    return found;
  }

  async function isOver({ sk }: Attributes): Promise<boolean> {
    const item = await items.get(keyAt(sk?.S ?? ""));
    return item === undefined || item.done || item.buriedAt !== undefined;
  }

  /** Whether some were left behind by somebody who died after the end of their jobs, and are gone now. */
  async function dropLeftOver(share: string): Promise<boolean> {
    const comparison = comparisons.get(share) ?? { at: Number.NEGATIVE_INFINITY, part: 0, after: undefined };
    if (Math.abs(now() - comparison.at) < COMPARE_EVERY_MS) return false;
    comparisons.set(share, comparison);
    comparison.at = now();
    const some = await next(share, comparison);
    const over = await Promise.all(some.map(isOver));
    const leftOver = some.filter((_, index) => over[index]);
    await Promise.all(leftOver.map(({ pk, sk }) => table.remove({ pk, sk } as Attributes, { if: ANY })));
    // Where there was one there may be more.
    if (leftOver.length > 0) comparison.at = Number.NEGATIVE_INFINITY;
    return leftOver.length > 0;
  }

  return {
    async add(key, job) {
      if (!job.counted) return;
      const expires_at = { N: String(Math.ceil(now() / 1000) + KEPT_SECONDS) };
      await table.put({ ...itemOf(key, job), expires_at }, { if: ANY }).catch(() => {});
    },

    async remove(key, job) {
      if (job.counted) await table.remove(itemOf(key, job), { if: ANY }).catch(() => {});
    },

    async count(share, upTo) {
      if (upTo === 0) return 0;
      const count = await countAll(share, upTo, false);
      if (count < upTo) {
        comparisons.delete(share);
        return count;
      }
      const dropped = await dropLeftOver(share).catch(() => false);
      return dropped ? countAll(share, upTo, true) : count;
    },
  };
}

/** Tenants have no `#` in their names. */
function partition(share: string, part: number): string {
  return `waiting#${share}#${part}`;
}

function itemOf(key: JobKey, job: Job): Attributes {
  const part = createHash("sha256").update(key.id).digest().readUInt8() % PARTS;
  return { pk: { S: partition(shareOf(job), part) }, sk: { S: placeOf(key) } };
}
