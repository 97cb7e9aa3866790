import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type {
  AdminActivity,
  AdminAuditEntry,
  AdminEngines,
  AdminPage,
  AdminSelfTest,
  AdminTask,
} from "@lazaret/contract/admin";
import { type AdminService, listen } from "../support/admin.ts";
import { bucketsIn } from "../support/buckets.ts";
import { anyEngineInEnvironment } from "../support/clamd.ts";
import { adminKey, codeOf, login, visit } from "../support/console.ts";
import { fileServer } from "../support/file-server.ts";
import { temporaryFolder, watchChild } from "../support/leftovers.ts";
import { type Processes, processesKey, threeProcesses } from "../support/three-processes.ts";
import { until } from "../support/until.ts";

const env = {
  ...(await anyEngineInEnvironment()),
  LAZARET_ADMIN_KEYS: adminKey,
  LAZARET_ALLOW_NETWORKS: "127.0.0.0/8",
  LAZARET_CONCURRENCY: "6",
};

/** Calls of the console, with a connection for each, so that each process has some. */
function consoleOf({ url }: Pick<Processes, "url">): Pick<AdminService, "raw" | "get"> {
  const raw: AdminService["raw"] = (path, init = {}) =>
    fetch(`${url}/admin/v1/${path}`, {
      ...init,
      headers: { Authorization: `Bearer ${adminKey}`, Connection: "close", ...init.headers },
    });
  return {
    raw,
    async get<Answered>(path: string, status = 200) {
      const response = await raw(path);
      const text = await response.text();
      assert.equal(response.status, status, text);
      return JSON.parse(text) as Answered;
    },
  };
}

const json = (body: object): RequestInit => ({
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
});

test("three processes are one to the console: scans, slots, tasks, logout, wrong logins, log and audit", async () => {
  using folder = temporaryFolder();
  bucketsIn(join(folder.path, "data/buckets")).put("uploads", "report.txt", "a good file");
  await using service = await threeProcesses(folder.path, env);
  const { url, scan, lines } = service;
  const { raw, get } = consoleOf(service);
  for (let count = 0; count < 9; count += 1) assert.equal((await scan()).status, 200);
  await until("all scans are seen", async () => (await get<AdminActivity>("activity")).last_day.scanned === 9);
  assert.deepEqual(new Set(lines("request").map((line) => line.process)), new Set([1, 2, 3]));
  for (let count = 0; count < 6; count += 1) {
    const { last_day, points, recent } = await get<AdminActivity>("activity?range=1h");
    const shown = [last_day.clean, points.reduce((sum, { clean }) => sum + clean, 0), recent.length];
    assert.deepEqual(shown, [9, 9, 9]);
  }
  await until("the slots of all are known", async () => (await get<AdminEngines>("engines")).scans.slots >= 6 + 3);

  const task = (await (await raw("buckets/scan", json({ bucket: "uploads" }))).json()) as AdminTask;
  for (let count = 0; count < 20; count += 1) assert.equal((await get<AdminTask>(`tasks/${task.id}`)).id, task.id);
  await until("it ends", async () => (await get<AdminTask>(`tasks/${task.id}`)).ended_at !== undefined);
  assert.equal((await get<AdminTask>(`tasks/${task.id}`)).done, 1);
  assert.match((await get<{ hint: string }>("tasks/none", 404)).hint, /an hour/);

  for (let count = 0; count < 3; count += 1) {
    const upload = { method: "POST", headers: { "Content-Type": "application/octet-stream" } };
    const body = Buffer.alloc(3 * 1024 * 1024, count);
    const scanned = await raw(`scan/upload?name=file-${count}`, { ...upload, body });
    assert.equal(scanned.status, 200, await scanned.text());
    const spoofed = { ...json({}), headers: { "X-Lazaret-Asked-For": "192.0.2.7", "X-Forwarded-For": "192.0.2.7" } };
    assert.equal(((await (await raw("engines/self-test", spoofed)).json()) as AdminSelfTest).checks.length, 2);
  }
  const { entries } = await get<AdminPage<AdminAuditEntry>>("audit");
  const acts = entries.filter(({ who }) => who === "admin-1").map(({ what, from }) => `${what} ${from}`);
  const three = (act: string): string[] => [1, 2, 3].map(() => `${act} 127.0.0.1`);
  assert.deepEqual(acts.sort(), ["buckets.scan 127.0.0.1", ...three("engines.self-test"), ...three("scan.upload")]);
  await until("the lines are written", () => asked("/admin/v1/engines/self-test").length === 3);
  assert.deepEqual(new Set(asked("/admin/v1/engines/self-test").map(({ key }) => key)), new Set(["admin-1"]));
  assert.equal(new Set(asked("/admin/v1/engines/self-test").map((line) => line.process)).size, 3);

  const close = { Connection: "close" };
  const { call, post } = await visit(url, adminKey, close);
  assert.equal((await call("/admin/v1/session")).status, 200);
  assert.equal((await post("/admin/v1/logout")).status, 204);
  for (let count = 0; count < 4; count += 1) assert.equal((await call("/admin/v1/session")).status, 401);
  const tries: string[] = [];
  for (let count = 0; count < 6; count += 1) tries.push(await codeOf(await login(url, { key: "wrong" }, close)));
  assert.deepEqual(tries, [...Array(5).fill("401 wrong_key"), "429 too_many_logins"]);

  assert.equal(await service.run.stop(), 0);

  function asked(path: string): Record<string, unknown>[] {
    return lines("request").filter((line) => line.path === path);
  }
});

