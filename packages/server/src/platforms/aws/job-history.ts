import { createHash } from "node:crypto";
import type { Job } from "../../model/job.ts";
import { traceOf } from "../../model/job.ts";
import type { FinishedJob, JobHistory } from "../../queue/job-history.ts";
import { finishedJob, isWantedJob } from "../shared/finished-job.ts";
import { wantedPage } from "../shared/page.ts";
import type { Retention } from "../shared/retention.ts";
import { traceKey } from "./results.ts";
import type { Attributes, Table, TableQuery } from "./table.ts";

/** Writes what the history has of a job that is done. */
export interface HistoryWriter {
  keep(job: Job, attempts: number): Promise<void>;
}

/** As many as jobs have while they wait, so that neither is the narrower. */
const SHARDS = Array.from({ length: 16 }, (_, index) => `history#${index.toString(16)}`);
const TIME_DIGITS = 15;
const PLACE = /^\d{15}#[0-9a-f-]{36}$/;
const OF_TRACE_AT_MOST = 100;
/** A query reads, and is paid for, item by item. */
const COUNTED_OF_EACH = 100;
const SMALLEST_PAGE = 25;
/** What an id says about its time may differ so much from when the job was submitted. */
const SAME_TIME_MS = 60_000;

interface Parts {
  table: Table;
  kept: Retention;
  now(): number;
}

/**
 * An item for each job, in the order of their ids, and one more for its trace id. In clear, as the card is while the job waits: who shows it
 * need not have the key that opens jobs. DynamoDB deletes what is over some time later; no number limits how many there are until then.
 */
export function tableHistory({ table, kept, now }: Parts): JobHistory & HistoryWriter {
  const isOver = (finishedAt: number): boolean => finishedAt <= now() - kept.historyMs;
  const stillKept = (): TableQuery["filter"] => ({
    if: "finished_at > :over",
    values: { ":over": { N: String(now() - kept.historyMs) } },
  });

  function opened({ finished_at, content }: Attributes): FinishedJob | undefined {
    if (isOver(Number(finished_at?.N ?? 0))) return undefined;
    try {
      return JSON.parse(content?.S ?? "") as FinishedJob;
    } catch {
      return undefined;
    }
  }

  /** Newest first, from all shards, each of which is read as far as it is needed. */
  async function* newest(before: string | undefined, pageSize: number): AsyncIterable<Attributes> {
    const lines = await Promise.all(
      SHARDS.map(async (pk) => {
        const items = itemsOf({ pk, newestFirst: true, consistent: true, limit: pageSize, ...(before && { before }) });
        return { items, head: await items.next() };
      }),
    );
    for (;;) {
      const [first] = lines
        .filter(({ head }) => !head.done)
        .sort((one, other) => (placeIn(one) < placeIn(other) ? 1 : -1));
      if (!first || first.head.done) return;
      yield first.head.value;
      first.head = await first.items.next();
    }
  }

  async function* itemsOf(query: TableQuery): AsyncGenerator<Attributes, undefined> {
    let after: Attributes | undefined;
    do {
      const page = await table.query({ ...query, ...(after && { after }) });
      yield* page.items;
      after = page.next;
    } while (after);
  }

  async function read(before: string | undefined, count: number): Promise<Attributes[]> {
    const rows: Attributes[] = [];
    for await (const item of newest(before, Math.max(SMALLEST_PAGE, Math.ceil(count / 8)))) {
      if (rows.push(item) === count) break;
    }
    return rows;
  }

  async function put(item: Attributes): Promise<void> {
    await table.put(item, { if: "attribute_not_exists(pk) OR attribute_exists(pk)" });
  }

  return {
    async keep(job, attempts) {
      if (kept.historyMost === 0) return;
      const finished = finishedJob(job, { finishedAt: now(), attempts });
      const times = {
        finished_at: { N: String(finished.finishedAt) },
        expires_at: { N: String(Math.ceil((finished.finishedAt + kept.historyMs) / 1000)) },
      };
      const place = { S: placeOf(job) };
      const trace = traceOf(job);
      await Promise.all([
        put({ pk: { S: shardOf(job.id) }, sk: place, content: { S: JSON.stringify(finished) }, ...times }),
        trace && put({ pk: { S: ofTrace(trace) }, sk: place, ...times }),
        // Who asks for such an id cannot know its place.
        place.S !== placeOf({ id: job.id, submittedAt: timeIn(job.id) }) &&
          put({ ...pointerKey(job.id), place, ...times }),
      ]);
    },

    async list({ limit, after, ...query }) {
      if (after !== undefined && !PLACE.test(after)) return undefined;
      const isWanted = (job: FinishedJob): boolean => isWantedJob(job, query);
      const placeOfItem = ({ sk }: Attributes): string => sk?.S ?? "";
      return await wantedPage(
        { limit, mostRead: kept.mostRead, read, open: opened, isWanted, placeOf: placeOfItem },
        after,
      );
    },

    async show(id) {
      const at = (sk: string): Promise<Attributes | undefined> => table.get({ pk: { S: shardOf(id) }, sk: { S: sk } });
      const direct = await at(placeOf({ id, submittedAt: timeIn(id) }));
      if (direct) return opened(direct);
      const pointer = await table.get(pointerKey(id));
      const item = pointer?.place?.S === undefined ? undefined : await at(pointer.place.S);
      return item && opened(item);
    },

    async ofTrace(trace) {
      const query = { pk: ofTrace(trace), newestFirst: true, consistent: true, limit: OF_TRACE_AT_MOST };
      const { items } = await table.query(query);
      const there = items.filter(({ finished_at }) => !isOver(Number(finished_at?.N ?? 0)));
      return there.map(({ sk }) => sk?.S?.slice(TIME_DIGITS + 1) ?? "");
    },

    async count() {
      const countOf = async (pk: string): Promise<number> => {
        const filter = stillKept();
        const query = { pk, newestFirst: true, consistent: false, limit: COUNTED_OF_EACH, ...(filter && { filter }) };
        return (await table.query(query)).items.length;
      };
      return (await Promise.all(SHARDS.map(countOf))).reduce((sum, some) => sum + some, 0);
    },
  };
}

function placeIn({ head }: { head: IteratorResult<Attributes, undefined> }): string {
  return head.value?.sk?.S ?? "";
}

/** Ids of ours tell their time; what others send to the queue has ids without one, and goes by when it was submitted. */
function placeOf({ id, submittedAt }: Pick<Job, "id" | "submittedAt">): string {
  const told = timeIn(id);
  const at = Math.abs(told - submittedAt) <= SAME_TIME_MS ? told : submittedAt;
  return `${String(at).padStart(TIME_DIGITS, "0")}#${id}`;
}

function timeIn(id: string): number {
  const time = Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
  return Number.isNaN(time) ? 0 : time;
}

function shardOf(id: string): string {
  return `history#${createHash("sha256").update(id).digest("hex").slice(0, 1)}`;
}

function ofTrace(trace: Parameters<typeof traceKey>[0]): string {
  return `history#${traceKey(trace)}`;
}

function pointerKey(id: string): Attributes {
  return { pk: { S: `history#job#${id}` }, sk: { S: "place" } };
}
