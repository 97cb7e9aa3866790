import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { parseSubscriptions } from "../../src/platforms/shared/messages/subscriptions.ts";
import type { Settings } from "../../src/settings.ts";
import { bucketsIn, jsonLines } from "../support/buckets.ts";
import { answering, callbackReceiver } from "../support/callback-receiver.ts";
import { eicar } from "../support/eicar.ts";
import { type FileServer, fileServer } from "../support/file-server.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { objectWriter } from "../support/object-writer.ts";
import { type TestService, testService } from "../support/service.ts";
import { toldClock } from "../support/told-clock.ts";
import { until } from "../support/until.ts";

const folder = temporaryFolder();
const buckets = bucketsIn(join(folder.path, "buckets"));
let files: FileServer;
let number = 0;
before(async () => {
  files = await fileServer();
});
atTheEnd(async () => {
  await files[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

interface Attached extends TestService {
  dataDir: string;
}

/** The service with an engine P that declares this version. */
async function attachedTo(
  engineVersion: Settings["engineVersion"],
  more: Partial<Settings> = {},
  clock = {},
): Promise<Attached> {
  number += 1;
  const dataDir = join(folder.path, `data-${number}`);
  const parsed = parseSubscriptions('[{"protocol":"file","endpoint":"findings.jsonl"}]');
  if ("problem" in parsed) throw new Error(parsed.problem);
  const settings = { engine: "P", clamd: "none", dataDir, bucketsDir: buckets.path, engineVersion } as const;
  const told = { subscriptions: parsed.value, allowHttpCallbacks: true };
  return { ...(await testService({ ...settings, ...told, ...more }, {}, clock)), dataDir };
}

function post(service: TestService, path: string, body: object): Promise<Response> {
  const headers = { "Content-Type": "application/json" };
  return service.call(path, { method: "POST", headers, body: JSON.stringify(body) });
}

test("an engine older than the asynchronous API gets 400 on it; the synchronous API still works", async () => {
  await using service = await attachedTo("2.3.9");
  const bodies = { download: { download_url: `${files.origin}/clean` }, objstore: { bucket: "b", key: "k" } };
  for (const [endpoint, body] of Object.entries(bodies)) {
    const answer = await post(service, `/api/v1/scan/async/${endpoint}`, { ...body, trace_id: "t" });
    const { code, message } = (await answer.json()) as { code: string; message: string };
    assert.deepEqual([answer.status, code], [400, "unsupported_by_engine"]);
    assert.match(message, /the asynchronous API needs engine P >= 2\.4\.0; this installation declares 2\.3\.9/);
  }
  assert.equal((await service.scan("text")).status, 200);
});

test("an engine without callback_headers refuses them, and takes the rest", async () => {
  await using service = await attachedTo("2.5.0");
  await using receiver = await callbackReceiver(answering(204));
  const body = { download_url: `${files.origin}/clean`, callback_url: receiver.origin, callback_headers: {} };
  const refused = await post(service, "/api/v1/scan/async/download", body);
  assert.deepEqual([refused.status, ((await refused.json()) as { code: string }).code], [400, "unsupported_by_engine"]);
  const { callback_headers: _, ...rest } = body;
  assert.equal((await post(service, "/api/v1/scan/async/download", rest)).status, 204);
});

// spec: event-5, version-2
test("findings of an older engine have the fields of its version, and of one older still only words", async () => {
  // Where versions are kept, they are told.
  buckets.put("uploads", "bad.txt", "before");
  await objectWriter({ bucketsDir: buckets.path }).put({ bucket: "uploads", key: "bad.txt" }, eicar(), {
    keepOlder: true,
  });
  const body = { bucket: "uploads", key: "bad.txt", trace_id: "t", custom_data: "mine" };
  {
    await using service = await attachedTo("2.4.0");
    assert.equal((await post(service, "/api/v1/scan/async/objstore", body)).status, 201);
    const path = join(service.dataDir, "findings.jsonl");
    await until("the finding is told", () => jsonLines(path).length > 0);
    const [message] = jsonLines(path);
    assert.deepEqual(Object.keys(message ?? {}).toSorted(), [
      "action",
      "bucket",
      "custom_data",
      "finding",
      "key",
      "size",
      "status",
      "time",
      "trace_id",
      "version",
    ]);
  }
  await using words = await attachedTo("1.9.0");
  await post(words, "/api/v1/scan/sync/objstore", body);
  const path = join(words.dataDir, "findings.jsonl");
  await until("the finding is told", () => jsonLines(path).length > 0);
  assert.equal(
    JSON.parse(readFileSync(path, "utf8")),
    "uploads/bad.txt is infected, tag action executed\nfinding: EICAR_Test_File",
  );
});

test("a callback that finally fails on an engine without Download Scan Result events is a dead letter, not lost", async () => {
  const clock = toldClock();
  await using service = await attachedTo("3.4.0", { reportEventBus: true }, clock);
  await using receiver = await callbackReceiver(answering(500));
  const body = { download_url: `${files.origin}/clean`, callback_url: `${receiver.origin}/` };
  await post(service, "/api/v1/scan/async/download", body);
  const runs = (): Record<string, unknown>[] => service.lines.filter(({ event }) => event === "job");
  for (const invocations of [1, 2, 3, 4]) {
    await until(`invocation ${invocations} is over`, () => runs().length === invocations);
    clock.advance(60);
  }
  assert.equal(runs()[3]?.settlement, "buried");
  assert.deepEqual(jsonLines(join(service.dataDir, "events.jsonl")), []);
});