test("the stream has the work of all processes, and when the first is killed the next one takes over", async () => {
  using folder = temporaryFolder();
  await using files = await fileServer();
  await using service = await threeProcesses(folder.path, env);
  const { url, scan, lines, pids, run } = service;
  const { raw, get } = consoleOf(service);
  const { cookie } = await visit(url, adminKey);
  {
    await using heard = await listen({ raw });
    let sent = 0;
    await until("all processes have run jobs, and the stream has heard of some of each", async () => {
      await submit(`trace-${sent++}`);
      await scan();
      const ran = lines("job").map((line) => [line.process, line.trace_id] as const);
      const done = heard.events.flatMap((event) =>
        event.type === "job" && event.job.state === "done" ? [event.job.trace_id] : [],
      );
      const processes = new Set(ran.flatMap(([process, id]) => (done.includes(String(id)) ? [process] : [])));
      const uploads = heard.events.filter(({ type }) => type === "scan").length;
      return processes.size === 3 && uploads >= 9;
    });
  }

  await using lost = await listen({ raw });
  const [first = 0] = pids();
  process.kill(first, "SIGKILL");
  await run.says(/"event":"process".*"state":"ended"/);
  assert.deepEqual(
    lines("process").map((line) => [line.process, line.ended_with]),
    [[1, "SIGKILL"]],
  );
  assert.equal((await scan()).status, 200, "the others go on");
  const between = await raw("activity");
  if (between.status !== 200) assert.equal(await codeOf(between), "503 console_away");
  await run.says(/"event":"process".*"state":"started"/);
  for (const pid of pids()) watchChild(pid);
  await until("whoever listened knows", () => lost.over);
  for (let count = 0; count < 6; count += 1) {
    const headers = { Connection: "close", Cookie: cookie };
    assert.equal((await fetch(`${url}/admin/v1/session`, { headers })).status, 200);
  }
  const before = (await get<AdminActivity>("activity")).last_day.scanned;
  for (let count = 0; count < 9; count += 1) assert.equal((await scan()).status, 200);
  await until(
    "scans of all are seen",
    async () => (await get<AdminActivity>("activity")).last_day.scanned >= before + 9,
  );
  assert.equal(await run.stop(), 0);

  async function submit(trace: string): Promise<void> {
    const response = await fetch(`${url}/api/v1/scan/async/download`, {
      ...json({ download_url: `${files.origin}/clean`, trace_id: trace }),
      headers: {
        Authorization: `Bearer ${processesKey}`,
        "Content-Type": "application/json",
        Connection: "close",
      },
    });
    assert.ok(response.ok, await response.text());
  }
});
