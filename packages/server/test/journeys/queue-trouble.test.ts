import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { anyEngine } from "../support/clamd.ts";
import { fileServer } from "../support/file-server.ts";
import { onFleet } from "../support/fleet.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { testService } from "../support/service.ts";
import { until } from "../support/until.ts";

test("a job that cannot be kept gets 503 and is not accepted; when the database is free again, the next one is", {
  skip: onFleet && "it locks SQLite; postgres.test.ts has the same",
}, async () => {
  using folder = temporaryFolder();
  await using files = await fileServer();
  await using service = await testService({ ...(await anyEngine()), dataDir: folder.path });
  const submit = (traceId: string): Promise<Response> =>
    service.call("/api/v1/scan/async/download", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ download_url: `${files.origin}/eicar`, trace_id: traceId }),
    });

  // The result can be read a moment before the job is settled: locking waits for that write.
  using other = new DatabaseSync(join(folder.path, "jobs.db"), { timeout: 10_000 });
  const poll = (traceId: string): Promise<Response> => service.call(`/api/v1/scan/async/result?trace_id=${traceId}`);
  assert.equal((await submit("twice")).status, 201);
  await until("the first submission has a result", async () => (await poll("twice")).status === 200);

  other.exec("BEGIN IMMEDIATE");
  const refused = await submit("twice");
  const { code } = (await refused.json()) as { code: string };
  assert.deepEqual([refused.status, code, refused.headers.get("retry-after")], [503, "queue_unavailable", "5"]);
  other.exec("ROLLBACK");

  assert.equal((await submit("accepted")).status, 201);
  await until("the accepted one has a result", async () => (await poll("accepted")).status === 200);
  assert.equal((await poll("twice")).status, 200, "a refused submission does not hide the result before it");
});
