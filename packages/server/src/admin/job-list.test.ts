import assert from "node:assert/strict";
import { test } from "node:test";
import type { AdminJob, AdminPage } from "@lazaret/contract/admin";
import { sampleJob } from "../../test/contracts/sample-job.ts";
import { jobCard } from "../model/job-card.ts";
import { BEGUN } from "../model/life.ts";
import type { Report } from "../model/report.ts";
import type { FinishedJob } from "../queue/job-history.ts";
import { type JobEntry, newJobId } from "../queue/job-queue.ts";
import { type JobStores, listJobs } from "./job-list.ts";

const START = 1_790_000_000_000;
const report: Report = { verdict: { kind: "clean" }, sizeBytes: 1, downloadSeconds: 0, scanSeconds: 0 };

function entry(second: number, traceId = `open-${second}`): JobEntry {
  const submittedAt = START + second * 1000;
  const job = jobCard({ ...sampleJob(), traceId, ...(second % 2 === 0 && { report }) });
  return { id: newJobId(submittedAt), state: "ready", submittedAt, attempts: 0, dueAt: submittedAt, job };
}

function finished(second: number): FinishedJob {
  const submittedAt = START + second * 1000;
  const job = jobCard({ ...sampleJob(), traceId: `done-${second}`, report });
  return { id: newJobId(submittedAt), submittedAt, finishedAt: submittedAt, attempts: 1, job, life: BEGUN };
}

/** Lists as the stores have them, newest first, a few at a time whatever is asked for. */
function stores(open: readonly JobEntry[], done: readonly FinishedJob[], few = 4): JobStores & { reads: number } {
  const page = <Entry>(
    all: readonly Entry[],
    after: string | undefined,
  ): { entries: Entry[]; next: string | undefined } => {
    const from = Number(after ?? 0);
    made.reads += 1;
    return { entries: all.slice(from, from + few), next: from + few < all.length ? String(from + few) : undefined };
  };
  const made: JobStores & { reads: number } = {
    reads: 0,
    browser: { list: async ({ after }) => page(open, after), show: async () => undefined },
    history: {
      list: async ({ after }) => page(done, after),
      show: async () => undefined,
      ofTrace: async () => [],
      count: async () => done.length,
    },
  };
  return made;
}

async function allPages(given: JobStores, query: string): Promise<AdminPage<AdminJob>[]> {
  const pages: AdminPage<AdminJob>[] = [];
  let after: string | undefined;
  do {
    const asked = new URLSearchParams(query);
    if (after !== undefined) asked.set("after", after);
    const page = await listJobs(given, asked);
    pages.push(page);
    after = page.next;
    assert.ok(pages.length < 500, "there is an end");
  } while (after !== undefined);
  return pages;
}

const names = (pages: readonly AdminPage<AdminJob>[]): (string | undefined)[] =>
  pages.flatMap(({ entries }) => entries.map(({ trace_id }) => trace_id));

test("jobs of both stores come in the order of their submission, each once, whatever the page's length", async () => {
  const seconds = Array.from({ length: 60 }, (_, second) => 59 - second);
  const isOpen = (second: number): boolean => second % 3 === 0 || (second > 20 && second < 35);
  const open = seconds.filter(isOpen).map((second) => entry(second));
  const done = seconds.filter((second) => !isOpen(second)).map(finished);
  const expected = seconds.map((second) => `${isOpen(second) ? "open" : "done"}-${second}`);
  for (const limit of [1, 2, 7, 60, 200]) {
    assert.deepEqual(names(await allPages(stores(open, done), `limit=${limit}`)), expected, String(limit));
  }
});

test("what is not done is filtered as well as what is", async () => {
  const open = [5, 4, 3, 2, 1].map((second) => entry(second));
  const given = (): JobStores => stores(open, [finished(0)]);
  assert.deepEqual(names(await allPages(given(), "verdict=clean")), ["open-4", "open-2", "done-0"]);
  assert.deepEqual(names(await allPages(given(), "verdict=infected")), []);
  assert.deepEqual(names(await allPages(given(), "q=OPEN-3")), ["open-3"]);
  assert.deepEqual(names(await allPages(given(), `since=${START + 4000}`)), ["open-5", "open-4"]);
  assert.deepEqual(names(await allPages(given(), `until=${START + 2000}`)), ["open-1", "done-0"]);
  assert.deepEqual(names(await allPages(given(), "source=object")), []);
  assert.deepEqual(names(await allPages(given(), "key=somebody-else")), []);
  assert.deepEqual(names(await allPages(given(), "tenant=another")), []);
});

test("a search for what is rare reads a bounded part, and says where to go on", async () => {
  const seconds = Array.from({ length: 400 }, (_, second) => 399 - second);
  const open = seconds.map((second) => entry(second, second === 0 ? "needle" : "hay"));
  const given = stores(open, []);
  const first = await listJobs(given, new URLSearchParams("q=needle"));
  assert.deepEqual(first.entries, []);
  assert.ok(first.next !== undefined);
  assert.ok(given.reads <= 12, String(given.reads));
  assert.deepEqual(names(await allPages(given, "q=needle")), ["needle"]);
});

test("a job that ends between two pages is neither lost nor shown twice", async () => {
  const open = [9, 8, 7, 6, 5, 4].map((second) => entry(second));
  const first = await listJobs(stores(open, []), new URLSearchParams("limit=3"));
  assert.deepEqual(names([first]), ["open-9", "open-8", "open-7"]);
  // The one shown last and the one that comes next are done by now.
  const ended = open.slice(2, 4).map(({ id, submittedAt, job }): FinishedJob => {
    assert.ok(job);
    return { id, submittedAt, finishedAt: submittedAt, attempts: 1, job, life: BEGUN };
  });
  const left = [...open.slice(0, 2), ...open.slice(4)];
  const query = new URLSearchParams({ limit: "3", after: first.next ?? "" });
  assert.deepEqual(names([await listJobs(stores(left, ended), query)]), ["open-6", "open-5", "open-4"]);
});

test("jobs of machines whose clocks differ are all listed", async () => {
  const open = [9, 3, 8, 7, 2, 12, 5].map((second) => entry(second));
  for (const limit of [1, 2, 3]) {
    const seen = names(await allPages(stores(open, [finished(4), finished(1)]), `limit=${limit}`));
    assert.equal(seen.length, 9, seen.join(" "));
    assert.equal(new Set(seen).size, 9);
  }
});

test("a time is asked for in vain of none that another clock wrote down later", async () => {
  const open = [entry(9), entry(3), entry(8), entry(2), entry(-100), entry(7)];
  const pages = await allPages(stores(open, []), `since=${START + 5000}`);
  // What is far too old ends the list.
  assert.deepEqual(names(pages), ["open-9", "open-8"]);
});

test("what is submitted between two pages is not among the older ones", async () => {
  const done = [5, 4, 3, 2, 1].map(finished);
  const first = await listJobs(stores([], done), new URLSearchParams("limit=2"));
  const query = new URLSearchParams({ limit: "2", after: first.next ?? "" });
  assert.deepEqual(names([await listJobs(stores([entry(9), entry(8)], done), query)]), ["done-3", "done-2"]);
});
