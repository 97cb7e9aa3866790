import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { temporaryFolder } from "../../test/support/leftovers.ts";
import type { ListedObject } from "../fetch/object-lister.ts";
import { EngineUnavailable, QueueUnavailable } from "../model/faults.ts";
import type { Report } from "../model/report.ts";
import type { ObjectSteps } from "../pipeline/finish-object.ts";
import { bookmarkFiles } from "../platforms/shared/bookmark-files.ts";
import type { Bookmark, Reached } from "./bookmarks.ts";
import { type GuardResult, guardBucket } from "./guard-bucket.ts";
import { scanObject } from "./scan-object.ts";

const clean: Report = { verdict: { kind: "clean" }, sizeBytes: 1, downloadSeconds: 0, scanSeconds: 0 };
const keys = Array.from({ length: 40 }, (_, index) => `key-${String(index).padStart(2, "0")}`);
/** Longer after the first change than clocks may be apart. */
const NOW = 1e9;
const never = new AbortController().signal;

async function* listed(changed: readonly string[] = []): AsyncIterable<ListedObject> {
  for (const key of keys) yield { bucket: "b", key, sizeBytes: 1, modifiedAt: changed.includes(key) ? NOW : 0 };
}

/** Scans that take as many turns of the event loop as they are told. */
function scans(turns: readonly number[]) {
  const done: string[] = [];
  let next = 0;
  return {
    done,
    async scan(object: ListedObject): Promise<GuardResult> {
      const left = turns[next++ % turns.length] ?? 0;
      for (let turn = 0; turn < left; turn += 1) await new Promise(setImmediate);
      done.push(object.key);
      return { object, report: clean, action: "tag" };
    },
  };
}

test("a pass that is interrupted anywhere and started again leaves no object out", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(5), { minLength: 1, maxLength: 7 }),
      fc.integer({ min: 1, max: 8 }),
      fc.nat(keys.length),
      async (turns, atOnce, stopAfter) => {
        let mark: Reached | undefined;
        const bookmark = {
          read: async () => mark,
          async write(reached: Reached) {
            mark = reached;
          },
          async clear() {
            mark = undefined;
          },
        };
        const stop = new AbortController();
        const all = scans(turns);
        const onResult = (): void => {
          if (all.done.length >= stopAfter) stop.abort();
        };
        const options = { filters: {}, scan: all.scan, atOnce, bookmark, now: () => NOW };
        await guardBucket({ ...options, objects: listed(), onResult }, stop.signal);
        const interrupted = all.done.length < keys.length;
        const rest = { ...options, objects: listed(), onResult: () => {}, ...(mark && { reached: mark }) };
        await guardBucket(rest, never);
        assert.deepEqual([...new Set(all.done)].toSorted(), keys);
        if (interrupted) assert.ok(all.done.length <= keys.length + atOnce, "only what was under way is scanned twice");
        assert.equal(mark, undefined, "a finished pass leaves no bookmark");
      },
    ),
    { numRuns: 200 },
  );
});

test("what came or changed since an interrupted pass began is scanned, wherever it stands", async () => {
  const all = scans([0]);
  const reached = { key: "key-30", startedAt: NOW - 1 };
  const options = { filters: {}, scan: all.scan, atOnce: 2, reached, onResult: () => {}, now: () => NOW };
  await guardBucket({ ...options, objects: listed(["key-03", "key-30"]) }, never);
  assert.deepEqual(all.done, ["key-03", "key-30", ...keys.slice(31)]);
});

test("a scan that cannot go on ends a pass that waits for more objects", async () => {
  async function* coming(): AsyncIterable<ListedObject> {
    yield* listed();
    await new Promise(() => {});
  }
  const scan = (): Promise<GuardResult> => Promise.reject(new Error("the database is gone"));
  const options = { filters: {}, scan, atOnce: 100, onResult: () => {} };
  await assert.rejects(guardBucket({ ...options, objects: coming() }, never), /the database is gone/);
});

