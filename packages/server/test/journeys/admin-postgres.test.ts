import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import type {
  AdminDeadLetter,
  AdminFinding,
  AdminJob,
  AdminJobCounts,
  AdminJobDetail,
  AdminTask,
} from "@lazaret/contract/admin";
import { newSecret } from "../../src/access/api-key.ts";
import { adminService } from "../support/admin.ts";
import { answering, callbackReceiver } from "../support/callback-receiver.ts";
import { visit } from "../support/console.ts";
import { eicar } from "../support/eicar.ts";
import { fileServer } from "../support/file-server.ts";
import { newSchema, testPostgres } from "../support/postgres.ts";
import { testService } from "../support/service.ts";
import { until } from "../support/until.ts";

test("on PostgreSQL every API lists the jobs, findings and dead letters of the whole fleet", async () => {
  await using files = await fileServer();
  await using receiver = await callbackReceiver(answering(500));
  await using server = await testPostgres();
  const fleet = {
    platform: "postgres",
    postgresUrl: server.url,
    postgresSchema: newSchema(),
    secretKey: randomBytes(32).toString("hex"),
  } as const;
  const options = { sleep: async (): Promise<void> => {} };
  await using one = await adminService(fleet, options);
  await using other = await adminService({ ...fleet, role: "api" }, options);

  for (let number = 0; number < 7; number += 1) {
    await one.submit({ download_url: `${files.origin}/clean`, trace_id: `fleet-${number}` });
  }
  await one.submit({ download_url: `${files.origin}/eicar?token=secret`, trace_id: "bad" });
  await until("all are done", async () => (await other.get<AdminJobCounts>("jobs/counts")).done === 8);
  const traces = (await other.all<AdminJob>("jobs?limit=3")).map(({ trace_id }) => trace_id);
  assert.deepEqual(traces, ["bad", ...Array.from({ length: 7 }, (_, number) => `fleet-${6 - number}`)]);
  const bad = await other.get<AdminJobDetail>("jobs/bad");
  assert.equal(bad.verdict, "infected");
  assert.equal(bad.life.at(-1)?.what, "done");

  const headers = { "Content-Type": "application/octet-stream" };
  await other.raw("scan/upload?name=mail.eml", { method: "POST", headers, body: new Uint8Array(eicar()) });
  const findings = await one.all<AdminFinding>("findings?limit=1");
  assert.deepEqual(
    findings.map(({ source }) => source.kind),
    ["upload", "url"],
  );
  for (const list of ["jobs", "findings", "audit"]) await one.get(`${list}?after=nonsense`, 400);
  // Forged ones that have our form and no place of ours in it.
  const forged = (place: object): string => Buffer.from(JSON.stringify(place)).toString("base64url");
  for (const at of ["abc", "1.5", "1e400", "-1", "1.abc"]) {
    await one.get(`jobs?after=${forged({ open: { after: at }, done: {} })}`);
    await one.get(`dead-letters?after=${forged({ letters: at })}`);
  }
  for (const at of ["\u0000", "", "x".repeat(300)]) {
    await one.get(`jobs?after=${forged({ open: { after: at }, done: {} })}`, 400);
    await one.get(`dead-letters?after=${forged({ letters: at })}`, 400);
  }
  for (const act of ["callback", "rescan"]) await one.post(`jobs/%00/${act}`, {}, 404);
  await one.post("dead-letters/delete", { ids: ["\u0000"] }, 400);

  await one.submit({ download_url: `${files.origin}/clean`, trace_id: "dead", callback_url: `${receiver.origin}/x` });
  const job = (): Promise<AdminJobDetail> => other.get<AdminJobDetail>("jobs/dead");
  await until("it is put back", async () => (await job()).state === "retrying");
  await until("it is given up", async () => (await job()).state === "dead", { limitMs: 90_000 });
  assert.equal((await other.all<AdminDeadLetter>("dead-letters")).length, 1);
  const task = await other.post<AdminTask>("dead-letters/delete", { all: true }, 202);
  await until("it is deleted", async () => (await other.get<AdminTask>(`tasks/${task.id}`)).done === 1);
  await other.get("jobs/dead", 404);
});

test("on PostgreSQL a session that one API began is known to every other, whatever keys open the console", async () => {
  await using server = await testPostgres();
  const fleet = {
    platform: "postgres",
    postgresUrl: server.url,
    postgresSchema: newSchema(),
    secretKey: randomBytes(32).toString("hex"),
    role: "api",
    adminKeys: [],
    viewerKeys: [],
  } as const;
  const { id, secret, digest } = newSecret();
  const stored = { id, digest, name: "ops", tenant: "default", scopes: ["admin"], madeAt: 0, limits: {} } as const;
  await using one = await testService(fleet, {}, { tenantKeys: [{ secret, stored }] });
  await using other = await testService(fleet);
  const { cookie, session } = await visit(one.url, secret);
  const seen = await fetch(`${other.url}/admin/v1/session`, { headers: { Cookie: cookie } });
  assert.equal(seen.status, 200);
  assert.equal(((await seen.json()) as { csrf: string }).csrf, session.csrf);
});
