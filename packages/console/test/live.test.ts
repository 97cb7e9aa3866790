import assert from "node:assert/strict";
import { before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { atTheEnd } from "../../server/test/support/leftovers.ts";
import { until } from "../../server/test/support/until.ts";
import { assertNone, launch, reader } from "./browser.ts";
import { type FakeService, fakeService } from "./fake-service.ts";
import { sampleJob } from "./wire-samples.ts";

let browser: Browser;
before(async () => {
  browser = await launch();
});
atTheEnd(() => browser.close());

const rows = (page: Page): Promise<string[]> => page.locator("tbody tr td:nth-child(4)").allInnerTexts();
const submitted = (number: number): ReturnType<typeof sampleJob> =>
  sampleJob(number, { state: "queued", submitted_at: Date.now(), trace_id: `new-${number}` });

async function listening(fake: FakeService): Promise<void> {
  await until("the page listens", () => fake.streams.size === 1);
}

test("a job appears without a reload, and its row follows it", async () => {
  await using fake = await fakeService();
  await using someone = await reader(browser, fake.url);
  await someone.at("/jobs");
  await listening(fake);
  const job = submitted(500);
  fake.jobs.unshift(job);
  fake.emit({ type: "job", job });
  await someone.page.getByText("new-500").waitFor();
  const row = someone.page.locator("tr", { hasText: "new-500" });
  const taken = { ...job, state: "under_way" as const };
  fake.jobs[0] = taken;
  fake.emit({ type: "job", job: taken, phase: "downloading" });
  await row.getByText("downloading").waitFor();
  const done = { ...job, state: "done" as const, verdict: "infected" as const, finding: "Win.Test.EICAR_HDB-1" };
  fake.jobs[0] = done;
  fake.emit({ type: "job", job: done });
  await row.getByText("infected").waitFor();
  assert.equal((await rows(someone.page)).filter((text) => text === "new-500").length, 1);
});

test("while the pointer is on the list new rows do not push it: a bar collects them", async () => {
  await using fake = await fakeService();
  await using someone = await reader(browser, fake.url);
  await someone.at("/jobs");
  await listening(fake);
  await someone.page.locator("tbody tr").nth(1).hover();
  const before = await rows(someone.page);
  for (let number = 500; number < 514; number += 1) {
    const job = submitted(number);
    fake.jobs.unshift(job);
    fake.emit({ type: "job", job });
  }
  await someone.page.getByRole("button", { name: "14 new" }).waitFor();
  assert.deepEqual(await rows(someone.page), before);
  await someone.page.getByRole("button", { name: "14 new" }).click();
  await someone.page.getByText("new-513").waitFor();
  const after = await rows(someone.page);
  assert.equal(after[0], "new-513");
  assert.equal(new Set(after).size, after.length);
  assert.equal(after.length, before.length + 14);
});

test("paused, the list stands still and says what is new; resumed, it goes on", async () => {
  await using fake = await fakeService();
  await using someone = await reader(browser, fake.url);
  await someone.at("/jobs");
  await listening(fake);
  await someone.page.getByRole("button", { name: "live", exact: true }).click();
  fake.emit({ type: "job", job: submitted(500) });
  await someone.page.getByRole("button", { name: "1 new" }).waitFor();
  assert.equal(await someone.page.getByText("new-500").count(), 0);
  await someone.page.getByRole("button", { name: "paused" }).click();
  await someone.page.getByRole("button", { name: "1 new" }).click();
  await someone.page.getByText("new-500").waitFor();
});

test("a server that is gone: reconnecting; when it is back: live, and no row is lost or double", async () => {
  await using fake = await fakeService();
  await using someone = await reader(browser, fake.url, { expected: /ERR_|Failed to load/ });
  await someone.at("/jobs");
  await listening(fake);
  await someone.page.getByRole("status").getByText("live").waitFor();
  await fake.stop();
  await someone.page.getByRole("status").getByText("reconnecting").waitFor();
  // While nobody told the page.
  fake.jobs.unshift(submitted(501), submitted(500));
  await fake.listen();
  await someone.page.getByRole("status").getByText("live").waitFor();
  await someone.page.getByText("new-501").waitFor();
  const after = await rows(someone.page);
  assert.equal(new Set(after).size, after.length);
  assert.deepEqual(
    after,
    fake.jobs.map(({ trace_id: trace }) => trace),
  );
  assertNone(someone.complaints, "nothing else went wrong");
});

test("a stream that is refused for a while is tried again", async () => {
  await using fake = await fakeService();
  fake.answers.set("events", { status: 503, body: { message: "busy" } });
  await using someone = await reader(browser, fake.url, { expected: /503/ });
  await someone.page.getByRole("status").getByText("reconnecting").waitFor();
  fake.answers.clear();
  await someone.page.getByRole("status").getByText("live").waitFor();
});

test("ten thousand jobs: pages of a hundred, older ones by the address, and back", async () => {
  await using fake = await fakeService({ jobs: 10_000 });
  await using someone = await reader(browser, fake.url);
  await someone.at("/jobs");
  assert.equal((await rows(someone.page)).length, 100);
  await someone.page.getByRole("link", { name: "Older" }).click();
  await someone.page.getByText("order-9899", { exact: true }).waitFor();
  assert.match(someone.page.url(), /after=100/);
  assert.equal((await rows(someone.page)).length, 100);
  await someone.page.goBack();
  await someone.page.getByText("order-9999", { exact: true }).waitFor();
  await someone.page.getByRole("link", { name: /^dead/ }).click();
  await someone.page.waitForFunction(() => document.querySelectorAll("tbody .state.dead").length === 100);
  assert.match(someone.page.url(), /state=dead/);
});

test("thousands of events leave as many elements and listeners as there were, and no more memory", async () => {
  await using fake = await fakeService({ jobs: 300 });
  await using someone = await reader(browser, fake.url);
  await someone.at("/jobs");
  await listening(fake);
  // A list that is read again is short again: only events make this one.
  fake.answers.set("jobs", { status: 503, body: { message: "not now" } });
  const session = await someone.context.newCDPSession(someone.page);
  let number = 1000;
  const flood = async (rounds: number): Promise<void> => {
    for (let round = 0; round < rounds; round += 1) {
      for (let each = 0; each < 200; each += 1) {
        number += 1;
        fake.jobs = [submitted(number), ...fake.jobs.slice(0, 299)];
        fake.emit({ type: "job", job: submitted(number) });
      }
      const newest = `new-${number}`;
      await someone.page.waitForFunction(
        (text) => document.querySelector("td:nth-child(4)")?.textContent === text,
        newest,
      );
    }
  };
  const measured = async (): Promise<{ nodes: number; listeners: number; heap: number }> => {
    await session.send("HeapProfiler.collectGarbage");
    const { nodes, jsEventListeners } = await session.send("Memory.getDOMCounters");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    return { nodes, listeners: jsEventListeners, heap: usedSize };
  };
  await flood(3);
  const before = await measured();
  await flood(6);
  const after = await measured();
  // What grows without end has grown by 1,200 rows of some 30 nodes.
  assert.ok(after.nodes < before.nodes + 10_000, `${before.nodes} → ${after.nodes} nodes`);
  assert.ok(after.listeners < before.listeners + 50, `${before.listeners} → ${after.listeners} listeners`);
  assert.ok(after.heap < before.heap * 1.5 + 2_000_000, `${before.heap} → ${after.heap} bytes`);
  assert.ok((await rows(someone.page)).length <= 200);
});
