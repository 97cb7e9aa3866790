import assert from "node:assert/strict";
import { test } from "node:test";
import { answering, callbackReceiver } from "../support/callback-receiver.ts";
import { fileServer } from "../support/file-server.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { type CliRun, runCli } from "../support/run-cli.ts";
import { until } from "../support/until.ts";

const key = "key-of-the-crash";

/** Kills of the whole process, each at another moment of its work. */
const KILLS = 6;
const JOBS_PER_LIFE = 40;

test("jobs that were acknowledged survive kill -9 at any moment: each is delivered, none is lost", async () => {
  using folder = temporaryFolder();
  await using files = await fileServer();
  await using receiver = await callbackReceiver(answering(204));
  const acknowledged = new Set<string>();
  let number = 0;

  async function live(): Promise<{ run: CliRun; url: string }> {
    const env = {
      LAZARET_API_KEYS: key,
      LAZARET_PORT: "0",
      LAZARET_HOST: "127.0.0.1",
      LAZARET_CLAMD: "none",
      LAZARET_ALLOW_NETWORKS: "127.0.0.0/8",
      LAZARET_ALLOW_HTTP_CALLBACKS: "true",
    };
    const run = runCli(["serve"], { cwd: folder.path, env });
    const [, port] = await run.says(/"event":"listening".*"port":(\d+)/);
    return { run, url: `http://127.0.0.1:${port}` };
  }

  async function submitOne(url: string): Promise<void> {
    number += 1;
    const traceId = `job-${number}`;
    const response = await fetch(`${url}/api/v1/scan/async/download`, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
      body: JSON.stringify({
        download_url: `${files.origin}/eicar`,
        callback_url: `${receiver.origin}/`,
        trace_id: traceId,
      }),
    }).catch(() => undefined);
    if (response?.status === 204) acknowledged.add(traceId);
  }

  for (let life = 0; life < KILLS; life += 1) {
    const { run, url } = await live();
    const submitted = Array.from({ length: JOBS_PER_LIFE }, () => submitOne(url));
    // Each life ends when another share of its jobs is acknowledged: from none to all.
    const share = Math.floor((JOBS_PER_LIFE * life) / (KILLS - 1));
    const before = acknowledged.size;
    await until("enough is acknowledged", () => acknowledged.size - before >= share);
    run.child.kill("SIGKILL");
    await Promise.all(submitted);
    await run[Symbol.asyncDispose]();
  }

  await using last = (await live()).run;
  const delivered = (): Map<string, string> =>
    new Map(
      receiver.requests.map(({ body }) => {
        const { trace_id, status } = JSON.parse(body.toString());
        return [trace_id, status];
      }),
    );
  // Leases of the killed processes run out after 30 seconds.
  await until("every acknowledged job is delivered", () => [...acknowledged].every((id) => delivered().has(id)), {
    limitMs: 90_000,
  });
  assert.ok(acknowledged.size >= JOBS_PER_LIFE, `only ${acknowledged.size} were acknowledged`);
  for (const id of acknowledged) assert.equal(delivered().get(id), "infected", id);
  last.child.kill("SIGTERM");
  assert.equal(await last.ended(), 0);
});
