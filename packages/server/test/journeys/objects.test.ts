import assert from "node:assert/strict";
import { existsSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { prepareDataFolder } from "../../src/platforms/embedded/data-folder.ts";
import { folderObjects } from "../../src/platforms/embedded/objects/objects.ts";
import { parseSubscriptions } from "../../src/platforms/shared/messages/subscriptions.ts";
import { type Buckets, bucketsIn, jsonLines } from "../support/buckets.ts";
import { answering, callbackReceiver } from "../support/callback-receiver.ts";
import { anyEngine } from "../support/clamd.ts";
import { eicar } from "../support/eicar.ts";
import { onFleet } from "../support/fleet.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { objectWriter } from "../support/object-writer.ts";
import { type TestService, testService } from "../support/service.ts";
import { until } from "../support/until.ts";

const folder = temporaryFolder();
const buckets: Buckets = bucketsIn(join(folder.path, "buckets"));
let service: TestService;
before(async () => {
  service = await testService({
    engine: "P",
    clamd: "none",
    dataDir: join(folder.path, "data"),
    bucketsDir: buckets.path,
    allowHttpCallbacks: true,
    reportEventBus: true,
    subscriptions: subscriptions([{ protocol: "file", endpoint: "findings.jsonl" }]),
  });
});
atTheEnd(async () => {
  await service[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

// spec: service-2, service-7, resource-6, resource-12, resource-13, event-6, event-8
test("an object is scanned, tagged and told to topic and bus; the poll has its result", async () => {
  buckets.put("uploads", "2026/a report.txt", "a clean report");
  const body = { bucket: "uploads", key: "2026/a report.txt", trace_id: "clean object", custom_data: "half \ud83d 💾" };
  const began = Date.now();
  const submitted = await submit(service, body);
  assert.deepEqual([submitted.status, submitted.headers.get("content-length")], [201, "0"]);
  assert.deepEqual(await resultOf(service, "clean object"), {
    status: "clean",
    size: 14,
    realfiletype: "ASCII text",
  });
  const message = await messageOf("findings.jsonl", (line) => line.trace_id === "clean object");
  const time = Date.parse(String(message.time));
  assert.ok(time >= began && time <= Date.now(), "a line in a file tells when it was written");
  assert.deepEqual(
    { ...message, time: "" },
    {
      bucket: "uploads",
      key: "2026/a report.txt",
      time: "",
      size: 14,
      status: "clean",
      action: "tag",
      trace_id: "clean object",
      custom_data: body.custom_data,
      realfiletype: "ASCII text",
    },
  );
  const event = await messageOf("events.jsonl", ({ detail }) => (detail as typeof message).trace_id === "clean object");
  const { time: _, ...detail } = message;
  assert.deepEqual(event.detail, detail);
  assert.deepEqual(
    [event.version, event["detail-type"], event.source, event.account, event.region, event.resources],
    ["0", "Scan Result", "com.scanner", "000000000000", "local", []],
  );
  assert.match(String(event.id), /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.match(String(event.time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.deepEqual(await buckets.tagsOf("uploads", body.key), { scanner: "clean" });
});

test("a version is told where versions are kept, and by it the object can be scanned again", async () => {
  const writer = objectWriter({ bucketsDir: buckets.path });
  buckets.put("kept", "a.txt", "the first");
  const first = { bucket: "kept", key: "a.txt" };
  await submit(service, { ...first, trace_id: "unkept" });
  const unkept = await messageOf("findings.jsonl", ({ trace_id }) => trace_id === "unkept");
  assert.equal("version" in unkept, false, "there is nothing kept yet");

  const version = await writer.put(first, "the second", { keepOlder: true });
  await submit(service, { ...first, trace_id: "second" });
  assert.equal((await messageOf("findings.jsonl", ({ trace_id }) => trace_id === "second")).version, version);
  await writer.put(first, "and a third", { keepOlder: true });
  await submit(service, { ...first, version, trace_id: "second again" });
  const again = await messageOf("findings.jsonl", ({ trace_id }) => trace_id === "second again");
  assert.deepEqual([again.version, again.size, again.status], [version, "the second".length, "clean"]);
});

// spec: resource-6, endpoint-2
test("with a callback_url: 204, and the callback tells where the object is, without what lets one in", async () => {
  await using receiver = await callbackReceiver(answering(204));
  buckets.put("uploads", "bad.txt", eicar());
  const response = await submit(service, {
    bucket: "uploads",
    key: "bad.txt",
    callback_url: `${receiver.origin}/done`,
  });
  assert.equal(response.status, 204);
  await until("the callback is there", () => receiver.requests.length > 0);
  const payload = JSON.parse(receiver.requests[0]?.body.toString() ?? "");
  assert.deepEqual(
    { ...payload, download_time: "", scan_time: "" },
    {
      status: "infected",
      finding: "EICAR_Test_File",
      size: 68,
      download_time: "",
      scan_time: "",
      download_url: `${service.publicUrl}/objects/uploads/bad.txt`,
      realfiletype: "ASCII text",
    },
  );
  assert.deepEqual(await buckets.tagsOf("uploads", "bad.txt"), { scanner: "infected" });
});

test("an infected object is deleted when that is asked for, and so told", async () => {
  using other = temporaryFolder();
  await using deleting = await testService({
    ...(await anyEngine()),
    dataDir: other.path,
    bucketsDir: buckets.path,
    deleteInfectedFiles: true,
    reportCleanFiles: false,
    subscriptions: subscriptions([{ protocol: "file", endpoint: "findings.jsonl" }]),
  });
  buckets.put("deleting", "bad.txt", eicar());
  buckets.put("deleting", "good.txt", "good");
  for (const key of ["good.txt", "bad.txt"]) {
    await submit(deleting, { bucket: "deleting", key, trace_id: key });
    await resultOf(deleting, key);
  }
  await until("the finding is told", () => jsonLines(join(other.path, "findings.jsonl")).length > 0);
  const [told, ...more] = jsonLines(join(other.path, "findings.jsonl"));
  assert.deepEqual([told?.key, told?.status, told?.action], ["bad.txt", "infected", "delete"]);
  assert.deepEqual(more, [], "clean objects are not told with ReportCleanFiles=false");
  assert.equal(existsSync(join(buckets.path, "deleting/bad.txt")), false);
  assert.deepEqual(await buckets.tagsOf("deleting", "good.txt"), { scanner: "clean" });
  assert.equal(existsSync(join(other.path, "events.jsonl")), false, "no events without ReportEventBus");
});

test("objects are left alone with TagFiles=false, and the tag has another key with TagKey", async () => {
  buckets.put("alone", "a.txt", "text");
  const settings = { ...(await anyEngine()), bucketsDir: buckets.path };
  {
    await using untagged = await testService({ ...settings, tagFiles: false });
    assert.equal((await scanNow(untagged, "alone", "a.txt")).status, "clean");
    assert.deepEqual(await buckets.tagsOf("alone", "a.txt"), {});
  }
  await using other = await testService({ ...settings, tagKey: "virus-scan" });
  assert.equal((await scanNow(other, "alone", "a.txt")).status, "clean");
  assert.deepEqual(await buckets.tagsOf("alone", "a.txt"), { "virus-scan": "clean" });
});

// spec: endpoint-8
test("the synchronous API scans an object too, and tells of it in the same ways", async () => {
  buckets.put("uploads", "now.txt", eicar());
  assert.deepEqual(await scanNow(service, "uploads", "now.txt"), {
    status: "infected",
    finding: "EICAR_Test_File",
    size: 68,
    realfiletype: "ASCII text",
  });
  assert.deepEqual(await buckets.tagsOf("uploads", "now.txt"), { scanner: "infected" });
  const message = await messageOf("findings.jsonl", ({ key }) => key === "now.txt");
  assert.deepEqual([message.status, message.action], ["infected", "tag"]);
  await messageOf("events.jsonl", ({ detail }) => (detail as { key?: string }).key === "now.txt");
});

test("an object that is not there is no, and so told; there is nothing to tag", async () => {
  const missing = { bucket: "uploads", key: "missing.txt", trace_id: "missing object" };
  assert.equal((await submit(service, missing)).status, 201);
  const result = { status: "no", finding: "scanner:object-not-found" };
  assert.deepEqual(await resultOf(service, "missing object"), result);
  const {
    version,
    time: _,
    ...message
  } = await messageOf("findings.jsonl", ({ trace_id }) => trace_id === "missing object");
  assert.deepEqual(message, { ...missing, size: 0, ...result, action: "no" });
  assert.equal(version, undefined);
  assert.deepEqual(await scanNow(service, "no-such-bucket", "x"), result);
  assert.deepEqual(await scanNow(service, "uploads", "now.txt", "0".repeat(32)), result);
});

// spec: event-8
test("an object over the limit is no, too big; its size is told and it is tagged no", async () => {
  buckets.put("uploads", "big.bin", "");
  truncateSync(join(buckets.path, "uploads/big.bin"), 200 * 1024 * 1024 + 1);
  const size = 200 * 1024 * 1024 + 1;
  const result = await scanNow(service, "uploads", "big.bin");
  assert.deepEqual(result, { status: "no", finding: "scanner:too-big", size });
  assert.deepEqual(await buckets.tagsOf("uploads", "big.bin"), { scanner: "no" });
  const message = await messageOf("findings.jsonl", ({ key }) => key === "big.bin");
  assert.deepEqual([message.size, message.action], [size, "tag"]);
});

test("an object whose scan is given up does not keep the clean of an earlier one", async () => {
  buckets.put("given-up", "big.bin", Buffer.alloc(20 * 1024 * 1024, "x"));
  const settings = { ...(await anyEngine()), bucketsDir: buckets.path };
  assert.equal((await scanNow(service, "given-up", "big.bin")).status, "clean");
  assert.deepEqual(await buckets.tagsOf("given-up", "big.bin"), { scanner: "clean" });
  await using impatient = await testService({ ...settings, jobTimeoutSeconds: 0 });
  await submit(impatient, { bucket: "given-up", key: "big.bin", trace_id: "given up" });
  const { status, finding } = (await resultOf(impatient, "given up")) as Record<string, string>;
  assert.deepEqual([status, finding], ["no", "scanner:timeout"]);
  assert.deepEqual(await buckets.tagsOf("given-up", "big.bin"), { scanner: "no" });
});

test("names of one character are names, not refused with 400", async () => {
  buckets.put("b", "k", "text");
  assert.equal((await scanNow(service, "b", "k")).status, "clean");
});

const badObjects: Record<string, object> = {
  "no bucket": { key: "k" },
  "an empty bucket": { bucket: "", key: "k" },
  "no key": { bucket: "b" },
  "an empty key": { bucket: "b", key: "" },
  "a bucket that is no string": { bucket: 1, key: "k" },
  "NUL in the bucket": { bucket: "b\0", key: "k" },
  "NUL in the key": { bucket: "b", key: "k\0" },
  "NUL in the version": { bucket: "b", key: "k", version: "\0" },
  "a key over 1,024 bytes": { bucket: "b", key: `k${"ü".repeat(512)}` },
  "a version over 1,024 characters": { bucket: "b", key: "k", version: "v".repeat(1025) },
  "a key that climbs": { bucket: "uploads", key: "../data/secret.key" },
  "a key that climbs in the middle": { bucket: "uploads", key: "a/../../data/secret.key" },
  "an absolute key": { bucket: "uploads", key: "/etc/passwd" },
  "a bucket that climbs": { bucket: "..", key: "data/secret.key" },
  "a bucket with a slash": { bucket: "uploads/..", key: "x" },
  "the store's own folder": { bucket: "uploads", key: ".lazaret/tags/x" },
  "half a character": { bucket: "uploads", key: "\ud83d" },
};
for (const [what, fields] of Object.entries(badObjects)) {
  test(`refused with 400 invalid_object: ${what}`, async () => {
    const answers = [
      await submit(service, { ...fields, trace_id: "refused" }),
      await post(service, "/api/v1/scan/sync/objstore", fields),
    ];
    for (const answer of answers) {
      assert.deepEqual([answer.status, ((await answer.json()) as { code: string }).code], [400, "invalid_object"]);
    }
  });
}

// spec: limit-10
test("a link to an object is good until it expires, and no other is", {
  skip: onFleet && "links are sealed with a key of the data folder here",
}, async () => {
  await using receiver = await callbackReceiver(answering(204));
  buckets.put("uploads", "linked file.txt", "linked");
  await submit(service, { bucket: "uploads", key: "linked file.txt", callback_url: `${receiver.origin}/` });
  await until("the callback is there", () => receiver.requests.length > 0);
  const { download_url } = JSON.parse(receiver.requests[0]?.body.toString() ?? "") as { download_url: string };
  assert.equal(new URL(download_url).search, "");
  for (const query of ["", "?expires=99999999999&signature=00"]) {
    const response = await fetch(`${download_url}${query}`);
    assert.deepEqual([response.status, ((await response.json()) as { code: string }).code], [403, "invalid_link"]);
  }
  const { secretKey } = await prepareDataFolder(join(folder.path, "data"));
  const linking = { bucketsDir: buckets.path, linkBase: () => service.url, secretKey };
  const object = { bucket: "uploads", key: "linked file.txt" };
  const link = await folderObjects({ ...linking, now: Date.now }).link(object, 60);
  const read = await fetch(link);
  assert.deepEqual([read.status, await read.text()], [200, "linked"]);
  assert.deepEqual([read.headers.get("content-length"), read.headers.get("content-disposition")], ["6", "attachment"]);
  assert.equal((await fetch(link, { method: "HEAD" })).headers.get("content-length"), "6");
  const old = await folderObjects({ ...linking, now: () => Date.now() - 12 * 3_600_000 - 1000 }).link(
    object,
    12 * 3600,
  );
  assert.equal((await fetch(old)).status, 403);
  const gone = await folderObjects({ ...linking, now: Date.now }).link({ ...object, key: "gone.txt" }, 60);
  assert.equal((await fetch(gone)).status, 404);
});

test("with LAZARET_DOWNLOADS=false both download endpoints are off, and objects go on", async () => {
  await using closed = await testService({ ...(await anyEngine()), bucketsDir: buckets.path, downloads: false });
  for (const kind of ["async", "sync"]) {
    const body = { download_url: "https://files.example.com/", trace_id: "t" };
    const answer = await post(closed, `/api/v1/scan/${kind}/download`, body);
    assert.deepEqual([answer.status, ((await answer.json()) as { code: string }).code], [403, "downloads_disabled"]);
  }
  buckets.put("uploads", "off.txt", "text");
  assert.equal((await scanNow(closed, "uploads", "off.txt")).status, "clean");
});

test("metrics count requests and jobs, the queue and the receivers", {
  skip: onFleet && "each process counts its own",
}, async () => {
  const response = await fetch(`${service.url}/metrics`);
  assert.match(response.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
  const text = await response.text();
  assert.match(text, /^lazaret_job_runs_total\{settlement="done",verdict="infected"\} \d+$/m);
  assert.match(text, /^lazaret_requests_total\{method="POST",status="400"\} \d+$/m);
  assert.match(text, /^lazaret_queue_ready \d+$/m);
  assert.match(text, /^lazaret_outbox_sent_total\{receiver="\w+",of="topic",protocol="file"\} [1-9]\d*$/m);
  assert.doesNotMatch(text, /findings\.jsonl/);
});

function subscriptions(list: object[]) {
  const parsed = parseSubscriptions(JSON.stringify(list));
  if ("problem" in parsed) throw new Error(parsed.problem);
  return parsed.value;
}

function post(to: TestService, path: string, body: object): Promise<Response> {
  const headers = { "Content-Type": "application/json" };
  return to.call(path, { method: "POST", headers, body: JSON.stringify(body) });
}

function submit(to: TestService, body: object): Promise<Response> {
  return post(to, "/api/v1/scan/async/objstore", body);
}

async function scanNow(
  to: TestService,
  bucket: string,
  key: string,
  version?: string,
): Promise<Record<string, unknown>> {
  const response = await post(to, "/api/v1/scan/sync/objstore", { bucket, key, version });
  assert.equal(response.status, 200);
  return (await response.json()) as Record<string, unknown>;
}

async function resultOf(of: TestService, traceId: string): Promise<unknown> {
  const poll = (): Promise<Response> => of.call(`/api/v1/scan/async/result?trace_id=${encodeURIComponent(traceId)}`);
  await until(`there is a result for ${traceId}`, async () => (await poll()).status === 200);
  return (await poll()).json();
}

async function messageOf(
  file: string,
  wanted: (line: Record<string, unknown>) => boolean,
): Promise<Record<string, unknown>> {
  const lines = (): Record<string, unknown>[] => jsonLines(join(folder.path, "data", file));
  await until(`the message is in ${file}`, () => lines().some(wanted));
  return lines().find(wanted) ?? {};
}
