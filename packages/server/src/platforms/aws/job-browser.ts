import type { JobBrowser, JobEntry } from "../../queue/job-queue.ts";
import { pageOf } from "../shared/page.ts";
import { NEVER_TAKEN } from "./job-items.ts";
import { type JobItem, type JobKey, jobItem, placeOf, SHARDS, shardOf, stateOf } from "./job-state.ts";
import type { Condition, Table, TableQuery } from "./table.ts";

/** From the table alone: what is in SQS cannot be seen without taking it. */
export function tableBrowser({ browser, now }: { browser: ItemBrowser; now(): number }): JobBrowser {
  function entryOf(item: JobItem): JobEntry {
    const { id, submittedAt, attempts, dueAt, card, life } = item;
    return { id, state: stateOf(item, now()), submittedAt, attempts, dueAt, job: card, life };
  }

  return {
    async list({ limit, after, state }) {
      const items = await browser.list({
        limit: limit + 1,
        ...(after !== undefined && { before: after }),
        matches: (item) => state === undefined || stateOf(item, now()) === state,
      });
      return pageOf(items, { limit, entryOf, placeOf });
    },

    async show(id) {
      const item = await browser.find(id);
      return item && entryOf(item);
    },
  };
}

/** Reads the items of all jobs. What an operator asks may read all of them; what a metric asks, few. */
export interface ItemBrowser {
  /** Newest first, those that sort before `before`, at most `limit`; notes of jobs that are done are left out. */
  list(options: { limit: number; before?: string; matches(item: JobItem): boolean }): Promise<JobItem[]>;
  find(id: string): Promise<JobItem | undefined>;
  /** All dead letters, in no order. */
  buried(): Promise<JobItem[]>;
  /**
   * When the job that waits longest became due, as far as the oldest jobs of each shard show; undefined when none of
   * them is due. A job that was put back and became due before any of those is missed.
   */
  oldestDueAt(now: number): Promise<number | undefined>;
  /** Those that nobody ever took, though they have been due since then or longer; of each shard the oldest. */
  untaken(dueBy: number): Promise<JobKey[]>;
}

const unfinished: Condition = { if: "attribute_not_exists(done)" };
const dead: Condition = { if: "attribute_exists(buried_at)" };
const SMALLEST_PAGE = 25;
const OLDEST_READ = 25;

export function itemBrowser(table: Table): ItemBrowser {
  async function* items(query: TableQuery): AsyncIterable<JobItem> {
    let after: TableQuery["after"];
    do {
      const page = await table.query({ ...query, ...(after && { after }) });
      yield* page.items.map(jobItem);
      after = page.next;
    } while (after);
  }

  /** Of the oldest items of each shard, those that match. */
  async function oldest(now: number, filter: string): Promise<JobItem[]> {
    const values = { ":now": { N: String(now) } };
    const inShard = async (pk: string): Promise<JobItem[]> => {
      const query = { pk, newestFirst: false, filter: { if: filter, values }, limit: OLDEST_READ, consistent: false };
      return (await table.query(query)).items.map(jobItem);
    };
    return (await Promise.all(SHARDS.map(inShard))).flat();
  }

  return {
    async list({ limit, before, matches }) {
      const inShard = async (pk: string): Promise<JobItem[]> => {
        const found: JobItem[] = [];
        const query = {
          pk,
          newestFirst: true,
          filter: unfinished,
          consistent: true,
          limit: Math.max(limit, SMALLEST_PAGE),
        };
        for await (const item of items({ ...query, ...(before !== undefined && { before }) })) {
          if (matches(item)) found.push(item);
          if (found.length === limit) break;
        }
        return found;
      };
      const all = (await Promise.all(SHARDS.map(inShard))).flat();
      return all.sort((a, b) => (placeOf(a) < placeOf(b) ? 1 : -1)).slice(0, limit);
    },

    async find(id) {
      const filter = { if: "attribute_not_exists(done) AND id = :id", values: { ":id": { S: id } } };
      for await (const item of items({ pk: shardOf(id), newestFirst: true, filter, consistent: true })) return item;
      return undefined;
    },

    async buried() {
      const inShard = (pk: string): Promise<JobItem[]> =>
        Array.fromAsync(items({ pk, newestFirst: true, filter: dead, consistent: true }));
      return (await Promise.all(SHARDS.map(inShard))).flat();
    },

    async oldestDueAt(now) {
      const due = (await oldest(now, "due_at <= :now")).map(({ dueAt }) => dueAt ?? now);
      return due.length === 0 ? undefined : Math.min(...due);
    },

    untaken: (dueBy) => oldest(dueBy, `due_at <= :now AND ${NEVER_TAKEN}`),
  };
}
