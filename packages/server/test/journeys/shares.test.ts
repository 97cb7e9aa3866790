import assert from "node:assert/strict";
import type { RequestListener, ServerResponse } from "node:http";
import { before, test } from "node:test";
import { openJobStore } from "../../src/platforms/embedded/job-store.ts";
import type { Settings } from "../../src/settings.ts";
import { answering, type CallbackReceiver, callbackReceiver, silent } from "../support/callback-receiver.ts";
import { type TestClamd, testClamd } from "../support/clamd.ts";
import { type FileServer, fileServer } from "../support/file-server.ts";
import { onFleet } from "../support/fleet.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { type TestService, testService } from "../support/service.ts";
import { tenantKey } from "../support/tenant-key.ts";
import { until } from "../support/until.ts";

const greedy = "key-of-the-greedy";
const ofTheModest = tenantKey("modest");
const modest = ofTheModest.secret;

/** Sends some bytes at once and then one at a time, for as long as somebody reads. */
function dripping(firstBytes: number): RequestListener {
  return (_, response: ServerResponse) => {
    response.write(Buffer.alloc(firstBytes, "x"));
    const drip = setInterval(() => response.write("."), 20);
    response.once("close", () => clearInterval(drip));
  };
}

/** Sends nothing at first, so that it leaves its place, and then as little as may be, so that it keeps the one it comes back to. */
function lateAndDripping(firstBytes: number): RequestListener {
  return (_, response: ServerResponse) => {
    let drip: NodeJS.Timeout | undefined;
    const begin = setTimeout(() => {
      brought += 1;
      response.write(Buffer.alloc(firstBytes, "x"));
      drip = setInterval(() => response.write(Buffer.alloc(200, "x")), 20);
    }, 1500);
    response.writeHead(200).flushHeaders();
    response.once("close", () => {
      clearTimeout(begin);
      clearInterval(drip);
    });
  };
}

/** How many of those have sent what comes late. */
let brought = 0;
let clamd: TestClamd;
let files: FileServer;
before(async () => {
  clamd = await testClamd();
  files = await fileServer({
    "/drip": dripping(1),
    "/burst-then-drip": dripping(400 * 1024),
    "/late-then-drip": lateAndDripping(400 * 1024),
  });
});
atTheEnd(() => clamd[Symbol.asyncDispose]());
atTheEnd(() => files[Symbol.asyncDispose]());

const start = (settings: Partial<Settings> = {}): Promise<TestService> =>
  testService(
    { clamd: `unix:${clamd.socketPath}`, apiKeys: [greedy], allowHttpCallbacks: true, ...settings },
    {},
    { tenantKeys: [ofTheModest] },
  );

async function submit(service: TestService, key: string, fields: Record<string, string>): Promise<void> {
  const response = await service.call("/api/v1/scan/async/download", {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
    body: JSON.stringify({ download_url: `${files.origin}/clean`, ...fields }),
  });
  assert.ok([201, 204].includes(response.status), `${response.status}`);
}

async function submitMany(service: TestService, count: number, fields: Record<string, string>): Promise<void> {
  for (let submitted = 0; submitted < count; submitted += 1) {
    await submit(service, greedy, { trace_id: `greedy ${JSON.stringify(fields)} ${submitted}`, ...fields });
  }
}

/** A job of the other tenant, from its submission to its result. */
async function polled(service: TestService, traceId: string): Promise<void> {
  await submit(service, modest, { trace_id: traceId });
  const poll = (): Promise<Response> =>
    service.call(`/api/v1/scan/async/result?trace_id=${traceId}`, { headers: { Authorization: `Bearer ${modest}` } });
  await until(`${traceId} has a result`, async () => (await poll()).status === 200);
}

interface CallbackTo {
  key: string;
  receiver: CallbackReceiver;
  limitMs?: number;
}

async function calledBack(service: TestService, to: CallbackTo, traceId: string): Promise<void> {
  const { key, receiver, limitMs = 10_000 } = to;
  await submit(service, key, { trace_id: traceId, callback_url: `${receiver.origin}/` });
  const has = (): boolean => receiver.requests.some(({ body }) => JSON.parse(body.toString()).trace_id === traceId);
  await until(`${traceId} is called back`, has, { limitMs });
}

test("downloads that drip hold up nobody: neither another tenant's job nor another of their own", async () => {
  await using service = await start();
  await submitMany(service, 12, { download_url: `${files.origin}/drip` });
  await polled(service, "of-another");
  await until("all twelve drip at once", () => files.asked.filter((path) => path === "/drip").length === 12);
  await submitMany(service, 1, { trace_id: "of-the-same" });
  const poll = (): Promise<Response> =>
    service.call("/api/v1/scan/async/result?trace_id=of-the-same", { headers: { Authorization: `Bearer ${greedy}` } });
  await until("a quick one of the same tenant has a result", async () => (await poll()).status === 200);
});

