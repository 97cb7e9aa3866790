import assert from "node:assert/strict";
import { test } from "node:test";
import { anyEngine } from "../support/clamd.ts";
import { fileServer } from "../support/file-server.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { testService } from "../support/service.ts";
import { until } from "../support/until.ts";

test("an api process takes jobs and runs none; a worker process on the same data runs them and has no API", async () => {
  using folder = temporaryFolder();
  await using files = await fileServer();
  const shared = { ...(await anyEngine()), dataDir: folder.path };
  await using api = await testService({ ...shared, role: "api" });
  const submitted = await api.call("/api/v1/scan/async/download", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ download_url: `${files.origin}/eicar`, trace_id: "t" }),
  });
  assert.equal(submitted.status, 201);
  const poll = (): Promise<Response> => api.call("/api/v1/scan/async/result?trace_id=t");
  assert.equal((await poll()).status, 404);
  assert.deepEqual(await statusOf(api.scan("a clean file")), "clean", "synchronous scans are the api's work");

  await using worker = await testService({ ...shared, role: "worker", apiKeys: [] });
  await until("the worker has run the job", async () => (await poll()).status === 200);
  assert.equal(await statusOf(poll()), "infected");
  assert.deepEqual(
    api.lines.filter(({ event }) => event === "job"),
    [],
  );
  assert.equal((await worker.call("/healthz")).status, 204);
  assert.equal((await worker.call("/api/v1/scan/async/result?trace_id=t")).status, 404);
  assert.equal((await worker.call("/api/v1/test")).status, 401, "a worker has no keys, and so accepts none");
});

async function statusOf(answer: Promise<Response>): Promise<string> {
  const { status } = (await (await answer).json()) as { status: string };
  return status;
}
