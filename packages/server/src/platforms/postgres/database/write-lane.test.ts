import assert from "node:assert/strict";
import { test } from "node:test";
import { newSchema, sharedPostgres } from "../../../../test/support/postgres.ts";
import { QueueUnavailable } from "../../../model/faults.ts";
import { connections } from "./connections.ts";
import { type BulkWrite, type WriteLane, writeLane } from "./write-lane.ts";

/** A lane on a table of numbers below 10,000 that remembers which transaction wrote each. */
async function numbers() {
  const server = await sharedPostgres();
  const table = newSchema();
  await server.sql(`CREATE TABLE ${table} (number int CHECK (number < 10000), xid bigint DEFAULT txid_current())`);
  const ways = connections({ url: server.url, pool: 2 });
  const lane = writeLane(ways);
  const add: BulkWrite<{ number: number; bytes: number }, number> = {
    durable: true,
    bytesOf: ({ bytes }) => bytes,
    async run(query, all) {
      await query(`INSERT INTO ${table} (number) SELECT unnest($1::int[])`, [all.map(({ number }) => number)]);
      return all.map(({ number }) => number);
    },
  };
  const write = (lane: WriteLane, number: number, bytes = 0): Promise<number> => lane.write(add, { number, bytes });
  return {
    lane,
    add: (number: number, bytes?: number) => write(lane, number, bytes),
    /** How many each transaction wrote, in order. */
    async batches(): Promise<number[]> {
      const sql = `SELECT count(*)::int AS count FROM ${table} GROUP BY xid ORDER BY xid`;
      return (await server.sql<{ count: number }>(sql)).map(({ count }) => count);
    },
    async [Symbol.asyncDispose]() {
      await lane.close();
      await ways.close();
      await server.sql(`DROP TABLE ${table}`);
    },
  };
}

test("what is asked in one turn is one transaction, up to 500; each hears its own answer", async () => {
  await using rows = await numbers();
  const asked = Array.from({ length: 1200 }, (_, number) => number);
  assert.deepEqual(await Promise.all(asked.map((number) => rows.add(number))), asked);
  assert.deepEqual(await rows.batches(), [500, 500, 200]);
});

test("large ones make smaller transactions, and one that is larger than any goes alone", async () => {
  await using rows = await numbers();
  const mib = 1024 * 1024;
  const sizes = [3, 3, 3, 3, 20, 1].map((size) => size * mib);
  await Promise.all(sizes.map((bytes, number) => rows.add(number, bytes)));
  assert.deepEqual(await rows.batches(), [2, 2, 1, 1]);
});

test("a mistake in one fails that one alone", async () => {
  await using rows = await numbers();
  const asked = [1, 2, 10_000, 3].map((number) => rows.add(number));
  const outcomes = await Promise.allSettled(asked);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ["fulfilled", "fulfilled", "rejected", "fulfilled"],
  );
  assert.ok(!(outcomes[2]?.status === "rejected" && outcomes[2].reason instanceof QueueUnavailable), "it is ours");
  assert.deepEqual(await rows.batches(), [1, 1, 1]);
});

test("closing finishes what was asked before, and takes nothing after", async () => {
  await using rows = await numbers();
  const before = rows.add(1);
  const closed = rows.lane.close();
  await assert.rejects(rows.add(2), QueueUnavailable);
  assert.equal(await before, 1);
  await closed;
  assert.deepEqual(await rows.batches(), [1]);
});
