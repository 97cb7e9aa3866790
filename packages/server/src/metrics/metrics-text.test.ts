import assert from "node:assert/strict";
import { test } from "node:test";
import { log } from "../log.ts";
import { queueGauges } from "./gauges.ts";
import { metrics } from "./metrics.ts";
import { metricsText } from "./metrics-text.ts";

const silent = log({ level: "silent", format: "json", write() {} });
const waiting = { ready: 7, leased: 0, delayed: 0, buried: 0, oldestSeconds: 0 };

test("counters, histograms and gauges are in the text as they were counted, and those of tenants apart", async () => {
  const measured = metrics({ engine: "P" });
  const say = measured.counted(silent);
  for (let count = 0; count < 3; count += 1)
    say("request", { method: "GET", status: 200, endpoint: "syncBinary", ms: 20, tenant: "shop", key: "web" });
  say("job", { settlement: "put back", verdict: 'a "b" } c' });
  measured.watch(queueGauges(async () => waiting));
  const { open, tenants } = await metricsText(await measured.families());
  assert.match(open, /^lazaret_requests_total\{method="GET",status="200"\} 3$/m);
  assert.match(open, /^lazaret_job_runs_total\{settlement="put back",verdict="a \\"b\\" \} c"\} 1$/m);
  assert.match(open, /^lazaret_queue_ready 7$/m);
  assert.equal(open.match(/^# TYPE lazaret_requests_total counter$/gm)?.length, 1);
  const of = 'endpoint="syncBinary",status="2xx"';
  assert.ok(open.includes(`lazaret_request_duration_seconds_bucket{${of},le="0.01"} 0\n`));
  assert.ok(open.includes(`lazaret_request_duration_seconds_bucket{${of},le="0.025"} 3\n`));
  assert.ok(open.includes(`lazaret_request_duration_seconds_count{${of}} 3\n`));
  assert.doesNotMatch(open, /tenant_|tenant=/);
  assert.match(tenants, /^lazaret_tenant_requests_total\{tenant="shop",key="web",status="200"\} 3$/m);
  assert.doesNotMatch(tenants, /^lazaret_requests_total/m);
});
