import assert from "node:assert/strict";
import { test } from "node:test";
import { log } from "../log.ts";
import { addUp, type Counts, countersOf, metricsText } from "./add-up.ts";
import { processGauge, queueGauges } from "./gauges.ts";
import { metrics } from "./metrics.ts";

const silent = log({ level: "silent", format: "json", write() {} });
const waiting = { ready: 7, leased: 0, delayed: 0, buried: 0, oldestSeconds: 0 };

/** Of a process that answered so many requests with 200, in 20 ms each. */
async function processCounts(requests: number, which: "all" | "own", process = 1): Promise<Counts> {
  const measured = metrics({ engine: "P", process });
  const say = measured.counted(silent);
  for (let count = 0; count < requests; count += 1)
    say("request", { method: "GET", status: 200, endpoint: "syncBinary", ms: 20 });
  say("job", { settlement: "put back", verdict: 'a "b" } c' });
  measured.watch([processGauge, ...queueGauges(async () => waiting)]);
  return measured.families(which);
}

const textOf = async (counts: Counts): Promise<string> => (await metricsText(counts)).open;

test("what processes count is added up by labels, and what they share is said once", async () => {
  const text = await textOf(
    addUp([await processCounts(3, "all"), await processCounts(4, "own", 2), await processCounts(0, "own", 3)]),
  );
  assert.match(text, /^lazaret_requests_total\{method="GET",status="200"\} 7$/m);
  assert.match(text, /^lazaret_job_runs_total\{settlement="put back",verdict="a \\"b\\" \} c"\} 3$/m);
  assert.match(text, /^lazaret_processes 3$/m);
  assert.match(text, /^lazaret_queue_ready 7$/m);
  assert.equal(text.match(/^# TYPE lazaret_requests_total counter$/gm)?.length, 1);
});

test("buckets of histograms are added up, and what is of one process alone stays apart", async () => {
  const text = await textOf(addUp([await processCounts(3, "all"), await processCounts(4, "own", 2)]));
  const of = 'endpoint="syncBinary",status="2xx"';
  assert.ok(text.includes(`lazaret_request_duration_seconds_bucket{${of},le="0.01"} 0\n`));
  assert.ok(text.includes(`lazaret_request_duration_seconds_bucket{${of},le="0.025"} 7\n`));
  assert.ok(text.includes(`lazaret_request_duration_seconds_count{${of}} 7\n`));
  assert.match(
    text,
    /^process_resident_memory_bytes\{process="1"\} \d+\nprocess_resident_memory_bytes\{process="2"\}/m,
  );
});

test("of a process that is gone its counters stay, and nothing else", async () => {
  const counts = await processCounts(4, "own");
  const kept = await textOf(countersOf(counts));
  assert.match(kept, /^lazaret_requests_total\{method="GET",status="200"\} 4$/m);
  assert.match(kept, /^lazaret_request_duration_seconds_count\{.*\} 4$/m);
  assert.doesNotMatch(kept, /lazaret_processes|process_resident_memory_bytes/);
  assert.equal(await textOf(addUp([countersOf(counts)])), kept);
});

test("the counts of one process are not changed by adding nothing to them", async () => {
  const counts = await processCounts(2, "all");
  assert.equal(await textOf(addUp([counts])), await textOf(counts));
  assert.equal(await textOf(addUp([counts, []])), await textOf(counts));
});

test("tenants of all processes together have no more labels than those of one, and are told apart from the rest", async () => {
  const ofTenants = async (from: number): Promise<Counts> => {
    const measured = metrics({ engine: "P" });
    const say = measured.counted(silent);
    for (let tenant = from; tenant < from + 220; tenant += 1)
      say("request", { method: "GET", status: 200, tenant: `t-${tenant}`, key: "web" });
    return measured.families("own");
  };
  const { open, tenants } = await metricsText(addUp([await ofTenants(0), await ofTenants(150)]));
  assert.match(open, /^lazaret_requests_total\{method="GET",status="200"\} 440$/m);
  assert.doesNotMatch(open, /tenant_|tenant=/);
  const values = [
    ...tenants.matchAll(/^lazaret_tenant_requests_total\{tenant="([^"]*)",key="[^"]*",status="200"\} (\d+)$/gm),
  ];
  assert.equal(values.length, 201);
  assert.deepEqual(values.find(([, tenant]) => tenant === "t-199")?.[2], "2");
  assert.equal(values.find(([, tenant]) => tenant === "other")?.[2], String(440 - 250));
  assert.equal(
    values.reduce((sum, [, , value]) => sum + Number(value), 0),
    440,
  );
  assert.doesNotMatch(tenants, /^lazaret_requests_total/m);
});