test("a scan that cannot go on ends the pass, and the bookmark stands before it", async () => {
  using folder = temporaryFolder();
  const bookmark = bookmarkFiles(folder.path).of("b", {});
  const all = scans([0]);
  const failing = async (object: ListedObject): Promise<GuardResult> => {
    if (object.key === "key-07") throw new Error("the database is gone");
    return all.scan(object);
  };
  const options = { filters: {}, scan: failing, atOnce: 1, bookmark, onResult: () => {} };
  await assert.rejects(guardBucket({ ...options, objects: listed() }, never), /the database is gone/);
  assert.equal((await bookmark.read())?.key, "key-06");
});

test("a bookmark that cannot be moved for a while stands further back, and ends nothing", async () => {
  const all = scans([0]);
  const written: string[] = [];
  let away = 3;
  const bookmark: Bookmark = {
    read: async () => undefined,
    async write({ key }) {
      away -= 1;
      if (away >= 0) throw new QueueUnavailable("the database is away");
      written.push(key);
    },
    clear: async () => {},
  };
  const reported: string[] = [];
  const onQueueAway = (error: Error): void => void reported.push(error.message);
  let time = NOW;
  const now = (): number => {
    time += 10_000;
    return time;
  };
  const options = { filters: {}, scan: all.scan, atOnce: 1, bookmark, onResult: () => {}, onQueueAway, now };
  await guardBucket({ ...options, objects: listed() }, never);
  assert.deepEqual(all.done, keys);
  assert.equal(reported.length, 3);
  assert.equal(written.at(-1), keys.at(-1));
  const gone = { ...bookmark, write: () => Promise.reject(new Error("no such folder")) };
  await assert.rejects(guardBucket({ ...options, bookmark: gone, objects: listed() }, never), /no such folder/);
});

test("an engine that is away is waited for; a store that fails in passing is tried again, then reported", async () => {
  const object: ListedObject = { bucket: "b", key: "k", sizeBytes: 1, modifiedAt: 0 };
  const failure = { finding: "scanner:download-failed", code: "HTTP_503", message: "away", passing: true };
  const lost: Report = { ...clean, verdict: { kind: "unscannable", finding: failure.finding }, failure };
  const away = new EngineUnavailable("clamd is away");
  const broken = new EngineUnavailable("clamd died over it", { whileScanning: true });

  const objects: ObjectSteps = {
    planned: () => "tag",
    act: async () => ({ action: "tag", changed: false }),
    actInstead: async () => "no",
    announce: async () => {},
  };
  async function outcome(...answers: (Report | Error)[]): Promise<[Report, number[]]> {
    const waits: number[] = [];
    const scan = scanObject({
      findingKeeper: () => async () => {},
      async inspect() {
        const answer = answers.length > 1 ? answers.shift() : answers[0];
        if (answer instanceof Error) throw answer;
        return answer ?? clean;
      },
      objects,
      sleep: async (ms) => void waits.push(ms / 1000),
    });
    return [(await scan(object, never)).report, waits];
  }
  assert.deepEqual(await outcome(away, away, away, away, away, clean), [clean, [5, 5, 5, 5, 5]]);
  assert.deepEqual(await outcome(lost, lost, clean), [clean, [5, 10]]);
  assert.deepEqual(await outcome(lost), [lost, [5, 10, 15]]);
  let locked = 2;
  const patient = scanObject({
    findingKeeper: () => async () => {},
    inspect: async () => clean,
    objects: {
      ...objects,
      act: async () => ({ action: "delete", changed: false }),
      async announce() {
        locked -= 1;
        if (locked >= 0) throw new QueueUnavailable("the database is locked");
      },
    },
    sleep: async () => {},
  });
  assert.deepEqual(await patient(object, never), { object, report: clean, action: "delete" });
  const [report, waits] = await outcome(broken);
  assert.deepEqual([report.verdict, waits], [{ kind: "unscannable", finding: "scanner:engine-error" }, [5, 10, 15]]);
});
