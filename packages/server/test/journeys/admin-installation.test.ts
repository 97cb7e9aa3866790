import assert from "node:assert/strict";
import { createHash, createPublicKey, verify } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type {
  AdminActivity,
  AdminAuditEntry,
  AdminBucket,
  AdminCallbackKeys,
  AdminCallbackTest,
  AdminDoctor,
  AdminEngines,
  AdminFinding,
  AdminFindingGroup,
  AdminKey,
  AdminMadeKey,
  AdminPage,
  AdminScanResult,
  AdminSelfTest,
  AdminSettings,
  AdminTask,
} from "@lazaret/contract/admin";
import { consoleChecks } from "../../src/cli/doctor.ts";
import { readSettings } from "../../src/settings/read-settings.ts";
import { adminKey, adminService, viewerKey } from "../support/admin.ts";
import { answering, callbackReceiver } from "../support/callback-receiver.ts";
import { anyEngine } from "../support/clamd.ts";
import { eicar } from "../support/eicar.ts";
import { fileServer } from "../support/file-server.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { testKey } from "../support/service.ts";
import { until } from "../support/until.ts";

/** Turns the text around for who reads it, and a piece of one that is no text. */
const HOSTILE = "invoice\u202egpj.exe <img src=x onerror=alert(1)>";

