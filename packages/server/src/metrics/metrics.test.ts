import assert from "node:assert/strict";
import { test } from "node:test";
import { afterwards } from "../flow/afterwards.ts";
import { type Log, log } from "../log.ts";
import { catalog } from "./catalog.ts";
import { type Metrics, metrics } from "./metrics.ts";
import { metricsText } from "./metrics-text.ts";

const silent = log({ level: "silent", format: "json", write: () => assert.fail("it is silent") });

async function linesOf(measured: Metrics): Promise<string[]> {
  const { open, tenants } = await metricsText(await measured.families());
  return `${open}${tenants}`.split("\n").filter((line) => line.startsWith("lazaret_"));
}

/** The lines of what has happened: what is 0 is left out, and so are the buckets of histograms. */
async function counted(say: (log: Log) => void): Promise<string[]> {
  const measured = metrics({ engine: "P" });
  say(measured.counted(silent));
  return (await linesOf(measured)).filter((line) => !/ 0$|_bucket\{/.test(line));
}

test("what is counted afterwards is there when somebody asks", async () => {
  const measured = metrics({ engine: "P", after: afterwards() });
  measured.counted(silent)("request", { method: "POST", status: 200, ms: 3, endpoint: "syncBinary" });
  measured.meter.verdict("sync", "upload", "clean");
  const lines = await linesOf(measured);
  assert.ok(lines.includes('lazaret_requests_total{method="POST",status="200"} 1'), lines.join("\n"));
  assert.ok(lines.includes('lazaret_scans_total{way="sync",source="upload",verdict="clean"} 1'));
});

test("every counter and histogram is there from the start, at 0, but for those of tenants and receivers", async () => {
  const lines = await linesOf(metrics({ engine: "P" }));
  assert.ok(lines.every((line) => / 0$/.test(line)));
  const there = new Set(lines.map((line) => /^\w+/.exec(line)?.[0].replace(/_(?:bucket|sum|count)$/, "")));
  const missing = Object.entries(catalog).flatMap(([name, { type }]) =>
    type === "gauge" || there.has(name) || /_(?:tenant|outbox|verdict_cache)_/.test(name) ? [] : [name],
  );
  assert.deepEqual(missing, []);
  assert.ok(lines.includes('lazaret_scans_total{way="sync",source="upload",verdict="infected"} 0'));
  assert.ok(lines.includes('lazaret_requests_total{method="POST",status="503"} 0'));
});

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
    'lazaret_callbacks_total{status="none",code="ECONNREFUSED"} 1',
    'lazaret_error_lines_total{event="object_action"} 1',
    "lazaret_object_action_failures_total 1",
    'lazaret_requests_total{method="GET",status="200"} 1',
    'lazaret_requests_total{method="POST",status="200"} 3',
    'lazaret_requests_total{method="POST",status="503"} 1',
    'lazaret_requests_total{method="other",status="400"} 1',
  ]);
});

test("a client's own words become no label, and neither do a receiver's", async () => {
  const lines = await counted((say) => {
    for (const method of ["PROPFIND", "constructor", 'x"} 1\n']) say("request", { method, status: 405 });
    for (const status of [299, 999, 204]) say("callback", { status, code: `HTTP_${status}`, delivered: false });
    for (const code of ["E_MADE_UP", "__proto__"]) say("callback", { code, delivered: false });
    for (const endpoint of ["/etc/passwd", "asyncResult", undefined, "adminJobs"])
      say("request", { method: "GET", status: 200, endpoint, ms: 5 });
  });
  assert.deepEqual(lines.filter((line) => !line.includes("_sum")).sort(), [
    'lazaret_callbacks_total{status="2xx",code="none"} 2',
    'lazaret_callbacks_total{status="none",code="none"} 1',
    'lazaret_callbacks_total{status="none",code="other"} 2',
    'lazaret_request_duration_seconds_count{endpoint="asyncResult",status="2xx"} 1',
    'lazaret_request_duration_seconds_count{endpoint="console",status="2xx"} 1',
    'lazaret_request_duration_seconds_count{endpoint="other",status="2xx"} 2',
    'lazaret_requests_total{method="GET",status="200"} 4',
    'lazaret_requests_total{method="other",status="405"} 3',
  ]);
});

