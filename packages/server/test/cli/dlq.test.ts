import assert from "node:assert/strict";
import { before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { answering, type CallbackReceiver, callbackReceiver, inTurn } from "../support/callback-receiver.ts";
import { type TestClamd, testClamd } from "../support/clamd.ts";
import { fileServer } from "../support/file-server.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { type CliOutcome, cliOutcome } from "../support/run-cli.ts";
import { type TestService, testService } from "../support/service.ts";
import { toldClock } from "../support/told-clock.ts";
import { until } from "../support/until.ts";

const folder = temporaryFolder();
const clock = toldClock();
let clamd: TestClamd;
let service: TestService;
let receiver: CallbackReceiver;
let files: Awaited<ReturnType<typeof fileServer>>;
before(async () => {
  clamd = await testClamd();
  service = await testService(
    { clamd: `unix:${clamd.socketPath}`, dataDir: folder.path, allowHttpCallbacks: true },
    {},
    clock,
  );
  // Three jobs of 24 refused POSTs each, then everything is taken.
  receiver = await callbackReceiver(inTurn(...Array.from({ length: 72 }, () => answering(500)), answering(204)));
  files = await fileServer();
  for (const [index, traceId] of ["first", "second", "third"].entries()) {
    await service.call("/api/v1/scan/async/download", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({
        download_url: `${files.origin}/clean?canary`,
        callback_url: `${receiver.origin}/hook?canary`,
        callback_headers: { "X-Secret": "canary" },
        trace_id: traceId,
      }),
    });
    // One after the other, so that it is known which came first.
    const buried = index + 1;
    await until(
      `${traceId} is buried`,
      async () => {
        // Not faster: the clock of leases runs with it, and who holds one would lose it to itself.
        await pause(100);
        clock.advance(1);
        return service.lines.filter((line) => line.settlement === "buried").length === buried;
      },
      { limitMs: 120_000 },
    );
  }
});
atTheEnd(() => folder[Symbol.dispose]());
atTheEnd(() => clamd[Symbol.asyncDispose]());
atTheEnd(() => files[Symbol.asyncDispose]());
atTheEnd(() => receiver[Symbol.asyncDispose]());
atTheEnd(() => service[Symbol.asyncDispose]());

function lazaret(...args: string[]): Promise<CliOutcome> {
  return cliOutcome([...args, "--data-dir", folder.path], { cwd: folder.path });
}

test("dlq list and show tell what happened, as a table and as JSON, without the client's secrets", async () => {
  const { code, out } = await lazaret("dlq", "list");
  assert.equal(code, 0);
  assert.match(out, /^ID +BURIED +TRACE ID +CALLBACK +REASON\n/);
  assert.match(out, /second .*\/hook\?… .*scanner:callback-failed/);
  assert.equal(out.trim().split("\n").length, 4);

  const json = await lazaret("dlq", "list", "--json");
  const { entries } = JSON.parse(json.out);
  assert.deepEqual(
    entries.map((entry: { job: { traceId: string } }) => entry.job.traceId),
    ["third", "second", "first"],
  );
  const shown = await lazaret("dlq", "show", entries[0].id);
  assert.equal(JSON.parse(shown.out).job.report.verdict.kind, "clean");
  assert.doesNotMatch(`${out}${json.out}${shown.out}`, /canary/);
});

test("jobs list shows dead letters as buried, jobs show one of them", async () => {
  const { out } = await lazaret("jobs", "list", "--state", "buried");
  assert.match(out, /^ID +STATE +AGE +ATTEMPTS +TRACE ID +SOURCE\n/);
  const [id = ""] = out.split("\n")[1]?.split(" ") ?? [];
  assert.equal(JSON.parse((await lazaret("jobs", "show", id, "--json")).out).state, "buried");
});

test("--tenant lists and changes those of one tenant", async () => {
  assert.equal((await lazaret("dlq", "list", "--tenant", "shop")).out.trim().split("\n").length, 1);
  assert.equal((await lazaret("dlq", "list", "--tenant", "default", "--limit", "1")).out.trim().split("\n").length, 2);
  assert.equal((await lazaret("jobs", "list", "--tenant", "default")).out.trim().split("\n").length, 4);
  const purged = await lazaret("dlq", "purge", "--tenant", "shop");
  assert.deepEqual([purged.code, purged.out], [0, "deleted 0 of 0\n"]);
  const wrong = await lazaret("dlq", "purge", "--tenant", "Shop!");
  assert.match(wrong.err, /It must be a name of a-z, 0-9 and -/);
  const both = await lazaret("dlq", "redrive", "--all", "--tenant", "default");
  assert.match(both.err, /say which dead letters to redrive\nhint: .*--tenant NAME/);
});

test("what is not there, or not said, is an error with a hint", async () => {
  const missing = await lazaret("dlq", "show", "nothing");
  assert.deepEqual(
    [missing.code, missing.err],
    [78, "lazaret: there is no dead letter nothing here\nhint: lazaret dlq list shows what there is\n"],
  );
  const limit = await lazaret("dlq", "list", "--limit", "abc");
  assert.deepEqual([limit.code, /whole number from 1 to 1000/.test(limit.err)], [64, true]);
  assert.equal((await lazaret("dlq", "redrive", "nothing")).code, 1);
  const unsaid = await lazaret("dlq", "purge");
  assert.equal(unsaid.code, 64);
  assert.match(unsaid.err, /say which dead letters to purge\nhint: lazaret dlq purge ID…/);
  using empty = temporaryFolder();
  const none = await cliOutcome(["dlq", "list", "--data-dir", empty.path], { cwd: empty.path });
  assert.equal(none.code, 78);
  assert.match(none.err, /there are no jobs in /);
});

test("a redriven dead letter is delivered without another scan, while the server runs", async () => {
  const { entries } = JSON.parse((await lazaret("dlq", "list", "--json")).out);
  const refused = receiver.requests.length;
  assert.equal((await lazaret("dlq", "redrive", entries[2].id)).out, "put back 1 of 1\n");
  await until("it is delivered", () => receiver.requests.length === refused + 1);
  const delivered = receiver.requests[refused];
  assert.equal(JSON.parse(delivered?.body.toString() ?? "").trace_id, "first");
  assert.deepEqual(delivered?.values("x-secret"), ["canary"]);
});

test("with --whole it is fetched and scanned again, and the audit log says so", async () => {
  const { entries } = JSON.parse((await lazaret("dlq", "list", "--json")).out);
  const [refused, fetched] = [receiver.requests.length, files.asked.length];
  assert.equal((await lazaret("dlq", "redrive", "--whole", entries[1].id)).out, "put back 1 of 1\n");
  await until("it is delivered", () => receiver.requests.length === refused + 1);
  assert.equal(JSON.parse(receiver.requests[refused]?.body.toString() ?? "").trace_id, "second");
  assert.deepEqual(files.asked.slice(fetched), ["/clean"]);
  const [newest = ""] = (await lazaret("audit", "--json", "--limit", "1")).out.split("\n");
  const { what, details } = JSON.parse(newest);
  assert.deepEqual([what, details], ["dlq.redrive", { what: "whole" }]);
  assert.equal((await lazaret("dlq", "purge", "--all", "--whole")).code, 64);
});

test("purge deletes for good", async () => {
  assert.equal((await lazaret("dlq", "purge", "--all")).out, "deleted 1 of 1\n");
  assert.equal((await lazaret("dlq", "list")).out.trim().split("\n").length, 1);
});
