import assert from "node:assert/strict";
import { test } from "node:test";
import { log } from "./log.ts";
import { metrics, processGauge } from "./metrics.ts";
import { addUp, countersOf, parted } from "./metrics-sum.ts";

const silent = log({ level: "silent", format: "json", write() {} });

/** The text of a process that answered so many requests with 200, and one with a label that needs care. */
async function processText(requests: number, which: "all" | "own", depth = 7): Promise<string> {
  const measured = metrics();
  const say = measured.counted(silent);
  for (let count = 0; count < requests; count += 1) say("request", { method: "GET", status: 200 });
  say("job", { settlement: "put back", verdict: 'a "b" } c' });
  measured.watch([
    processGauge,
    { name: "lazaret_depth", help: "Of the store.", type: "gauge", read: async () => [{ value: depth }] },
  ]);
  return measured.text(which);
}

test("what processes count is added up by labels, and what they share is said once", async () => {
  const text = addUp([await processText(3, "all"), await processText(4, "own"), await processText(0, "own")]);
  assert.match(text, /^lazaret_requests_total\{method="GET",status="200"\} 7$/m);
  assert.match(text, /^lazaret_job_runs_total\{settlement="put back",verdict="a \\"b\\" \} c"\} 3$/m);
  assert.match(text, /^lazaret_processes 3$/m);
  assert.match(text, /^lazaret_depth 7$/m);
  assert.equal(text.match(/^# TYPE lazaret_requests_total counter$/gm)?.length, 1);
});

test("labels that only another process has are in the same block as the others", async () => {
  const text = addUp([await processText(0, "all"), await processText(4, "own")]);
  const lines = text.split("\n");
  const at = lines.indexOf('lazaret_requests_total{method="GET",status="200"} 4');
  assert.equal(lines[at - 1], "# TYPE lazaret_requests_total counter");
});

test("of a process that is gone its counters stay, and nothing else", async () => {
  const kept = countersOf(await processText(4, "own"));
  assert.match(kept, /^lazaret_requests_total\{method="GET",status="200"\} 4$/m);
  assert.doesNotMatch(kept, /lazaret_processes/);
  assert.equal(addUp([kept]), kept);
});

test("the text of one process is not changed by adding nothing to it", async () => {
  const text = await processText(2, "all");
  assert.equal(addUp([text]), text);
  assert.equal(addUp([text, ""]), text);
});

test("tenants of all processes together have no more labels than those of one, and are told apart from the rest", async () => {
  const ofTenants = async (from: number): Promise<string> => {
    const measured = metrics();
    const say = measured.counted(silent);
    for (let tenant = from; tenant < from + 220; tenant += 1)
      say("request", { status: 200, tenant: `t-${tenant}`, key: "web" });
    return measured.text("own");
  };
  const { open, tenants } = parted(addUp([await ofTenants(0), await ofTenants(150)]));
  assert.match(open, /^lazaret_requests_total\{status="200"\} 440$/m);
  assert.doesNotMatch(open, /tenant/);
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
