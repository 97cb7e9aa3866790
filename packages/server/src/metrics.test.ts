import assert from "node:assert/strict";
import { test } from "node:test";
import { type Log, log } from "./log.ts";
import { metrics } from "./metrics.ts";

async function counted(say: (log: Log) => void): Promise<string[]> {
  const measured = metrics();
  say(measured.counted(log({ level: "silent", format: "json", write: () => assert.fail("it is silent") })));
  return (await measured.text()).split("\n").filter((line) => line.startsWith("lazaret_"));
}

test("lines are counted by their labels, whatever level is written and whichever of the labels there are", async () => {
  const lines = await counted((say) => {
    for (let times = 0; times < 3; times += 1) say("request", { method: "POST", status: 200, path: `/${times}` });
    say("request", { method: "POST", status: 503 });
    say.debug("request", { method: "GET", status: 200 });
    say("request", { status: 400 });
    say("callback", { code: "ECONNREFUSED" });
    say.error("object_action");
    say("stopping", { signal: "SIGTERM" });
  });
  assert.deepEqual(lines.sort(), [
    'lazaret_callbacks_total{code="ECONNREFUSED"} 1',
    "lazaret_object_action_failures_total 1",
    'lazaret_requests_total{method="GET",status="200"} 1',
    'lazaret_requests_total{method="POST",status="200"} 3',
    'lazaret_requests_total{method="POST",status="503"} 1',
    'lazaret_requests_total{status="400"} 1',
  ]);
});

test("a client's own words become no label", async () => {
  const lines = await counted((say) => {
    for (const method of ["PROPFIND", "constructor", 'x"} 1\n']) say("request", { method, status: 405 });
  });
  assert.deepEqual(lines, ['lazaret_requests_total{method="other",status="405"} 3']);
});

test("1,000 keys have a label of their own, and the rest are one for each tenant", async () => {
  const lines = await counted((say) => {
    for (let key = 0; key < 1100; key += 1) say("request", { status: 200, tenant: `t-${key % 10}`, key: `k-${key}` });
    say("request", { status: 200, tenant: "t-3", key: "k-3" });
  });
  const requests = lines.filter((line) => line.startsWith("lazaret_tenant_requests_total"));
  assert.equal(requests.length, 1010);
  assert.ok(requests.includes('lazaret_tenant_requests_total{tenant="t-3",key="k-3",status="200"} 2'));
  assert.ok(requests.includes('lazaret_tenant_requests_total{tenant="t-3",key="other",status="200"} 10'));
});

test("200 tenants have a label of their own, in metrics of their own, and the rest are one", async () => {
  const lines = await counted((say) => {
    for (let times = 0; times < 2; times += 1)
      for (let tenant = 0; tenant < 250; tenant += 1)
        say("request", { status: 200, tenant: `t-${tenant}`, key: "web" });
    say("request", { status: 401 });
    say("job", { settlement: "done", tenant: "t-7", key: "web", trace_id: "t-8" });
    say("callback", { status: 204, delivered: true, tenant: "t-249" });
  });
  const requests = lines.filter((line) => line.startsWith("lazaret_tenant_requests_total"));
  assert.equal(requests.length, 201);
  assert.ok(requests.includes('lazaret_tenant_requests_total{tenant="t-199",key="web",status="200"} 2'));
  assert.ok(requests.includes('lazaret_tenant_requests_total{tenant="other",key="other",status="200"} 100'));
  assert.deepEqual(lines.filter((line) => !requests.includes(line)).sort(), [
    'lazaret_callbacks_total{status="204"} 1',
    'lazaret_job_runs_total{settlement="done"} 1',
    'lazaret_requests_total{status="200"} 500',
    'lazaret_requests_total{status="401"} 1',
    'lazaret_tenant_callbacks_total{tenant="other",delivered="true"} 1',
    'lazaret_tenant_job_runs_total{tenant="t-7",key="web",settlement="done"} 1',
  ]);
});
