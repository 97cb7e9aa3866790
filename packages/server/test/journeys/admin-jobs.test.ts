import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { AdminJob, AdminJobCounts, AdminJobDetail, AdminPage, AdminTask } from "@lazaret/contract/admin";
import { adminService, listen } from "../support/admin.ts";
import { answering, callbackReceiver } from "../support/callback-receiver.ts";
import { fileServer } from "../support/file-server.ts";
import { until } from "../support/until.ts";

describe("jobs by /admin/v1", async () => {
  const files = await fileServer();
  const admin = await adminService();
  after(async () => {
    await admin[Symbol.asyncDispose]();
    await files[Symbol.asyncDispose]();
  });
  const done = (id: string): Promise<AdminJobDetail> => admin.get<AdminJobDetail>(`jobs/${id}`);
  const untilDone = (traceId: string): Promise<void> =>
    until(`${traceId} is done`, async () => {
      const response = await admin.raw(`jobs/${encodeURIComponent(traceId)}`);
      return response.status === 200 && ((await response.json()) as AdminJobDetail).state === "done";
    });

  test("a job that is done is found by its trace id and by its id, with its life and its verdict", async () => {
    await admin.submit({ download_url: `${files.origin}/eicar?secret=1`, trace_id: "first" });
    await untilDone("first");
    const job = await done("first");
    assert.equal(job.verdict, "infected");
    assert.equal(job.tenant, "default");
    assert.equal(job.key, "key-1");
    assert.match(job.engine ?? "", /^Q with ClamAV \d/);
    assert.deepEqual(job.source, {
      kind: "url",
      url: `${files.origin}/eicar?…`,
      host: new URL(files.origin).host,
    });
    assert.equal((await done(job.id)).id, job.id);
    const words = job.life.map(({ what }) => what);
    assert.equal(words[0], "accepted");
    assert.equal(words.at(-1), "done");
    assert.ok(words.includes("scanned"), words.join(" "));
    assert.deepEqual(job.can, { callback: false, rescan: false, redrive: false });
    await admin.get("jobs/nothing-of-that-name", 404);
  });

  test("lists are newest first, page by page, with every job once while others come", async () => {
    const before = (await admin.all<AdminJob>("jobs")).length;
    for (let number = 0; number < 12; number += 1) {
      await admin.submit({ download_url: `${files.origin}/clean`, trace_id: `page-${number}` });
    }
    await until("all are done", async () => (await admin.get<AdminJobCounts>("jobs/counts")).done === before + 12);
    const seen: string[] = [];
    let after = "";
    do {
      const page = await admin.get<AdminPage<AdminJob>>(`jobs?limit=3&after=${after}`);
      seen.push(...page.entries.map(({ trace_id = "" }) => trace_id));
      after = encodeURIComponent(page.next ?? "");
      await admin.submit({ download_url: `${files.origin}/clean`, trace_id: `late-${seen.length}` });
    } while (after !== "");
    const expected = Array.from({ length: 12 }, (_, number) => `page-${11 - number}`);
    assert.deepEqual(seen.slice(0, 12), expected);
    assert.equal(new Set(seen).size, seen.length);
  });

  test("filters narrow the list, and what is wrong with a query is said", async () => {
    await untilDone("first");
    const infected = await admin.all<AdminJob>("jobs?verdict=infected");
    assert.deepEqual(
      infected.map(({ trace_id }) => trace_id),
      ["first"],
    );
    assert.deepEqual(await admin.all("jobs?q=nothing-has-this"), []);
    assert.equal((await admin.all<AdminJob>("jobs?q=FIRST&state=done")).length, 1);
    assert.deepEqual(await admin.all("jobs?tenant=other-tenant"), []);
    assert.deepEqual(await admin.all(`jobs?since=${Date.now() + 60_000}`), []);
    for (const query of ["state=lost", "limit=0", "limit=1e3", "verdict=maybe", "since=yesterday"]) {
      const { code } = await admin.get<{ code: string }>(`jobs?${query}`, 400);
      assert.equal(code, "invalid_request", query);
    }
    for (const cursor of ["abc", "e30", Buffer.from('{"letters":"1.2"}').toString("base64url"), "x".repeat(5000)]) {
      const { code } = await admin.get<{ code: string }>(`jobs?after=${cursor}`, 400);
      assert.equal(code, "invalid_cursor", cursor.slice(0, 20));
    }
  });

  test("an export has a line for each job, and no cell becomes a formula", async () => {
    await admin.submit({ download_url: `${files.origin}/clean`, trace_id: '=HYPERLINK("x")' });
    await untilDone('=HYPERLINK("x")');
    const csv = await (await admin.raw("jobs/export?format=csv")).text();
    assert.match(csv, /^id,state,submitted,/);
    assert.ok(csv.includes(`"'=HYPERLINK(""x"")"`), csv.slice(0, 400));
    const lines = (await (await admin.raw("jobs/export")).text()).trim().split("\n");
    const jobs = lines.map((line) => JSON.parse(line) as AdminJob);
    assert.equal(jobs.length, (await admin.all("jobs")).length);
  });

  test("a job that is done is not called back again, and one without secrets is scanned again", async () => {
    await admin.submit({ download_url: `${files.origin}/clean`, trace_id: "again" });
    await untilDone("again");
    const { id } = await done("again");
    assert.equal((await admin.post<{ code: string }>(`jobs/${id}/callback`, {}, 409)).code, "no_callback");
    const made = await admin.post<{ id: string }>(`jobs/${id}/rescan`, {}, 202);
    assert.notEqual(made.id, id);
    await untilDone(made.id);
    assert.equal((await done(made.id)).verdict, "clean");
    const secret = await done("first");
    assert.equal((await admin.post<{ code: string }>(`jobs/${secret.id}/rescan`, {}, 409)).code, "not_kept");
  });
});

