import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import type { AdminFinding, AdminJobDetail, AdminPage } from "@lazaret/contract/admin";
import { byHash, byRule, writeRules, writeSignatures } from "../fixtures/corpus/payloads.ts";
import { type Buckets, bucketsIn } from "../support/buckets.ts";
import { answering, callbackReceiver, inTurn } from "../support/callback-receiver.ts";
import { testClamd } from "../support/clamd.ts";
import { eicar } from "../support/eicar.ts";
import { type FileServer, fileServer } from "../support/file-server.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { type TestService, testService } from "../support/service.ts";
import { until } from "../support/until.ts";

/** Everything that is not clean can be found later, whichever way it came in; and what happened to a job. */
const adminKey = "admin-key-of-the-tests";
const folder = temporaryFolder();
const buckets: Buckets = bucketsIn(join(folder.path, "buckets"));
let files: FileServer;
let service: TestService;

before(async () => {
  const signaturesDir = join(folder.path, "signatures");
  writeSignatures(signaturesDir);
  writeRules(join(folder.path, "rules"));
  const signatures = Object.fromEntries(
    readdirSync(signaturesDir).map((name) => [name, readFileSync(join(signaturesDir, name), "utf8")]),
  );
  const clamd = await testClamd({}, { signatures });
  files = await fileServer({
    "/by-hash": (_, response) => response.end(byHash.content),
    "/by-rule": (_, response) => response.end(byRule.content),
  });
  service = await testService({
    engine: "P",
    clamd: `unix:${clamd.socketPath}`,
    rulesDir: join(folder.path, "rules"),
    dataDir: join(folder.path, "data"),
    bucketsDir: buckets.path,
    allowHttpCallbacks: true,
    adminKeys: [adminKey],
  });
  atTheEnd(async () => {
    await service[Symbol.asyncDispose]();
    await files[Symbol.asyncDispose]();
    await clamd[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });
});

test("an infected upload is found by what it was, and its answer says no more than it did", async () => {
  const answer = await service.scan(byRule.content);
  assert.deepEqual(Object.keys((await answer.json()) as object).sort(), ["finding", "realfiletype", "size", "status"]);
  const requestId = answer.headers.get("x-request-id") ?? "";
  const { id: _, at, ...found } = await onlyFinding(requestId);
  assert.ok(Math.abs(at - Date.now()) < 600_000, `found at ${at}`);
  assert.deepEqual(found, {
    verdict: "infected",
    finding: byRule.finding,
    source: { kind: "upload" },
    size: byRule.content.length,
    type: found.type,
    sha256: sha256(byRule.content),
    tenant: "default",
    key: "key-1",
    request_id: requestId,
  });
});

test("a form's file is found by its name, whatever it is called", async () => {
  for (const name of ["rechnung ü\u202e.exe", 'quo"ted.exe']) {
    // As browsers write a quote.
    const sent = name.replaceAll('"', "%22");
    const form = new FormData();
    form.append("file", new Blob([eicar()]), name);
    assert.equal(await statusOf("/api/v1/scan/sync/form", { body: form }), "infected");
    const { source } = await onlyFinding(sent.toUpperCase());
    assert.deepEqual(source, { kind: "upload", name: sent });
  }
});

test("a link is found without its query, also one that could not be fetched", async () => {
  const url = `${files.origin}/by-hash?token=secret`;
  assert.equal(await statusOf("/api/v1/scan/sync/download", json({ download_url: url })), "infected");
  const found = await onlyFinding(byHash.finding);
  assert.deepEqual([found.sha256, found.source.kind], [sha256(byHash.content), "url"]);
  await statusOf("/api/v1/scan/sync/download", json({ download_url: `${files.origin}/missing?token=secret` }));
  const missing = await onlyFinding("/missing");
  assert.deepEqual([missing.verdict, missing.finding, missing.size], ["no", "scanner:download-failed", 0]);
  assert.doesNotMatch(JSON.stringify([found, missing]), /secret/);
});

test("an object is found with what was done to it; so is one that a pass over its bucket comes across", async () => {
  buckets.put("uploads", "sync/bad.exe", eicar());
  const object = { bucket: "uploads", key: "sync/bad.exe" };
  assert.equal(await statusOf("/api/v1/scan/sync/objstore", json(object)), "infected");
  const found = await onlyFinding("uploads/sync/bad.exe");
  assert.deepEqual([found.action, found.job_id], ["tag", undefined]);
  buckets.put("guarded", "deep/bad.exe", byRule.content);
  buckets.put("guarded", "good.txt", "good");
  const started = await admin("buckets/scan", json({ bucket: "guarded" }));
  assert.equal(started.status, 202, await started.text());
  await until("the pass has come across it", async () => (await findings("guarded/")).length > 0);
  const [guarded, ...more] = await findings("guarded/");
  assert.deepEqual([guarded?.finding, guarded?.action, more.length], [byRule.finding, "tag", 0]);
});

test("a job is found by its trace id, with the tries of its callback, and its finding leads to it", async () => {
  await using receiver = await callbackReceiver(inTurn(answering(503), answering(204)));
  const traceId = "order 4711/ü";
  const submitted = await service.call("/api/v1/scan/async/download", {
    ...json({
      download_url: `${files.origin}/by-rule?token=secret`,
      trace_id: traceId,
      callback_url: `${receiver.origin}/cb?token=secret`,
      callback_headers: { "X-Secret": "of-the-callback" },
    }),
    method: "POST",
  });
  assert.equal(submitted.status, 204, await submitted.text());
  const detail = async (): Promise<AdminJobDetail | undefined> => {
    const answer = await admin(`jobs/${encodeURIComponent(traceId)}`);
    return answer.ok ? ((await answer.json()) as AdminJobDetail) : void (await answer.text());
  };
  await until("the job is done", async () => (await detail())?.state === "done");
  const job = (await detail()) ?? assert.fail("it is not there");
  assert.deepEqual(
    job.life.map(({ what, attempt, status }) => [what, attempt, status].filter((word) => word !== undefined).join(" ")),
    ["accepted", "taken 1", "downloaded", "scanned", "kept", "told", "callback 1 503", "callback 2 204", "done"],
  );
  assert.deepEqual([job.verdict, job.sha256], ["infected", sha256(byRule.content)]);
  const found = await onlyFinding(traceId.toUpperCase());
  assert.deepEqual([found.job_id, found.finding], [job.id, byRule.finding]);
  assert.doesNotMatch(JSON.stringify([job.life, found]), /secret|of-the-callback/);
});

test("what is clean, or was refused before it was scanned, leaves no finding", async () => {
  const before = (await findings("")).length;
  assert.equal(await statusOf("/api/v1/scan/sync/download", json({ download_url: `${files.origin}/clean` })), "clean");
  const refused = await service.call("/api/v1/scan/sync/form", { method: "POST", body: "no form" });
  assert.ok(refused.status >= 400, await refused.text());
  assert.equal((await findings("")).length, before);
});

function json(body: object): RequestInit {
  return { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
}

async function statusOf(path: string, init: RequestInit): Promise<unknown> {
  const answer = await service.call(path, { method: "POST", ...init });
  const body = (await answer.json()) as Record<string, unknown>;
  return body.status;
}

function admin(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...init.headers, Authorization: `Bearer ${adminKey}` };
  return fetch(`${service.url}/admin/v1/${path}`, { ...init, headers });
}

async function findings(text: string): Promise<AdminFinding[]> {
  const answer = await admin(`findings?limit=100&q=${encodeURIComponent(text)}`);
  assert.equal(answer.status, 200);
  return ((await answer.json()) as AdminPage<AdminFinding>).entries;
}

async function onlyFinding(text: string): Promise<AdminFinding> {
  const [found, ...more] = await findings(text);
  assert.deepEqual(more, []);
  return found ?? assert.fail(`nothing was found by ${text}`);
}

function sha256(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}
