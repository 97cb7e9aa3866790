import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import type { FailedCallback } from "../../src/deliver/callback-failures.ts";
import { QueueUnavailable } from "../../src/model/faults.ts";
import { done } from "../../src/model/settlement.ts";
import type { JobStore } from "../../src/platforms/postgres/job-store.ts";
import { postgresKeys } from "../../src/platforms/postgres/signing-keys.ts";
import type { Lease } from "../../src/queue/job-queue.ts";
import { useOfAll } from "../../src/scan/usage-meter.ts";
import { type PostgresProxy, postgresProxy, type Side } from "../support/postgres-proxy.ts";
import { type PostgresPlace, postgresPlace, postgresStores } from "../support/postgres-stores.ts";
import { takeOne } from "./job-queue.ts";
import { cleanReport, sampleJob, traced } from "./sample-job.ts";

/** More messages than any write of ours takes. */
const MOST_MESSAGES = 60;

/** One process whose connection can be cut between any two messages, and another to look at what became of it. */
async function twoProcesses() {
  const all = new AsyncDisposableStack();
  const place = all.use(await postgresPlace());
  const proxy = all.use(await postgresProxy(place.server.url));
  const cut = all.use(await postgresStores(place, { ...place.options, url: proxy.url, pool: 1 }));
  const other = all.use(await postgresStores(place));
  return { place, proxy, cut, other, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

interface Write {
  /** The write, to be cut, or tried again and so not doubled. */
  act(): Promise<unknown>;
  /** Throws when it is lost or doubled. */
  check(outcome: { value: unknown } | { unknown: true }): Promise<void>;
}

/** Cuts the write after each message of each side, until it comes through uncut. */
async function cutEverywhere(proxy: PostgresProxy, cut: JobStore, prepare: () => Promise<Write>): Promise<number> {
  let cuts = 0;
  for (const side of ["client", "server"] satisfies Side[]) {
    for (let messages = 0; ; messages += 1) {
      assert.ok(messages < MOST_MESSAGES, "it is always cut");
      const { act, check } = await prepare();
      // A connection is open, and nothing is under way on it.
      await cut.queue.counts();
      const wasCut = proxy.cutAfter(messages, side);
      const outcome = await act().then(
        (value) => ({ value }),
        (error) => {
          assert.ok(error instanceof QueueUnavailable, String(error));
          return { unknown: true } as const;
        },
      );
      const over = !wasCut();
      await check(outcome);
      if (over) break;
      cuts += 1;
    }
  }
  return cuts;
}

async function stateOf({ server, options }: PostgresPlace, id: string): Promise<string> {
  const { schema } = options;
  const rows = await server.sql<{ state: string }>(
    `SELECT 'job ' || attempts || CASE WHEN lease_token IS NULL THEN ' free' ELSE ' leased' END AS state FROM ${schema}.jobs WHERE id = $1
     UNION ALL SELECT 'letter' FROM ${schema}.dead_letters WHERE id = $1`,
    [id],
  );
  return rows.map(({ state }) => state).join(", ");
}

test("added jobs are there once, and acknowledged, wherever the connection was cut", async () => {
  await using parts = await twoProcesses();
  const { proxy, cut, place } = parts;
  const cuts = await cutEverywhere(proxy, cut, async () => {
    const jobs = [sampleJob(), sampleJob()];
    return {
      act: () => Promise.all(jobs.map((job) => cut.queue.add(job))),
      async check(outcome) {
        assert.ok("value" in outcome, "it was refused");
        for (const { id } of jobs) assert.equal(await stateOf(place, id), "job 0 free");
      },
    };
  });
  assert.ok(cuts >= 8, `${cuts} cuts`);
});

test("progress and settlements are written once; where nobody can know, that is said, and it is written all the same", async () => {
  await using parts = await twoProcesses();
  const { proxy, cut, place, other } = parts;
  const job = sampleJob();
  const settlements = {
    save: {
      settle: (lease: Lease) => lease.save({ ...lease.job, report: cleanReport }),
      leaves: "job 1 leased",
    },
    extend: { settle: (lease: Lease) => lease.extend(), leaves: "job 1 leased" },
    done: { settle: (lease: Lease) => lease.settle(done), leaves: "" },
    again: {
      settle: (lease: Lease) => lease.settle({ kind: "again", afterSeconds: 5, job }),
      leaves: "job 0 free",
    },
    buried: {
      settle: (lease: Lease) => lease.settle({ kind: "buried", reason: "because", job }),
      leaves: "letter",
    },
  };
  for (const [name, { settle, leaves }] of Object.entries(settlements)) {
    await cutEverywhere(proxy, cut, async () => {
      await place.server.sql(`TRUNCATE ${place.options.schema}.jobs, ${place.options.schema}.dead_letters`);
      await other.queue.add(job);
      const lease = await takeOne(cut);
      return {
        act: () => settle(lease),
        async check(outcome) {
          if ("value" in outcome) assert.equal(outcome.value, true, name);
          assert.equal(await stateOf(place, job.id), leaves, name);
        },
      };
    });
  }
});

test("a result, its message and the settlement are all there or none, and once", async () => {
  await using parts = await twoProcesses();
  const { proxy, cut, place, other } = parts;
  let messages = 0;
  const cuts = await cutEverywhere(proxy, cut, async () => {
    const job = sampleJob();
    const { id: jobId, submittedAt, traceId = "" } = job;
    await other.queue.add(job);
    const lease = await takeOne(cut);
    messages += 1;
    return {
      act: () =>
        Promise.all([
          cut.results.keep({ ...traced(traceId), jobId, submittedAt }, cleanReport),
          cut.outbox.add([{ id: jobId, receiver: "r", body: "{}" }]),
          lease.settle(done),
        ]),
      async check() {
        assert.deepEqual(await other.results.find(traced(traceId)), cleanReport);
        assert.equal(await stateOf(place, jobId), "");
        assert.equal((await other.outbox.counts())[0]?.waiting, messages);
      },
    };
  });
  assert.ok(cuts >= 20, `${cuts} cuts`);
});

test("what is known of messages, scans, callbacks and keys is counted once", async () => {
  await using parts = await twoProcesses();
  const { proxy, cut, other, place } = parts;
  const message = { receiver: "r", body: "{}" };
  const counts = async () => (await other.outbox.counts())[0];
  const leased = async () => {
    await place.server.sql(`TRUNCATE ${place.options.schema}.outbox, ${place.options.schema}.outbox_counts`);
    await other.outbox.add([{ id: randomUUID(), ...message }]);
    const [lease] = await cut.outbox.take([{ receiver: "r", limit: 1 }]);
    assert.ok(lease);
    return lease;
  };
  await cutEverywhere(proxy, cut, async () => {
    const lease = await leased();
    return {
      act: () => lease.end({ kind: "sent" }),
      async check() {
        const { sent, waiting, waitingBytes } = (await counts()) ?? {};
        assert.deepEqual({ sent, waiting, waitingBytes }, { sent: 1, waiting: 0, waitingBytes: 0 });
      },
    };
  });
  await cutEverywhere(proxy, cut, async () => {
    const lease = await leased();
    return {
      act: () => lease.end({ kind: "failed", afterSeconds: 1 }),
      async check() {
        const { failedTries, waiting } = (await counts()) ?? {};
        assert.deepEqual({ failedTries, waiting }, { failedTries: 1, waiting: 1 });
      },
    };
  });
  const account = { tenant: "shop", key: "web" };
  let scans = 0;
  await cutEverywhere(proxy, cut, async () => {
    scans += 3;
    return {
      act: () =>
        Promise.all([cut.usage.add([{ ...account, accepted: 3, files: 3, bytes: 30 }]), cut.queue.add(sampleJob())]),
      async check(outcome) {
        assert.ok("value" in outcome);
        assert.deepEqual(useOfAll(await other.usage.thisMonth(account.tenant)), {
          accepted: scans,
          files: scans,
          bytes: scans * 10,
        });
      },
    };
  });
  let failures = 0;
  await cutEverywhere(proxy, cut, async () => {
    failures += 1;
    const failure: FailedCallback = {
      tenant: account.tenant,
      id: randomUUID(),
      failedAt: place.clock.now,
      downloadUrl: "https://files.example",
      callbackUrl: "https://receiver.example",
      error: { code: "HTTP_500", message: "no", metadata: {} },
    };
    return {
      act: () => cut.callbackFailures.record(failure),
      async check(outcome) {
        assert.ok("value" in outcome);
        assert.equal(
          (await other.callbackFailures.list({ tenant: account.tenant, limit: 100 }))?.failures.length,
          failures,
        );
      },
    };
  });
  const keys = new Set<string>();
  await cutEverywhere(proxy, cut, async () => ({
    act: () => postgresKeys(cut, "stack").load(),
    async check() {
      const { privateKey } = await postgresKeys(other, "stack").load();
      keys.add(String(privateKey.export({ type: "pkcs8", format: "pem" })));
      assert.equal(keys.size, 1, "there is another key");
    },
  }));
});
