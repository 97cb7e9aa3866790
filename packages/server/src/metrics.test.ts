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
