import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { jobStore } from "../../src/platforms/embedded/job-store.ts";
import type { OpenDatabase } from "../../src/platforms/embedded/sqlite/open-database.ts";
import { migrate } from "../../src/platforms/embedded/sqlite/schema.ts";
import { sealer } from "../../src/platforms/shared/sealed.ts";
import { LEASE_SECONDS } from "../../src/queue/job-queue.ts";
import { directConnection } from "../support/direct-connection.ts";
import { jobQueueHistories } from "./job-queue-histories.ts";
import type { Stores } from "./stores.ts";

const secrets = sealer(randomBytes(32));

/** The same SQL in memory, without disk and thread, for the sake of speed. */
jobQueueHistories(
  {
    name: "the embedded platform",
    ordered: true,
    toldClock: true,
    async make() {
      const db = new DatabaseSync(":memory:");
      migrate(db, ":memory:");
      const open = { db, path: ":memory:", sealer: secrets, clockCheckEveryMs: 0 };
      return { ...storesOn(open, { now: Date.UTC(2026, 0, 1) }), [Symbol.asyncDispose]: async () => db.close() };
    },
  },
  400,
);

function storesOn(open: OpenDatabase, clock: { now: number }): Stores {
  const store = jobStore(directConnection(open), () => clock.now);
  return {
    ...store,
    sweep: store.upkeep.sweep,
    damageKept: async () => assert.fail("only the queue is looked at here"),
    leaseSeconds: LEASE_SECONDS,
    now: () => clock.now,
    async advance(seconds) {
      clock.now += seconds * 1000;
    },
    another: async () => storesOn(open, clock),
    async unwritable() {
      open.db.exec("PRAGMA query_only = 1");
      return storesOn(open, clock);
    },
    [Symbol.asyncDispose]: async () => {},
  };
}
