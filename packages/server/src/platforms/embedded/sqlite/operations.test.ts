import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { sealer } from "../../shared/sealed.ts";
import { batchRunner, type Request, type RunBatch } from "./operations.ts";
import { migrate } from "./schema.ts";

function inMemory(): { db: DatabaseSync; run: RunBatch } {
  const db = new DatabaseSync(":memory:");
  migrate(db, "jobs.db");
  return { db, run: batchRunner({ db, path: "jobs.db", sealer: sealer(randomBytes(32)) }) };
}

function add(id: string, content = "{}"): Request {
  return { name: "add", args: { id, job: { submittedAt: 0, counts: "{}", content }, now: 1 } };
}

const counts: Request = { name: "counts", args: { now: 1 } };

test("requests are answered in their order, and reading sees what was written with it", () => {
  const { run } = inMemory();
  const outcomes = run([
    counts,
    add("a"),
    { name: "untilDue", args: { now: 5, held: [], perShare: 1, weights: [] } },
    add("b"),
  ]);
  assert.deepEqual(outcomes, [
    { kind: "value", value: { ready: 2, delayed: 0, leased: 0, oldestSeconds: 0 } },
    { kind: "value", value: undefined },
    { kind: "value", value: -4 },
    { kind: "value", value: undefined },
  ]);
});

test("a full disk fails all that write together and keeps nothing of them; reading goes on", () => {
  const { db, run } = inMemory();
  run([add("before")]);
  db.exec(`PRAGMA max_page_count = ${Number(db.prepare("PRAGMA page_count").get()?.page_count) + 5}`);
  const outcomes = run([add("small"), add("large", "x".repeat(100_000)), counts]);
  const failure = {
    message: "cannot use the job database at jobs.db: the disk is full",
    hint: "free some space; jobs accepted so far are kept",
    cause: "database or disk is full (SQLite 13)",
    passes: true,
  };
  assert.deepEqual(outcomes.slice(0, 2), [
    { kind: "unavailable", failure },
    { kind: "unavailable", failure },
  ]);
  assert.deepEqual(outcomes[2], {
    kind: "value",
    value: { ready: 1, delayed: 0, leased: 0, oldestSeconds: 0 },
  });
  assert.equal(run([add("small again")])[0]?.kind, "value");
});

test("a mistake in one request fails that one alone", () => {
  const { run } = inMemory();
  const wrong = { name: "add", args: { id: "wrong", job: { submittedAt: "never" }, now: 1 } } satisfies Request;
  const outcomes = run([add("a"), wrong, add("b"), counts]);
  assert.deepEqual(
    outcomes.map(({ kind }) => kind),
    ["value", "mistake", "value", "value"],
  );
  const [outcome] = run([counts]);
  assert.equal(outcome?.kind === "value" && (outcome.value as { ready: number }).ready, 2);
});

test("only what must survive a power cut waits for the disk", () => {
  const { db, run } = inMemory();
  const synchronous = (): unknown => db.prepare("PRAGMA synchronous").get()?.synchronous;
  const args = { now: 1, elapsed: 1, limit: 1, leaseMs: 1, maxAttempts: 3, held: [], perShare: 1 };
  const take: Request = { name: "take", args };
  run([add("a")]);
  assert.equal(synchronous(), FULL);
  run([take]);
  assert.equal(synchronous(), NORMAL);
  run([take, add("b")]);
  assert.equal(synchronous(), FULL);
});

const NORMAL = 1;
const FULL = 2;
