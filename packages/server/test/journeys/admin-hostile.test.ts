import assert from "node:assert/strict";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { AdminJobDetail, AdminMadeKey } from "@lazaret/contract/admin";
import { adminService, listen, viewerKey } from "../support/admin.ts";
import { answering, callbackReceiver } from "../support/callback-receiver.ts";
import { eicar } from "../support/eicar.ts";
import { fileServer } from "../support/file-server.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { until } from "../support/until.ts";

test("asking only for the headers of the stream of events takes nobody's place", async () => {
  await using admin = await adminService();
  const headers = { Authorization: `Bearer ${viewerKey}` };
  for (let count = 0; count < 101; count += 1) {
    const { status } = await admin.raw("events", { method: "HEAD", headers });
    assert.equal(status, 200, `after ${count}`);
  }
  await using heard = await listen(admin);
  await until("it is heard", () => heard.text !== "");
});

test("a viewer who opens all streams of events there are keeps no administrator out", async () => {
  await using admin = await adminService();
  const left = new AbortController();
  const asViewer = (): Promise<Response> =>
    admin.raw("events", { signal: left.signal, headers: { Authorization: `Bearer ${viewerKey}` } });
  const answers = await Promise.all(Array.from({ length: 50 }, asViewer));
  const refused = answers.filter(({ status }) => status === 429);
  assert.equal(answers.filter(({ status }) => status === 200).length, 10);
  assert.equal(refused.length, 40);
  const [first] = refused;
  assert.match(first?.headers.get("retry-after") ?? "", /^\d+$/);
  assert.match((await first?.text()) ?? "", /"code":"too_many_streams".*"hint":"close a page/);
  await using heard = await listen(admin);
  await until("the administrator hears", () => heard.text !== "");
  left.abort();
});

test("no made key is called as those of the settings are: the audit log tells people apart by name", async () => {
  await using admin = await adminService();
  for (const name of ["admin-1", "viewer-12", "key-1"]) await admin.post("keys", { name, scopes: ["viewer"] }, 400);
  const { key } = await admin.post<AdminMadeKey>("keys", { name: "admin-one", scopes: ["viewer"] }, 201);
  assert.equal(key.name, "admin-one");
});

test("a rate that no timer can wait for is refused, and not taken for no rate at all", async () => {
  await using admin = await adminService();
  for (const per_second of [1e-9, 0.0009, 0, -1, 10_001, "1", null]) {
    await admin.post("dead-letters/redrive", { all: true, per_second }, 400);
  }
  for (const per_second of [0.001, 10_000]) await admin.post("dead-letters/redrive", { all: true, per_second }, 202);
});

test("who looks at a job comes by no signature that a receiver would take for one of now", async () => {
  await using files = await fileServer();
  await using receiver = await callbackReceiver(answering(200));
  let ahead = 0;
  await using admin = await adminService({}, { now: () => Date.now() + ahead });
  const callback_url = `${receiver.origin}/done`;
  await admin.submit({ download_url: `${files.origin}/clean`, trace_id: "signed", callback_url });
  const look = (): Promise<AdminJobDetail> => admin.get<AdminJobDetail>("jobs/signed");
  await until("it is done", async () => (await look()).state === "done");
  ahead += 3_600_000;
  const { callback, submitted_at } = await look();
  const at = callback?.signature?.parts.find(({ name }) => name === "timestamp")?.value;
  assert.equal(at, String(submitted_at));
  assert.equal(callback?.signature?.verifies, true);
});

test("names of files in an export are text for every spreadsheet, whatever separates its lists", async () => {
  await using admin = await adminService();
  const headers = { "Content-Type": "application/octet-stream" };
  for (const name of ["=1+1", "a\n=1+1", "b;=1+1", "c\t+1", "＝1+1"]) {
    const path = `scan/upload?${new URLSearchParams({ name })}`;
    const { status } = await admin.raw(path, { method: "POST", headers, body: new Uint8Array(eicar()) });
    assert.equal(status, 200);
  }
  const csv = await (await admin.raw("findings/export?format=csv")).text();
  assert.equal(csv.match(/1\+1|\+1/g)?.length, 5);
  for (const separator of [",", ";", "\t"]) {
    const cells = csv.split(/\r?\n/).flatMap((line) => line.split(separator).map((cell) => cell.replace(/^"/, "")));
    for (const cell of cells) assert.doesNotMatch(cell, /^[=+@＝-]/, `${JSON.stringify(separator)}: ${cell}`);
  }
});

test("while the store is away the console says so, and the process goes on", async () => {
  using folder = temporaryFolder();
  const dataDir = join(folder.path, "data");
  await using admin = await adminService({ dataDir });
  await using heard = await listen(admin);
  await until("it is heard", () => heard.text !== "");
  renameSync(dataDir, join(folder.path, "away"));
  try {
    for (const path of ["jobs/counts", "jobs", "findings", "dead-letters", "dead-letters/receivers", "audit", "keys"]) {
      await admin.get(path, 503);
    }
    await admin.get("support-bundle");
  } finally {
    renameSync(join(folder.path, "away"), dataDir);
  }
  await until("the store is back", async () => (await admin.raw("jobs/counts")).status === 200);
});
