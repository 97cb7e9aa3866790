import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type TestClamd, type TestClamdOptions, testClamd } from "../../../test/support/clamd.ts";
import { clamdProxy } from "../../../test/support/clamd-proxy.ts";
import "../../../test/support/leftovers.ts";
import { until } from "../../../test/support/until.ts";
import { EngineUnavailable } from "../../model/faults.ts";
import { grouped } from "./canaries.ts";
import { basicCanary, canaryFiles, tooDeepCanary, WAYS, type Way } from "./canary-files.ts";
import { type Clamd, clamd } from "./clamd.ts";

const never = new AbortController().signal;
const testSignatures = fileURLToPath(new URL("../../../signatures", import.meta.url));

async function* bytes(...chunks: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk as string);
}

function engineOf(daemon: TestClamd, options: { learnEveryMs?: number } = {}): Clamd & AsyncDisposable {
  const engine = clamd({ address: { kind: "unix", path: daemon.socketPath }, concurrency: 2, ...options });
  return Object.assign(engine, { [Symbol.asyncDispose]: () => engine.close() });
}

/** The same bytes, with the container's structure broken: what clamd finds in these it finds without unpacking. */
const breaks: Record<Way, (file: Buffer) => Buffer> = {
  "zip/stored": (file) => overwrite(file, "PK"),
  "zip/deflated": (file) => overwrite(file, "PK"),
  gzip: (file) => file.subarray(1),
  bzip2: (file) => file.subarray(1),
  xz: (file) => file.subarray(1),
  tar: (file) => overwrite(file, "ustar"),
  "mail/base64": (file) => Buffer.concat([Buffer.from("no mail\r\n\r\n"), overwrite(file, "Content-")]),
  "pdf/flate": (file) => overwrite(file, "stream"),
  ole: (file) => Buffer.concat([Buffer.alloc(1), file]),
};

function overwrite(file: Buffer, word: string): Buffer {
  return Buffer.from(file.toString("latin1").replaceAll(word, "x".repeat(word.length)), "latin1");
}

describe("canaries", () => {
  let daemon: TestClamd;
  let engine: Clamd & AsyncDisposable;
  before(async () => {
    daemon = await testClamd();
    engine = engineOf(daemon);
  });
  after(async () => {
    await engine.close();
    await daemon[Symbol.asyncDispose]();
  });

  for (const way of WAYS) {
    test(`${way}: clamd finds it by unpacking only`, async () => {
      assert.equal((await engine.scan(bytes(canaryFiles[way]()), never)).kind, "infected");
      assert.equal((await engine.scan(bytes(breaks[way](canaryFiles[way]())), never)).kind, "clean");
      assert.equal(canaryFiles[way]().includes("EICAR"), false);
    });
  }

  test("no two are alike, so that no memory of clean files answers for them", () => {
    const made = WAYS.filter((way) => way !== "bzip2" && way !== "xz");
    for (const way of made) assert.notDeepEqual(canaryFiles[way](), canaryFiles[way](), way);
    assert.notDeepEqual(basicCanary(), basicCanary());
  });

  test("one that is too deep is reported as that", async () => {
    assert.equal((await engine.scan(bytes(tooDeepCanary()), never)).kind, "unscannable");
  });

  test("nothing is known before the first use, and all that clamd opens afterwards", async () => {
    await using fresh = engineOf(daemon);
    assert.deepEqual([...fresh.opens()], []);
    assert.equal((await fresh.health(never)).ready, true);
    assert.deepEqual([...fresh.opens()], [...WAYS]);
  });

  test("what clamd is silent about in a full folder counts only where the folder can be seen", async () => {
    await using proxy = await clamdProxy(daemon.socketPath);
    const distant = clamd({ address: proxy.address, concurrency: 1 });
    assert.equal((await distant.health(never)).ready, true);
    assert.deepEqual([...distant.opens()], ["zip/stored", "zip/deflated", "gzip", "bzip2", "xz", "tar"]);
    await distant.close();
  });

  test("they come again every few minutes", async () => {
    await using proxy = await clamdProxy(daemon.socketPath);
    const often = clamd({ address: proxy.address, concurrency: 1, learnEveryMs: 20, idleMs: 1 });
    await often.health(never);
    const { connections } = proxy;
    await until("canaries were sent again", () => proxy.connections > connections + 4);
    await often.close();
  });
});