test("downloads that begin well and then drip hold the places of their own tenant only", async () => {
  await using service = await start();
  await submitMany(service, 12, { download_url: `${files.origin}/burst-then-drip` });
  await until("its places are taken", () => files.asked.filter((path) => path === "/burst-then-drip").length >= 4);
  for (const traceId of ["first", "second", "third"]) await polled(service, traceId);
});

test("downloads that come back from their wait and then drip hold the places of their own tenant only", async () => {
  await using service = await start();
  await submitMany(service, 12, { download_url: `${files.origin}/late-then-drip` });
  await until("more want their places back than there are", () => brought > 4);
  for (const traceId of ["first", "second", "third"]) await polled(service, traceId);
});

test("a download that drips for too long fails, and says so", async () => {
  await using service = await start({ downloadMinRate: 1_000_000_000 });
  await submitMany(service, 1, { download_url: `${files.origin}/burst-then-drip` });
  await until(
    "the run is over",
    () =>
      service.lines.some(({ event, failure, settlement }) => {
        return event === "job" && failure === "too_slow" && settlement === "again";
      }),
    { limitMs: 60_000 },
  );
});

test("receivers that hang hold up their own callbacks only, however many there are", async () => {
  await using stack = new AsyncDisposableStack();
  const hanging = await Promise.all(Array.from({ length: 13 }, async () => stack.use(await callbackReceiver(silent))));
  const healthy = stack.use(await callbackReceiver(answering(204)));
  const service = stack.use(await start());
  const cleanAsked = (): number => files.asked.filter((path) => path === "/clean").length;
  const askedBefore = cleanAsked();
  for (let round = 0; round < 40; round += 1) {
    await Promise.all(hanging.map(({ origin }) => submitMany(service, 1, { callback_url: `${origin}/${round}` })));
  }
  await until("all are scanned", () => cleanAsked() === askedBefore + 520, { limitMs: 60_000 });
  for (const traceId of ["first", "second", "third"])
    await calledBack(service, { key: modest, receiver: healthy }, traceId);
  // Until it is seen that the others hang, they have all the places of their own tenant.
  await calledBack(service, { key: greedy, receiver: healthy, limitMs: 60_000 }, "of-the-same-tenant");
});

test("all of it at once leaves another tenant's jobs and callbacks running", async () => {
  await using stack = new AsyncDisposableStack();
  const hanging = await Promise.all(Array.from({ length: 13 }, async () => stack.use(await callbackReceiver(silent))));
  const healthy = stack.use(await callbackReceiver(answering(204)));
  const service = stack.use(await start());
  await submitMany(service, 20, { download_url: `${files.origin}/burst-then-drip` });
  await submitMany(service, 100, { download_url: `${files.origin}/drip` });
  for (const { origin } of hanging) await submitMany(service, 40, { callback_url: `${origin}/` });
  for (let round = 0; round < 10; round += 1) {
    await polled(service, `polled-${round}`);
    await calledBack(service, { key: modest, receiver: healthy }, `called-back-${round}`);
  }
});

test("a slow download is put back at once when the service stops, as often as that happens, and never counts as poison", {
  skip: onFleet && "it looks into SQLite, and every worker has its slots",
}, async () => {
  using folder = temporaryFolder();
  let slow = true;
  await using server = await fileServer({
    "/slow": (request, response) => (slow ? dripping(1)(request, response) : response.end("clean file")),
  });
  const asked = (): number => server.asked.filter((path) => path === "/slow").length;
  await using store = await openJobStore(folder.path).then((opened) => ({
    ...opened,
    [Symbol.asyncDispose]: opened.close,
  }));
  for (const stops of [1, 2, 3, 4]) {
    await using service = await start({ dataDir: folder.path });
    if (stops === 1) await submit(service, greedy, { download_url: `${server.origin}/slow`, trace_id: "slow" });
    await until("the download is under way", () => asked() === stops);
    const stopped = service.service.stop();
    await until("the job is there for others", async () => {
      const { entries } = await store.browser.list({ limit: 1 });
      return entries[0]?.state === "ready" && entries[0].attempts === 0;
    });
    await stopped;
  }
  slow = false;
  await using service = await start({ dataDir: folder.path });
  const poll = (): Promise<Response> =>
    service.call("/api/v1/scan/async/result?trace_id=slow", { headers: { Authorization: `Bearer ${greedy}` } });
  await until("it has a result", async () => (await poll()).status === 200);
});