test("how long something took is in the first bucket that is no smaller, and in all that are larger", async () => {
  const measured = metrics({ engine: "Q" });
  const { meter } = measured;
  const scanned = (sizeBytes: number, scanSeconds: number): void =>
    meter.scanned("upload", { sizeBytes, scanSeconds, downloadSeconds: 0 });
  scanned(4096, 0.001);
  scanned(64 * 1024, 0.3);
  scanned(64 * 1024 + 1, 500);
  const lines = (await linesOf(measured)).filter((line) => line.startsWith("lazaret_scan_duration_seconds"));
  const value = (le: string, size: string): string | undefined =>
    lines.find((line) => line.startsWith(`lazaret_scan_duration_seconds_bucket{engine="Q",size="${size}",le="${le}"}`));
  assert.match(value("0.0005", "64KiB") ?? "", / 0$/);
  assert.match(value("0.001", "64KiB") ?? "", / 1$/);
  assert.match(value("0.25", "64KiB") ?? "", / 1$/);
  assert.match(value("0.5", "64KiB") ?? "", / 2$/);
  assert.match(value("+Inf", "64KiB") ?? "", / 2$/);
  assert.match(value("120", "1MiB") ?? "", / 0$/);
  assert.match(value("+Inf", "1MiB") ?? "", / 1$/);
  assert.ok(lines.includes('lazaret_scan_duration_seconds_count{engine="Q",size="64KiB"} 2'));
  assert.ok(lines.includes('lazaret_scan_duration_seconds_sum{engine="Q",size="64KiB"} 0.301'));
});

test("the wait for a slot is no part of a scan, and is counted once, scanned or not", async () => {
  const measured = metrics({ engine: "Q" });
  measured.meter.scanned("upload", { sizeBytes: 10, scanSeconds: 0.75, downloadSeconds: 2 }, 500);
  measured.meter.waited(1500);
  measured.meter.unread("url", { downloadSeconds: 3 });
  const lines = await linesOf(measured);
  const sums = lines.filter((line) => /_(sum|count)\{/.test(line) && !/ 0$/.test(line));
  assert.deepEqual(sums.map((line) => line.replace("lazaret_", "").replace("_seconds", "")).sort(), [
    'download_duration_count{source="upload",outcome="ok"} 1',
    'download_duration_count{source="url",outcome="failed"} 1',
    'download_duration_sum{source="upload",outcome="ok"} 2',
    'download_duration_sum{source="url",outcome="failed"} 3',
    'queue_wait_count{way="sync"} 2',
    'queue_wait_sum{way="sync"} 2',
    'scan_duration_count{engine="Q",size="64KiB"} 1',
    'scan_duration_sum{engine="Q",size="64KiB"} 0.25',
  ]);
});

test("Prometheus gets what Node knows of its process, as it is", async () => {
  const { open } = await metricsText(await metrics({ engine: "P" }).families());
  assert.match(open, /^process_cpu_seconds_total [\d.]+$/m);
  assert.match(open, /^process_start_time_seconds \d+$/m);
  assert.match(open, /^nodejs_eventloop_lag_p99_seconds \S+$/m);
  assert.match(open, /^nodejs_gc_duration_seconds_sum\{kind="minor"\}/m);
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
    'lazaret_callbacks_total{status="2xx",code="none"} 1',
    'lazaret_job_runs_total{settlement="done",verdict="none"} 1',
    'lazaret_requests_total{method="other",status="200"} 500',
    'lazaret_requests_total{method="other",status="401"} 1',
    'lazaret_tenant_callbacks_total{tenant="other",delivered="true"} 1',
    'lazaret_tenant_job_runs_total{tenant="t-7",key="web",settlement="done",verdict="none"} 1',
  ]);
});
