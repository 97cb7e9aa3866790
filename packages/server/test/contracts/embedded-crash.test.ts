import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { openJobStore } from "../../src/platforms/embedded/job-store.ts";
import type { JobBrowser } from "../../src/queue/job-queue.ts";
import { temporaryFolder, watchChild } from "../support/leftovers.ts";

const queueScript = fileURLToPath(new URL("./queue-until-killed.ts", import.meta.url));
const upkeepScript = fileURLToPath(new URL("./upkeep-until-killed.ts", import.meta.url));

test("every job that was acknowledged survives kill -9 at any moment", async () => {
  using folder = temporaryFolder();
  const said = nothingSaid();
  for (let kill = 0; kill < 8; kill += 1) await heardUntilKilled(start(folder.path), said);
  await assertNothingLost(folder.path, said);
  await assertWaitsOrIsDone(folder.path, said);
});

test("also when several processes share the folder, and were first to open it at the same moment", async () => {
  using folder = temporaryFolder();
  const said = nothingSaid();
  const children = Array.from({ length: 4 }, () => start(folder.path));
  await Promise.all(children.map((child) => heardUntilKilled(child, said)));
  await assertNothingLost(folder.path, said);
  await assertWaitsOrIsDone(folder.path, said);
});

test("also while what is over is deleted and its room given back; the database stays whole", async () => {
  using folder = temporaryFolder();
  const said = nothingSaid();
  for (let kill = 0; kill < 6; kill += 1) {
    await heardUntilKilled(start(folder.path, upkeepScript), said, 3000);
    using db = new DatabaseSync(join(folder.path, "jobs.db"));
    assert.equal(db.prepare("PRAGMA integrity_check").get()?.integrity_check, "ok");
  }
  await assertNothingLost(folder.path, said);
});

/** Ids of jobs, by what the children said about them. */
type Said = Record<"added" | "finishing" | "finished", Set<string>>;

function nothingSaid(): Said {
  return { added: new Set(), finishing: new Set(), finished: new Set() };
}

async function assertNothingLost(dataDir: string, { added, finishing, finished }: Said): Promise<void> {
  const kept = await idsIn(dataDir);
  assert.ok(added.size > 10, `only ${added.size} jobs were added`);
  assert.deepEqual(
    [...added].filter((id) => !kept.has(id) && !finishing.has(id)),
    [],
    "added, and lost",
  );
  assert.deepEqual(
    [...finished].filter((id) => kept.has(id)),
    [],
    "done, and back again",
  );
}

/** Either in the queue or in the history, never in both, and never in neither. */
async function assertWaitsOrIsDone(dataDir: string, { added, finished }: Said): Promise<void> {
  const waiting = await idsIn(dataDir);
  const done = await doneIn(dataDir);
  assert.ok(done.size > 0, "none was done");
  assert.deepEqual(
    [...finished].filter((id) => !done.has(id)),
    [],
    "done, and not in the history",
  );
  assert.deepEqual(
    [...added].filter((id) => waiting.has(id) === done.has(id)),
    [],
    "in both, or in neither",
  );
}

async function doneIn(dataDir: string): Promise<Set<string>> {
  const store = await openJobStore(dataDir);
  const found = new Set<string>();
  try {
    let after: string | undefined;
    do {
      const page = await store.history.list({ limit: 500, ...(after !== undefined && { after }) });
      for (const { id } of page?.entries ?? []) found.add(id);
      after = page?.next;
    } while (after !== undefined);
    assert.equal(await store.history.count(), found.size);
  } finally {
    await store.close();
  }
  return found;
}

function start(dataDir: string, script = queueScript): ChildProcess {
  const child = spawn(process.execPath, [script, dataDir], { stdio: ["ignore", "pipe", "inherit"] });
  if (child.pid) watchChild(child.pid);
  return child;
}

/** Kills the child after a random number of lines, and hears what else it managed to say. */
async function heardUntilKilled(child: ChildProcess, said: Said, longest = 150): Promise<void> {
  const exit = once(child, "exit");
  if (!child.stdout) throw new Error("the child has no output");
  let left = 1 + Math.floor(Math.random() * longest);
  for await (const line of createInterface(child.stdout)) {
    const [what = "", id = ""] = line.split(" ");
    said[what as keyof Said].add(id);
    left -= 1;
    if (left === 0) child.kill("SIGKILL");
  }
  const [, signal] = await exit;
  assert.equal(signal, "SIGKILL", "it ended before it was killed");
}

/** All jobs in the folder, each of which must be readable. */
async function idsIn(dataDir: string): Promise<Set<string>> {
  const store = await openJobStore(dataDir);
  try {
    return new Set(await ids(store.browser));
  } finally {
    await store.close();
  }
}

async function ids(browser: JobBrowser): Promise<string[]> {
  const found: string[] = [];
  let after: string | undefined;
  do {
    const page = await browser.list({ limit: 500, ...(after !== undefined && { after }) });
    for (const { id, job } of page.entries) {
      assert.ok(job, `job ${id} cannot be read`);
      found.push(id);
    }
    after = page.next;
  } while (after !== undefined);
  return found;
}
