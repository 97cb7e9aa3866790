import assert from "node:assert/strict";
import { test } from "node:test";
import { testClamd } from "../support/clamd.ts";
import { eicar } from "../support/eicar.ts";
import "../support/leftovers.ts";
import { testService } from "../support/service.ts";
import { toldClock } from "../support/told-clock.ts";
import { until } from "../support/until.ts";

async function codeOf(response: Response): Promise<[status: number, code: string, retryAfter: string | null]> {
  const { code } = (await response.json()) as { code: string };
  return [response.status, code, response.headers.get("retry-after")];
}

test("while clamd is down a scan gets 503 and readiness is false; when it is back, both recover by themselves", async () => {
  await using clamd = await testClamd();
  await using service = await testService({ clamd: `unix:${clamd.socketPath}` });
  assert.equal((await service.scan("before")).status, 200);
  await clamd.kill();

  assert.deepEqual(await codeOf(await service.scan("while")), [503, "engine_unavailable", "5"]);
  await until("readiness notices", async () => (await service.call("/readyz")).status === 503);
  assert.deepEqual(await codeOf(await service.call("/readyz")), [503, "not_ready", "5"]);
  const verbose = await service.call("/readyz?verbose");
  assert.equal(verbose.status, 503);
  assert.match(await verbose.text(), /cannot reach clamd at unix:/);
  assert.equal((await service.call("/livez")).status, 204);

  await clamd.start();
  assert.deepEqual(await (await service.scan(eicar())).json(), {
    status: "infected",
    finding: "Eicar-Test-Signature",
    size: 68,
  });
  await until("readiness notices", async () => (await service.call("/readyz")).status === 204);
});

test("clamd killed under a burst of scans: each gets a true verdict or 503, never a made-up one", async () => {
  await using clamd = await testClamd();
  await using service = await testService({ clamd: `unix:${clamd.socketPath}`, waitingLine: 1000 });
  const answers = Array.from({ length: 60 }, async (_, index) => {
    const infected = index % 2 === 0;
    const response = await service.scan(infected ? eicar() : `clean file number ${index}`);
    const { status } = (await response.json()) as { status?: string };
    return { infected, http: response.status, status };
  });
  await clamd.kill();
  for (const { infected, http, status } of await Promise.all(answers)) {
    if (http === 503) continue;
    assert.deepEqual([http, status], [200, infected ? "infected" : "clean"]);
  }
});

// spec: limit-7
test("a clamd that hangs costs the client 504 after the limit, and nothing is made up", async () => {
  await using clamd = await testClamd();
  await using service = await testService({ clamd: `unix:${clamd.socketPath}` }, { scanMs: 1500 });
  await service.scan("warm");
  process.kill(clamd.pid, "SIGSTOP");
  assert.deepEqual(await codeOf(await service.scan("hello")), [504, "scanner:timeout", null]);
  process.kill(clamd.pid, "SIGCONT");
  await until("clamd answers again", async () => (await service.scan("again")).status === 200);
});

// spec: limit-7
test("a scan without a verdict gets 504 after 60 seconds, not before", async () => {
  await using clamd = await testClamd();
  const clock = toldClock();
  await using service = await testService({ clamd: `unix:${clamd.socketPath}` }, {}, clock);
  await service.scan("warm");
  process.kill(clamd.pid, "SIGSTOP");
  let answered = false;
  const answer = service.scan("hello").finally(() => {
    answered = true;
  });
  await until("it is being scanned", () => clock.waiting === 1);
  clock.advance(59.999);
  // An answer would have come by the time another request has had its own.
  assert.equal((await service.call("/api/v1/test")).status, 204);
  assert.equal(answered, false);
  clock.advance(0.001);
  const { code, message } = (await (await answer).json()) as { code: string; message: string };
  assert.deepEqual([code, message], ["scanner:timeout", "no verdict within 60 s"]);
  process.kill(clamd.pid, "SIGCONT");
});

test("beyond 16 that wait for each file scanned at once, requests get 503 busy", async () => {
  await using clamd = await testClamd();
  await using service = await testService({ clamd: `unix:${clamd.socketPath}`, concurrency: 1 });
  await service.scan("warm");
  process.kill(clamd.pid, "SIGSTOP");
  const room = service.apis * (1 + 16);
  const answers = Array.from({ length: room + 1 }, () => service.scan("one of many"));
  await Promise.race(answers);
  process.kill(clamd.pid, "SIGCONT");
  const statuses = (await Promise.all(answers)).map((response) => response.status).sort();
  assert.deepEqual(statuses, [...Array<number>(room).fill(200), 503]);
});

// spec: limit-12
test("no more files than the limit are scanned at once; the rest wait, and beyond the line they get 503 busy", async () => {
  await using clamd = await testClamd();
  await using service = await testService({ clamd: `unix:${clamd.socketPath}`, concurrency: 2, waitingLine: 3 });
  await service.scan("warm");
  process.kill(clamd.pid, "SIGSTOP");
  const room = service.apis * (2 + 3);
  const answers = Array.from({ length: room + 3 }, () => service.scan("one of many"));
  const busy: Response[] = [];
  for (const answer of answers) void answer.then((response) => response.status === 503 && busy.push(response));
  await until("three are refused", () => busy.length === 3);
  process.kill(clamd.pid, "SIGCONT");
  const statuses = (await Promise.all(answers)).map((response) => response.status).sort();
  assert.deepEqual(statuses, [...Array<number>(room).fill(200), 503, 503, 503]);
  for (const response of busy) assert.deepEqual(await codeOf(response), [503, "busy", "5"]);
});

// spec: limit-8
test("engine Q scans 4 files at once", async () => {
  await using clamd = await testClamd();
  await using service = await testService({ clamd: `unix:${clamd.socketPath}`, waitingLine: 1 });
  await service.scan("warm");
  process.kill(clamd.pid, "SIGSTOP");
  const room = service.apis * (4 + 1);
  const answers = Array.from({ length: room + 1 }, () => service.scan("one of many"));
  await Promise.race(answers);
  process.kill(clamd.pid, "SIGCONT");
  const statuses = (await Promise.all(answers)).map((response) => response.status).sort();
  assert.deepEqual(statuses, [...Array<number>(room).fill(200), 503]);
});