test("a callback that fails is shown with its tries, its dead letter is redriven, and then it is delivered", async () => {
  await using files = await fileServer();
  let status = 503;
  await using receiver = await callbackReceiver((socket, request) => answering(status)(socket, request));
  let ahead = 0;
  await using admin = await adminService({}, { now: () => Date.now() + ahead, sleep: async () => {} });
  await using heard = await listen(admin);
  await admin.submit({
    download_url: `${files.origin}/clean`,
    callback_url: `${receiver.origin}/scanned?key=secret`,
    trace_id: "order-1",
  });
  const job = async (): Promise<AdminJobDetail> => admin.get<AdminJobDetail>("jobs/order-1");
  await until("it is given up", async () => {
    const { state } = await job();
    // Three times put back, for 5 to 15 s each.
    if (state === "retrying") ahead += 15_000;
    return state === "dead";
  });
  const dead = await job();
  assert.deepEqual(dead.can, { callback: true, rescan: true, redrive: true });
  const tries = dead.life.filter(({ what }) => what === "callback");
  assert.ok(tries.length > 6, JSON.stringify(tries));
  assert.equal(tries[0]?.status, 503);
  assert.equal(dead.callback?.url, `${receiver.origin}/scanned?…`);
  assert.equal(dead.callback?.signature?.verifies, true);
  assert.equal(JSON.parse(dead.callback?.payload ?? "{}").status, "clean");
  const receivers = await admin.get<AdminPage<{ receiver: string; count: number }>>("dead-letters/receivers");
  assert.deepEqual(
    receivers.entries.map(({ receiver: origin, count }) => ({ origin, count })),
    [{ origin: receiver.origin, count: 1 }],
  );

  const toldOf = (state: AdminJob["state"]): boolean =>
    heard.events.some((event) => event.type === "job" && event.job.state === state);
  await until("the stream has told of that", () => toldOf("retrying") && toldOf("dead"));
  status = 204;
  const task = await admin.post<AdminTask>("dead-letters/redrive", { receiver: receiver.origin, per_second: 100 }, 202);
  await until("it is delivered", async () => (await job()).state === "done");
  await until("the task has ended", async () => {
    return (await admin.get<AdminTask>(`tasks/${task.id}`)).ended_at !== undefined;
  });
  assert.equal((await admin.get<AdminTask>(`tasks/${task.id}`)).done, 1);
  assert.equal((await admin.post<{ code: string }>(`jobs/${dead.id}/callback`, {}, 409)).code, "not_kept");
  await until("the stream has told of its end", () => toldOf("done"));
});

test("who comes back to the event stream hears what was missed, and who is unknown reads everything again", async () => {
  await using files = await fileServer();
  await using admin = await adminService();
  const first = await listen(admin);
  await until("it listens", () => first.lastId !== "");
  const { lastId } = first;
  await first[Symbol.asyncDispose]();
  await admin.submit({ download_url: `${files.origin}/eicar`, trace_id: "missed" });
  await until("it is done", async () => (await admin.all<AdminJob>("jobs?state=done")).length === 1);
  await using back = await listen(admin, lastId);
  await until("what was missed came", () => {
    const kinds = back.events.map(({ type }) => type);
    return kinds.includes("job") && kinds.includes("finding");
  });
  await using stranger = await listen(admin, "17");
  await until("it is told", () => stranger.events.length > 0);
  assert.equal(stranger.events[0]?.type, "reset");
  assert.equal(stranger.text.includes("missed"), false);
});
