import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type JobStoreOptions, openJobStore } from "../../src/platforms/postgres/job-store.ts";
import { watchChild } from "../support/leftovers.ts";
import { newSchema, type TestPostgres, testPostgres } from "../support/postgres.ts";
import { until } from "../support/until.ts";

const script = fileURLToPath(new URL("./postgres-until-killed.ts", import.meta.url));

test("every job that was acknowledged survives kill -9 of its processes, which all migrated at the same moment", async () => {
  await using server = await testPostgres({ durable: true });
  const options = optionsFor(server);
  const said = nothingSaid();
  for (let round = 0; round < 3; round += 1) {
    const children = Array.from({ length: 3 }, () => start(options));
    using _ = endOf(children);
    await Promise.all(
      children.map(async (child) => {
        const heard = hear(child, said);
        const enough = said.added.size + 10 + Math.floor(Math.random() * 100);
        await until("enough was said", () => said.added.size >= enough, { limitMs: 60_000 });
        child.kill("SIGKILL");
        await heard;
      }),
    );
  }
  await assertNothingLost(options, said);
});

test("and kill -9 of the server, from which the processes go on by themselves", async () => {
  await using server = await testPostgres({ durable: true });
  const options = optionsFor(server);
  const said = nothingSaid();
  const children = Array.from({ length: 2 }, () => start(options));
  using _ = endOf(children);
  const heard = children.map((child) => hear(child, said));
  for (let kill = 0; kill < 4; kill += 1) {
    const enough = said.added.size + 20 + Math.floor(Math.random() * 200);
    await until("jobs are added again", () => said.added.size >= enough, { limitMs: 60_000 });
    await server.kill();
    await server.start();
  }
  const finished = said.finished.size;
  await until("jobs are finished again", () => said.finished.size > finished + 5, { limitMs: 90_000 });
  for (const child of children) child.kill("SIGKILL");
  await Promise.all(heard);
  await assertNothingLost(options, said);
});

/** Ids of jobs, by what the children said about them. */
type Said = Record<"added" | "finishing" | "finished", Set<string>>;

function nothingSaid(): Said {
  return { added: new Set(), finishing: new Set(), finished: new Set() };
}

function optionsFor({ url }: TestPostgres): JobStoreOptions {
  return { url, pool: 4, schema: newSchema(), secretKey: randomBytes(32), migrate: true };
}

function start({ secretKey, ...options }: JobStoreOptions): ChildProcess {
  const told = JSON.stringify({ ...options, secretKey: Buffer.from(secretKey).toString("hex") });
  const child = spawn(process.execPath, [script, told], { stdio: ["ignore", "pipe", "inherit"] });
  if (child.pid) watchChild(child.pid);
  return child;
}

/** Also of a test that failed. */
function endOf(children: readonly ChildProcess[]): Disposable {
  return {
    [Symbol.dispose]() {
      for (const child of children) child.kill("SIGKILL");
    },
  };
}

/** Until it was killed. */
async function hear(child: ChildProcess, said: Said): Promise<void> {
  const exit = once(child, "exit");
  if (!child.stdout) throw new Error("the child has no output");
  for await (const line of createInterface(child.stdout)) {
    const [what = "", id = ""] = line.split(" ");
    said[what as keyof Said].add(id);
  }
  const [, signal] = await exit;
  assert.equal(signal, "SIGKILL", "it ended before it was killed");
}

async function assertNothingLost(options: JobStoreOptions, { added, finishing, finished }: Said): Promise<void> {
  const { kept, inHistory } = await idsIn(options);
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
  assert.deepEqual(
    [...added].filter((id) => kept.has(id) === inHistory.has(id)),
    [],
    "both waiting and in the history, or neither",
  );
}

/** All jobs in the schema, each of which must be readable, and those that are done. */
async function idsIn(options: JobStoreOptions): Promise<Record<"kept" | "inHistory", Set<string>>> {
  const store = await openJobStore(options);
  try {
    const kept = new Set<string>();
    const inHistory = new Set<string>();
    let after: string | undefined;
    do {
      const page = await store.browser.list({ limit: 500, ...(after !== undefined && { after }) });
      for (const { id, job } of page.entries) {
        assert.ok(job, `job ${id} cannot be read`);
        kept.add(id);
      }
      after = page.next;
    } while (after !== undefined);
    do {
      const page = await store.history.list({ limit: 500, ...(after !== undefined && { after }) });
      for (const { id } of page?.entries ?? []) inHistory.add(id);
      after = page?.next;
    } while (after !== undefined);
    return { kept, inHistory };
  } finally {
    await store.close();
  }
}
