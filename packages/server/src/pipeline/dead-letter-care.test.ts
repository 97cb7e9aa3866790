import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleJob } from "../../test/contracts/sample-job.ts";
import { temporaryFolder } from "../../test/support/leftovers.ts";
import { until } from "../../test/support/until.ts";
import { log } from "../log.ts";
import { metrics } from "../metrics/metrics.ts";
import { metricsText } from "../metrics/metrics-text.ts";
import { openJobStore } from "../platforms/embedded/job-store.ts";
import { startDeadLetterCare } from "./dead-letter-care.ts";

const DAY_MS = 86_400_000;

test("dead letters are warned of two days before, then deleted and counted, and nothing is deleted at the start", async () => {
  using folder = temporaryFolder();
  const clock = { now: Date.UTC(2026, 0, 1) };
  const now = (): number => clock.now;
  const store = await openJobStore(folder.path, { now });
  await using _ = { [Symbol.asyncDispose]: store.close };
  const bury = async (): Promise<string> => {
    const job = sampleJob();
    await store.queue.add(job);
    const [lease] = await store.queue.take(1);
    await lease?.settle({ kind: "buried", reason: "test", job });
    return job.id;
  };
  const old = await bury();
  clock.now += 3 * DAY_MS;
  const young = await bury();

  const lines: Record<string, unknown>[] = [];
  const measured = metrics({ engine: "P" });
  const text = async (): Promise<string> => (await metricsText(await measured.families())).open;
  const say = measured.counted(log({ level: "info", format: "json", write: (line) => lines.push(JSON.parse(line)) }));
  const start = (): ReturnType<typeof startDeadLetterCare> =>
    startDeadLetterCare({ deadLetters: store.deadLetters, days: 14, log: say, now, checkEveryMs: 5 });

  clock.now += 8 * DAY_MS;
  {
    await using care = start();
    measured.watch(care.gauges);
    assert.match(await text(), /^lazaret_dead_letters_expiring 0$/m);
    clock.now += 2 * DAY_MS;
    await until("it is warned of", () => lines.length === 1);
    assert.deepEqual([lines[0]?.event, lines[0]?.level, lines[0]?.expiring], ["dead_letters", "error", 1]);
    assert.match(await text(), /^lazaret_dead_letters_expiring 1$/m);
  }
  clock.now += DAY_MS;
  assert.ok(await store.deadLetters.show(old), "until it was checked twice");
  await using care = start();
  void care;
  await until("it is deleted", () => lines.some(({ event }) => event === "dead_letter_expired"));
  const [expired] = lines.filter(({ event }) => event === "dead_letter_expired");
  assert.deepEqual([expired?.job_id, expired?.level], [old, "error"]);
  assert.equal(await store.deadLetters.show(old), undefined);
  assert.ok(await store.deadLetters.show(young));
  assert.match(await text(), /^lazaret_dead_letters_expired_total 1$/m);
});

test("of two services on one data folder one deletes each, so that it is logged and counted once", async () => {
  using folder = temporaryFolder();
  const clock = { now: Date.UTC(2026, 0, 1) };
  const now = (): number => clock.now;
  const stores = [await openJobStore(folder.path, { now }), await openJobStore(folder.path, { now })] as const;
  await using _ = { [Symbol.asyncDispose]: async () => void (await Promise.all(stores.map((each) => each.close()))) };
  const jobs = Array.from({ length: 40 }, () => sampleJob());
  for (const job of jobs) {
    await stores[0].queue.add(job);
    const [lease] = await stores[1].queue.take(1);
    await lease?.settle({ kind: "buried", reason: "test", job });
  }
  clock.now += 15 * DAY_MS;
  const expired: unknown[] = [];
  const say = log({
    level: "info",
    format: "json",
    write(line) {
      const { event, job_id } = JSON.parse(line);
      if (event === "dead_letter_expired") expired.push(job_id);
    },
  });
  const cares = stores.map(({ deadLetters }) =>
    startDeadLetterCare({ deadLetters, days: 14, log: say, now, checkEveryMs: 5 }),
  );
  await until("all are deleted", async () => (await stores[0].queue.counts()).buried === 0);
  await Promise.all(cares.map((care) => care[Symbol.asyncDispose]()));
  assert.deepEqual(expired.toSorted(), jobs.map(({ id }) => id).sort());
});

test("where the platform deletes them by itself there is nothing to do", async () => {
  const gone = async (): Promise<never> => assert.fail("not to be asked");
  const say = log({ level: "info", format: "json", write: () => {} });
  const deadLetters = { list: gone, show: gone, redrive: gone, purge: gone };
  await using care = startDeadLetterCare({ deadLetters, days: 14, log: say, now: Date.now, checkEveryMs: 1 });
  assert.deepEqual(care.gauges, []);
});
