import assert from "node:assert/strict";
import { test } from "node:test";
import type { AdminDeadLetter, AdminJob, AdminJobDetail, AdminPage, AdminTask } from "@lazaret/contract/admin";
import { type AdminService, adminKey, adminService, listen } from "../support/admin.ts";
import { answering, callbackReceiver } from "../support/callback-receiver.ts";
import { eicar } from "../support/eicar.ts";
import { fileServer } from "../support/file-server.ts";
import { testKey } from "../support/service.ts";
import { until } from "../support/until.ts";

const SECRETS = {
  header: "header-value-Q7w2",
  query: "query-value-Z9x4",
  data: "custom-data-M3n8",
  callbackHeader: "callback-header-K5p1",
  callbackQuery: "callback-query-T6r0",
};

const lists = [
  "jobs",
  "jobs?state=done",
  "jobs?state=dead",
  "jobs/counts",
  "jobs/export",
  "jobs/export?format=csv",
  "findings",
  "findings/groups",
  "findings/groups?by=bucket",
  "findings/groups?by=day",
  "findings/export",
  "findings/export?format=csv",
  "dead-letters",
  "dead-letters/receivers",
  "dead-letters/export",
  "dead-letters/export?format=csv",
  "tasks",
  "activity",
  "engines",
  "buckets",
  "keys",
  "callback-keys",
  "settings",
  "support-bundle",
  "audit",
];

async function everything(admin: AdminService): Promise<Map<string, string>> {
  const jobs = await admin.all<AdminJob>("jobs");
  const paths = [...lists, ...jobs.map(({ id }) => `jobs/${id}`)];
  const answers = new Map<string, string>();
  for (const path of paths) {
    const response = await admin.raw(path);
    assert.equal(response.status, 200, path);
    answers.set(path, await response.text());
  }
  return answers;
}

function assertNoSecrets(answers: ReadonlyMap<string, string>): void {
  for (const [path, text] of answers) {
    for (const [name, secret] of Object.entries({ ...SECRETS, adminKey, testKey })) {
      assert.equal(text.includes(secret), false, `${path} shows the ${name}`);
    }
  }
}

test("no answer, event or line of the log shows a client's header values, queries, custom data or keys", async () => {
  await using files = await fileServer();
  await using receiver = await callbackReceiver(answering(500));
  let ahead = 0;
  await using admin = await adminService({}, { now: () => Date.now() + ahead, sleep: async () => {} });
  await using heard = await listen(admin);
  const secrets = {
    download_headers: { "X-Api-Token": SECRETS.header },
    custom_data: SECRETS.data,
    trace_id: "with-secrets",
  };
  await admin.submit({
    download_url: `${files.origin}/eicar?token=${SECRETS.query}`,
    callback_url: `${receiver.origin}/scanned?token=${SECRETS.callbackQuery}`,
    callback_headers: { "X-Receiver": SECRETS.callbackHeader },
    ...secrets,
  });
  await admin.submit({
    ...secrets,
    download_url: `${files.origin}/eicar?token=${SECRETS.query}`,
    trace_id: "polled",
  });
  const job = (): Promise<AdminJobDetail> => admin.get<AdminJobDetail>("jobs/with-secrets");
  assertNoSecrets(await everything(admin));
  await until("it is given up", async () => {
    const { state } = await job();
    if (state === "retrying") ahead += 15_000;
    return state === "dead";
  });
  await until("the other one is done", async () => {
    return (await admin.get<AdminJobDetail>("jobs/polled")).state === "done";
  });
  await admin.post("scan/url", { url: `${files.origin}/eicar?token=${SECRETS.query}` });
  const { code } = await admin.post<{ code: string }>(`jobs/${(await job()).id}/rescan`, {}, 409);
  assert.equal(code, "not_kept");
  await until("the stream told of it", () => {
    return heard.events.some((event) => event.type === "job" && event.job.state === "dead");
  });

  const detail = await job();
  assert.deepEqual(detail.header_names, ["X-Api-Token"]);
  assert.deepEqual(detail.callback_header_names, ["X-Receiver"]);
  assert.ok(detail.callback?.not_kept.includes("custom_data"));
  const answers = await everything(admin);
  answers.set("events", heard.text);
  answers.set("log", JSON.stringify(admin.service.lines));
  assertNoSecrets(answers);
  assert.ok(heard.text.length > 500 && answers.size > lists.length + 2);
});