describe("a clamd that cannot be believed", () => {
  const cases: [what: string, config: Record<string, string>, options: TestClamdOptions, detail: RegExp][] = [
    [
      "knows no EICAR",
      {},
      { signatures: { "one.hdb": "44d88612fea8a8f36de82e1278abb02e:1000:Something.Else\n" } },
      /does not find the EICAR test file, .*run freshclam/,
    ],
    ["opens no archives", { ScanArchive: "no" }, {}, /in a zip, .*ScanArchive yes/],
  ];
  for (const [what, config, options, detail] of cases) {
    test(`is not ready and calls nothing clean when it ${what}`, async () => {
      await using daemon = await testClamd(config, options);
      await using engine = engineOf(daemon);
      await assert.rejects(engine.scan(bytes("hello"), never), EngineUnavailable);
      await assert.rejects(engine.show([Buffer.from("hello")], never), EngineUnavailable);
      const health = await engine.health(never);
      assert.equal(health.ready, false);
      assert.match(health.checks[0]?.detail ?? "", detail);
      assert.deepEqual([...engine.opens()], []);
    });
  }

  test("what it finds counts all the same", async () => {
    await using daemon = await testClamd({ ScanArchive: "no" });
    await using engine = engineOf(daemon);
    const plain = readFileSync(join(testSignatures, "lazaret-test.ndb"), "latin1").trim().split(":").at(-1) ?? "";
    assert.equal((await engine.scan(bytes(Buffer.from(plain, "hex")), never)).kind, "infected");
  });

  test("that does not report its limits opens nothing by itself", async () => {
    await using daemon = await testClamd({ AlertExceedsMax: "no" });
    await using engine = engineOf(daemon);
    assert.equal((await engine.health(never)).ready, true);
    assert.deepEqual([...engine.opens()], []);
  });

  test("a way that it was told not to open is not among those it opens", async () => {
    await using daemon = await testClamd({ ScanMail: "no", ScanPDF: "no" });
    await using engine = engineOf(daemon);
    await engine.health(never);
    assert.deepEqual([...engine.opens()], ["zip/stored", "zip/deflated", "gzip", "bzip2", "xz", "tar", "ole"]);
  });

  test("another one in its place has to show again what it can do", async () => {
    const eicar = readFileSync(join(testSignatures, "lazaret-test.ndb"), "utf8");
    await using able = await testClamd({}, { signatures: { "eicar.ndb": eicar } });
    await using engine = engineOf(able);
    assert.equal((await engine.scan(bytes("hello"), never)).kind, "clean");
    await able.kill();
    writeFileSync(join(able.folder, "signatures", "eicar.ndb"), "Other:0:*:00112233445566778899aabbccddeeff\n");
    await able.start();
    const outcome = async (): Promise<unknown> => engine.scan(bytes("hello"), never).catch((error) => error);
    for (let times = 0; times < 3; times += 1) assert.ok((await outcome()) instanceof EngineUnavailable);
    assert.deepEqual([...engine.opens()], []);
  });
});

test("a run that began before somebody asked does not serve them, and who asks meanwhile shares the next", async () => {
  const runs: PromiseWithResolvers<void>[] = [];
  const ask = grouped(() => {
    const run = Promise.withResolvers<void>();
    runs.push(run);
    return run.promise;
  });
  const first = ask();
  const later = [ask(), ask()];
  assert.equal(runs.length, 1);
  runs[0]?.resolve();
  await first;
  await until("the next run begins", () => runs.length === 2);
  runs[1]?.reject(new Error("not found"));
  for (const each of later) await assert.rejects(each, /not found/);
  const last = ask();
  runs[2]?.resolve();
  await last;
});
