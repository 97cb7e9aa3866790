import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { Readable } from "node:stream";
import { beforeEach, test } from "node:test";
import { engineParts } from "../../src/compose/engine.ts";
import { type ClamdAddress, describeAddress, findClamd } from "../../src/engines/clamd/address.ts";
import { startEngine } from "../../src/engines/variants.ts";
import { readSettings } from "../../src/settings/read-settings.ts";
import type { Settings } from "../../src/settings.ts";
import { type TestClamd, testClamd } from "../support/clamd.ts";
import { eicar } from "../support/eicar.ts";
import { onFleet } from "../support/fleet.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { type TestService, testService } from "../support/service.ts";
import { until } from "../support/until.ts";

/** No rule knows it: clamd alone finds it, by a signature of these tests. */
const knownToClamd = Buffer.from("this line is known to clamd and to nobody else\n");
const signatures = {
  "lazaret-test.ndb": readFileSync(new URL("../../signatures/lazaret-test.ndb", import.meta.url), "utf8"),
  "own.ndb": `Known.To.Clamd:0:*:${knownToClamd.toString("hex")}\n`,
};

let clamd: TestClamd | undefined;
const data = temporaryFolder();
atTheEnd(() => data[Symbol.dispose]());
atTheEnd(() => clamd?.[Symbol.asyncDispose]());
beforeEach(() => rmSync(data.path, { recursive: true, force: true }));

/** A clamd that is gone, socket and all, as after a reboot. */
async function stoppedClamd(): Promise<TestClamd> {
  clamd ??= await testClamd({}, { signatures });
  await stop(clamd);
  return clamd;
}

async function stop(daemon: TestClamd): Promise<void> {
  await daemon.kill();
  rmSync(daemon.socketPath, { force: true });
}

function serviceFor(daemon: TestClamd, settings: Partial<Settings> = {}): Promise<TestService> {
  const options = { clamdSockets: [daemon.socketPath] };
  return testService({ engine: "P", clamd: "auto", dataDir: data.path, ...settings }, {}, options);
}

async function statusOf(service: TestService, bytes: Uint8Array | string): Promise<unknown> {
  const response = await service.scan(bytes);
  return response.status === 200 ? ((await response.json()) as { status: string }).status : response.status;
}

async function readiness(service: TestService): Promise<{ ready: boolean; clamd: string }> {
  const { ready, checks } = (await (await service.call("/readyz?verbose")).json()) as {
    ready: boolean;
    checks: { name: string; detail: string }[];
  };
  return { ready, clamd: checks.find(({ name }) => name === "clamd")?.detail ?? "" };
}

test("a service that starts before clamd takes it in when it comes, and misses it when it goes", {
  skip: onFleet && "each process says so in the log",
}, async () => {
  const daemon = await stoppedClamd();
  await using service = await serviceFor(daemon);
  assert.match(
    (await readiness(service)).clamd,
    /NOT IN USE.*clamd is installed here.*taken in when its socket appears/,
  );
  assert.equal(await statusOf(service, knownToClamd), "clean");

  await daemon.start();
  assert.equal(await statusOf(service, knownToClamd), "infected");
  assert.deepEqual(
    service.lines.filter(({ event }) => event === "clamd_found").map((line) => line.clamd),
    [`unix:${daemon.socketPath}`],
  );
  await until("readiness tells", async () => /^ClamAV /.test((await readiness(service)).clamd));

  await stop(daemon);
  assert.equal(await statusOf(service, "fine"), 503);
  assert.equal(await statusOf(service, eicar()), "infected");
  await until("readiness notices", async () => !(await readiness(service)).ready);
});

test("a service that nobody asks anything takes clamd in too", async () => {
  const daemon = await stoppedClamd();
  await using service = await serviceFor(daemon);
  await daemon.start();
  await until("the log says so", () => service.lines.some(({ event }) => event === "clamd_found"));
});