describe("an installation by /admin/v1", async () => {
  const folder = temporaryFolder();
  const bucketsDir = join(folder.path, "buckets");
  mkdirSync(join(bucketsDir, "uploads"), { recursive: true });
  const files = await fileServer();
  const read = readSettings({ flags: {}, env: {}, file: {} });
  assert.equal(read.kind, "ok");
  const engine = await anyEngine();
  const doctor = (): ReturnType<typeof consoleChecks> =>
    consoleChecks({ ...(read.kind === "ok" && read.settings), ...engine, dataDir: folder.path } as never);
  const admin = await adminService({ bucketsDir }, { doctor });
  after(async () => {
    await admin[Symbol.asyncDispose]();
    await files[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });
  const upload = async (bytes: Buffer | string, name = "file"): Promise<AdminScanResult> => {
    const headers = { "Content-Type": "application/octet-stream" };
    const path = `scan/upload?name=${encodeURIComponent(name)}`;
    const response = await admin.raw(path, { method: "POST", headers, body: new Uint8Array(Buffer.from(bytes)) });
    assert.equal(response.status, 200);
    return (await response.json()) as AdminScanResult;
  };

  test("uploads, links and objects are scanned, and what is not clean is found again", async () => {
    assert.equal((await upload("harmless")).verdict, "clean");
    const infected = await upload(eicar(), HOSTILE);
    assert.equal(infected.verdict, "infected");
    assert.equal(infected.sha256, createHash("sha256").update(eicar()).digest("hex"));
    const link = await admin.post<AdminScanResult>("scan/url", { url: `${files.origin}/eicar?token=secret` });
    assert.equal(link.verdict, "infected");
    assert.equal((await admin.post<AdminScanResult>("scan/url", { url: `${files.origin}/missing` })).verdict, "no");
    writeFileSync(join(bucketsDir, "uploads", "a.txt"), eicar());
    const object = await admin.post<AdminScanResult>("scan/object", { bucket: "uploads", key: "a.txt" });
    assert.equal(object.verdict, "infected");

    const findings = await admin.all<AdminFinding>("findings?limit=2");
    assert.deepEqual(
      findings.map(({ source, verdict }) => [source.kind, verdict]),
      [
        ["object", "infected"],
        ["url", "no"],
        ["url", "infected"],
        ["upload", "infected"],
      ],
    );
    assert.equal(findings[3]?.source.kind === "upload" && findings[3].source.name, HOSTILE);
    assert.equal(findings[3]?.key, "admin-1");
    assert.equal(JSON.stringify(findings).includes("secret"), false);
    assert.equal((await admin.all("findings?bucket=uploads")).length, 1);
    assert.equal((await admin.all("findings?verdict=no")).length, 1);
    assert.equal((await admin.all(`findings?q=${encodeURIComponent("INVOICE")}`)).length, 1);
    const groups = await admin.get<AdminPage<AdminFindingGroup>>("findings/groups?by=finding");
    assert.equal(groups.entries[0]?.count, 3);
    assert.equal(groups.entries[0]?.infected, 3);
    const csv = await (await admin.raw("findings/export?format=csv")).text();
    assert.equal(csv.trim().split("\r\n").length, 5);
    assert.equal((await admin.get<{ code: string }>("findings?after=nonsense", 400)).code, "invalid_cursor");

    const activity = await admin.get<AdminActivity>("activity?range=15m");
    assert.deepEqual(
      [activity.last_day.scanned, activity.last_day.clean, activity.last_day.infected, activity.last_day.no],
      [5, 1, 3, 1],
    );
    assert.equal(activity.recent[4]?.verdict, "clean");
    assert.equal(activity.recent[3]?.source.kind === "upload" && activity.recent[3].source.name, HOSTILE);
  });

  test("what the API would refuse is refused here, too", async () => {
    const codes = [
      await admin.post<{ code: string }>("scan/url", { url: "ftp://example.com/x" }, 400),
      await admin.post<{ code: string }>("scan/url", { url: "http://169.254.169.254/latest" }, 400),
      await admin.post<{ code: string }>("scan/url", {}, 400),
      await admin.post<{ code: string }>("scan/object", { bucket: "../x", key: "a" }, 400),
      await admin.post<{ code: string }>("callback-test", { url: "http://169.254.169.254/latest" }, 400),
    ].map(({ code }) => code);
    assert.deepEqual(codes, [
      "blocked_destination",
      "blocked_destination",
      "invalid_request",
      "invalid_object",
      "blocked_destination",
    ]);
    const headers = {
      Authorization: `Bearer ${adminKey}`,
      "Content-Type": "application/octet-stream",
      "Content-Length": String(200 * 1024 * 1024 + 1),
    };
    const asking = request(`${admin.service.url}/admin/v1/scan/upload`, { method: "POST", headers });
    asking.on("error", () => {});
    asking.flushHeaders();
    const [answer] = (await once(asking, "response")) as [IncomingMessage];
    assert.equal(answer.statusCode, 413);
    asking.destroy();
  });

  test("the engine says what it is, and finds what it must", async () => {
    const engines = await admin.get<AdminEngines>("engines");
    assert.equal(engines.engine, "Q");
    assert.equal(engines.ready, true);
    const clamd = engines.engines.find(({ name }) => name === "clamd");
    assert.match(clamd?.version ?? "", /^ClamAV \d/);
    assert.equal(clamd?.in_use, true);
    assert.ok((clamd?.problems ?? []).every(({ problem, cure }) => problem !== "" && cure !== ""));
    assert.ok(engines.scans.slots > 0);
    assert.deepEqual(
      engines.engines.map(({ name }) => name),
      ["clamd"],
    );
    for (const name of ["queue", "temporary-files", "disk"]) {
      assert.ok(
        engines.others.some((other) => other.name === name),
        name,
      );
    }
    const tested = await admin.post<AdminSelfTest>("engines/self-test", {});
    assert.equal(tested.ok, true, JSON.stringify(tested));
  });

  test("a bucket is scanned as a task that tells how far it is", async () => {
    for (let number = 0; number < 5; number += 1) writeFileSync(join(bucketsDir, "uploads", `${number}.txt`), "clean");
    const task = await admin.post<AdminTask>("buckets/scan", { bucket: "uploads" }, 202);
    await until("it has ended", async () => {
      return (await admin.get<AdminTask>(`tasks/${task.id}`)).ended_at !== undefined;
    });
    const { entries } = await admin.get<AdminPage<AdminBucket>>("buckets");
    const bucket = entries.find((each) => each.bucket === "uploads");
    assert.deepEqual([bucket?.objects, bucket?.infected, bucket?.task?.error], [6, 1, undefined]);
    assert.equal((await admin.post<{ code: string }>("buckets/scan", { bucket: "a/b" }, 400)).code, "invalid_object");
    const missing = await admin.post<AdminTask>("buckets/scan", { bucket: "not-there" }, 202);
    await until("it has failed", async () => {
      return (await admin.get<AdminTask>(`tasks/${missing.id}`)).error !== undefined;
    });
    await admin.get("tasks/unknown", 404);
  });

  test("a key is made, seen without its secret, used and revoked", async () => {
    const body = { name: "web", tenant: "shop", scopes: ["read", "scan"], expires_days: 30 };
    const made = await admin.post<AdminMadeKey>("keys", body, 201);
    assert.match(made.secret, /^lz_/);
    assert.deepEqual(made.key.scopes, ["scan", "read"]);
    const { entries } = await admin.get<AdminPage<AdminKey>>("keys");
    assert.equal(JSON.stringify(entries).includes(made.secret), false);
    assert.deepEqual(
      entries.map(({ name, from }) => `${from} ${name}`),
      ["settings key-1", "settings admin-1", "settings viewer-1", "made web"],
    );
    assert.equal((await admin.post<{ code: string }>("keys", body, 409)).code, "name_taken");
    for (const wrong of [{ name: "Web!" }, { name: "x", scopes: ["root"] }, { name: "x", scopes: [] }]) {
      await admin.post("keys", { scopes: ["scan"], ...wrong }, 400);
    }
    const revoked = await admin.post<AdminKey>("keys/revoke", { id: made.key.id });
    assert.equal(revoked.ended, true);
    await admin.post("keys/revoke", { id: made.key.id }, 404);
  });

  test("callbacks are shown with their key, and a test callback is signed and answered", async () => {
    await using receiver = await callbackReceiver(answering(204));
    const { signed, keys } = await admin.get<AdminCallbackKeys>("callback-keys");
    assert.equal(signed, true);
    assert.equal(keys[0]?.bits, 2048);
    const url = `${receiver.origin}/scanned?key=secret`;
    const tested = await admin.post<AdminCallbackTest>("callback-test", { url });
    assert.equal(tested.delivered, true, JSON.stringify(tested));
    assert.equal(tested.status, 204);
    const [posted] = receiver.requests;
    const timestamp = posted?.values("x-timestamp")[0] ?? "";
    const signature = Buffer.from(posted?.values("x-signature")[0] ?? "", "hex");
    const text = Buffer.concat([Buffer.from(`${timestamp}.${url}.`), posted?.body ?? Buffer.alloc(0)]);
    assert.equal(verify("sha256", text, createPublicKey(keys[0]?.spki_pem ?? ""), signature), true);
  });

  test("settings are shown with their origin, and secrets nowhere", async () => {
    const { settings } = await admin.get<AdminSettings>("settings");
    const byName = new Map(settings.map((each) => [each.name, each]));
    assert.equal(byName.get("apiKeys")?.value, "(1 set, hidden)");
    assert.equal(byName.get("engine")?.value, "Q");
    assert.equal(byName.get("port")?.variable, "LAZARET_PORT");
    const doctored = await admin.get<AdminDoctor>("doctor");
    assert.ok(doctored.checks.some(({ name }) => name === "clamd"));
    const bundle = await (await admin.raw("support-bundle")).text();
    assert.equal(typeof JSON.parse(bundle).version, "string");
    const audited = JSON.stringify(await admin.all<AdminAuditEntry>("audit"));
    for (const secret of [adminKey, viewerKey, testKey]) {
      for (const text of [bundle, JSON.stringify(settings), audited]) assert.equal(text.includes(secret), false);
    }
  });

  test("whatever was done is in the audit log", async () => {
    const entries = await admin.all<AdminAuditEntry>("audit?limit=3");
    const mine = entries.filter(({ who }) => who === "admin-1");
    for (const on of ["uploads", "uploads/a.txt", "shop/web"]) {
      assert.ok(
        mine.some((entry) => entry.on.includes(on)),
        on,
      );
    }
    assert.equal((await admin.get<{ code: string }>("audit?after=x", 400)).code, "invalid_cursor");
    assert.equal(readFileSync(join(bucketsDir, "uploads", "0.txt"), "utf8"), "clean");
  });
});

test("a clamd that the engine does without is not in use, whatever else is fine", async () => {
  await using admin = await adminService({ engine: "P", clamd: "none" });
  const { ready, engines, others } = await admin.get<AdminEngines>("engines");
  assert.equal(ready, true);
  assert.deepEqual(
    engines.map(({ name, in_use: inUse }) => [name, inUse]),
    [
      ["rules", true],
      ["clamd", false],
    ],
  );
  for (const name of ["scan-threads", "temporary-files"])
    assert.ok(
      others.some((other) => other.name === name),
      name,
    );
});