test("names that are hostile are passed on as they are, and nothing is too large", async () => {
  await using admin = await adminService();
  const names = [
    "\u202eexe.gpj\u2066",
    "\ud800 alone",
    "a\u0000b",
    "</script><script>alert(1)</script>",
    "x".repeat(300),
  ];
  const headers = { "Content-Type": "application/octet-stream" };
  for (const name of names) {
    const query = new URLSearchParams({ name });
    const response = await admin.raw(`scan/upload?${query}`, {
      method: "POST",
      headers,
      body: new Uint8Array(eicar()),
    });
    assert.equal(response.status, 200, JSON.stringify(name));
  }
  const findings = await admin.all<{ source: { name?: string } }>("findings");
  assert.deepEqual(
    findings.map(({ source }) => source.name).reverse(),
    names.map((name) => name.toWellFormed().slice(0, 1024)),
  );
  const answer = await admin.raw("findings");
  assert.equal(answer.headers.get("content-type"), "application/json; charset=utf-8");
  assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
});

test("dead letters are deleted and redriven as tasks that can be stopped, and none is lost", async () => {
  await using files = await fileServer();
  await using receiver = await callbackReceiver(answering(500));
  let ahead = 0;
  await using admin = await adminService({}, { now: () => Date.now() + ahead, sleep: async () => {} });
  for (let number = 0; number < 6; number += 1) {
    await admin.submit({
      download_url: `${files.origin}/clean`,
      callback_url: `${receiver.origin}/${number}`,
      trace_id: `dead-${number}`,
    });
  }
  const letters = (): Promise<AdminDeadLetter[]> => admin.all<AdminDeadLetter>("dead-letters?limit=2");
  await until("all are given up", async () => {
    const states = (await admin.all<AdminJob>("jobs")).map(({ state }) => state);
    // Nobody's lease runs out by this.
    if (states.every((state) => state === "retrying" || state === "dead")) ahead += 15_000;
    return states.every((state) => state === "dead");
  });
  const ended = (id: string): Promise<void> =>
    until("the task has ended", async () => (await admin.get<AdminTask>(`tasks/${id}`)).ended_at !== undefined);

  for (const order of [
    {},
    { ids: [], what: "job" },
    { all: true, receiver: "x" },
    { all: false },
    { all: true, per_second: 0 },
  ]) {
    assert.equal((await admin.post<{ code: string }>("dead-letters/redrive", order, 400)).code, "invalid_request");
  }
  const [first] = await letters();
  const deleted = await admin.post<AdminTask>("dead-letters/delete", { ids: [first?.id, "not-there"] }, 202);
  await ended(deleted.id);
  const told = await admin.get<AdminTask>(`tasks/${deleted.id}`);
  assert.deepEqual([told.done, told.failed, told.total], [1, 1, 2]);
  assert.equal((await letters()).length, 5);

  const slow = await admin.post<AdminTask>("dead-letters/redrive", { all: true, per_second: 0.001 }, 202);
  await until("one is put back", async () => (await admin.get<AdminTask>(`tasks/${slow.id}`)).done === 1);
  await admin.post(`tasks/${slow.id}/stop`, {});
  await ended(slow.id);
  const stopped = await admin.get<AdminTask>(`tasks/${slow.id}`);
  assert.deepEqual([stopped.done, stopped.error], [1, "stopped"]);
  const unfinished = await admin.get<AdminPage<AdminJob>>("jobs?limit=100");
  assert.equal(unfinished.entries.filter(({ state }) => state !== "done").length, 5);
  const filtered = await admin.all<AdminDeadLetter>(`dead-letters?receiver=${encodeURIComponent(receiver.origin)}`);
  assert.ok(filtered.length >= 4);
  assert.deepEqual(await admin.all("dead-letters?receiver=https%3A%2F%2Felsewhere.example"), []);
});