test("a scan that is under way when clamd comes ends as it began", async () => {
  const daemon = await stoppedClamd();
  const found: string[] = [];
  const find = (): ClamdAddress | undefined => findClamd([daemon.socketPath]);
  const onFound = (address: ClamdAddress): unknown => found.push(describeAddress(address));
  const engine = await startEngine({
    variant: "P",
    concurrency: 4,
    clamd: { kind: "search", find, onFound, likely: true },
    rules: {},
  });
  const rest = Promise.withResolvers<void>();
  async function* slow(): AsyncGenerator<Uint8Array> {
    yield knownToClamd.subarray(0, 10);
    await rest.promise;
    yield knownToClamd.subarray(10);
  }
  try {
    const early = engine.scan(slow(), AbortSignal.timeout(60_000));
    await daemon.start();
    const late = await engine.scan(Readable.from([knownToClamd]), AbortSignal.timeout(60_000));
    assert.deepEqual(found, [`unix:${daemon.socketPath}`]);
    rest.resolve();
    assert.deepEqual([(await early).kind, late.kind], ["clean", "infected"]);
  } finally {
    rest.resolve();
    await engine.close();
  }
});

test("a clamd that was there before a restart is expected after it, until LAZARET_CLAMD is none", async () => {
  const daemon = await stoppedClamd();
  await daemon.start();
  {
    await using service = await serviceFor(daemon);
    assert.equal(await statusOf(service, "fine"), "clean");
  }
  await stop(daemon);
  {
    await using service = await serviceFor(daemon);
    assert.equal(await statusOf(service, "fine"), 503);
    const { ready, clamd: words } = await readiness(service);
    assert.equal(ready, false);
    assert.match(words, /was in use at unix:.* and is gone: start it, or set LAZARET_CLAMD=none/);
    await daemon.start();
    assert.equal(await statusOf(service, "fine"), "clean");
    await stop(daemon);
  }
  {
    await using service = await serviceFor(daemon, { clamd: "none" });
    assert.equal(await statusOf(service, "fine"), "clean");
  }
  await using service = await serviceFor(daemon);
  assert.equal(await statusOf(service, "fine"), "clean");
});

test("with LAZARET_REQUIRE_CLAMD nothing is clean and nothing is ready before clamd is there", async () => {
  const daemon = await stoppedClamd();
  await using service = await serviceFor(daemon, { requireClamd: true });
  assert.equal(await statusOf(service, "fine"), 503);
  assert.equal(await statusOf(service, eicar()), "infected");
  assert.equal((await service.call("/readyz")).status, 503);
  assert.match((await readiness(service)).clamd, /LAZARET_REQUIRE_CLAMD is true/);
  await daemon.start();
  assert.equal(await statusOf(service, "fine"), "clean");
  await until("it is ready", async () => (await service.call("/readyz")).status === 204);
});

test("LAZARET_REQUIRE_CLAMD and LAZARET_CLAMD=none do not go together", async () => {
  const daemon = await stoppedClamd();
  await assert.rejects(serviceFor(daemon, { requireClamd: true, clamd: "none" }), /LAZARET_REQUIRE_CLAMD is true/);
});

test("engine Q waits for a clamd that is installed: not ready, 503, and ready when it comes", async () => {
  const daemon = await stoppedClamd();
  await using service = await serviceFor(daemon, { engine: "Q" });
  assert.equal(await statusOf(service, "fine"), 503);
  assert.equal((await service.call("/readyz")).status, 503);
  await daemon.start();
  assert.equal(await statusOf(service, knownToClamd), "infected");
  assert.equal(await statusOf(service, "fine"), "clean");
});

test("the log warns at the start where clamd is installed and no socket is there", async () => {
  const daemon = await stoppedClamd();
  await using service = await serviceFor(daemon);
  const [line] = service.lines.filter(({ event }) => event === "clamd_missing");
  assert.equal(line?.level, "error");
  assert.match(String(line?.error), /clamd is installed on this machine/);
  assert.match(String(line?.hint), /systemctl enable --now clamav-daemon/);
  await daemon.start();
  await using second = await serviceFor(daemon);
  assert.equal(
    second.lines.some(({ event }) => event === "clamd_missing"),
    false,
  );
});

test("a scan without a server remembers nothing, and waits for no clamd", async () => {
  const daemon = await stoppedClamd();
  const read = readSettings({ flags: { clamd: "auto", dataDir: data.path }, env: {}, file: {} });
  assert.ok(read.kind === "ok");
  const log = Object.assign(() => {}, { error: () => {}, debug: () => {} });
  const options = { log, stays: false, clamdSockets: [daemon.socketPath] };
  assert.equal(engineParts(read.settings, 1, options).clamd, undefined);
  await daemon.start();
  assert.deepEqual(engineParts(read.settings, 1, options).clamd, { kind: "unix", path: daemon.socketPath });
  assert.equal(existsSync(data.path), false);
});
