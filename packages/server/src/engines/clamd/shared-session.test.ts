import assert from "node:assert/strict";
import { readFileSync, rmSync, symlinkSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { testClamd } from "../../../test/support/clamd.ts";
import { clamdProxy } from "../../../test/support/clamd-proxy.ts";
import { eicar } from "../../../test/support/eicar.ts";
import { fakeClamd, type ReceivedStream } from "../../../test/support/fake-clamd.ts";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { until } from "../../../test/support/until.ts";
import { wholeBytes } from "../../flow/whole-bytes.ts";
import { EngineUnavailable } from "../../model/faults.ts";
import type { Verdict } from "../../model/verdict.ts";
import type { ClamdAddress } from "./address.ts";
import { type Clamd, ClamdExchanged, type ClamdOptions, clamd } from "./clamd.ts";
import { GivenUp, openSession } from "./session.ts";

const never = new AbortController().signal;
const TIMEOUTS = { connectTimeoutMs: 60_000, replyTimeoutMs: 60_000 };
const CLEAN: Verdict = { kind: "clean" };

function engineAt(address: ClamdAddress, options: Partial<ClamdOptions> = {}) {
  const engine = clamd({ address, concurrency: 64, temporaryDir: tmpdir(), ...options });
  return Object.assign(engine, { [Symbol.asyncDispose]: () => engine.close() });
}

const small = (text: string): AsyncIterable<Uint8Array> => wholeBytes(Buffer.from(text));

test("small files that are scanned at once share a session, and each gets its own verdict", async () => {
  const names = Array.from({ length: 16 }, (_, index) => `only-${index}-is-this`);
  const signature = (name: string): string => `Found-${name}:0:*:${Buffer.from(name).toString("hex")}\n`;
  const ours = readFileSync(new URL("../../../signatures/lazaret-test.ndb", import.meta.url), "utf8");
  await using daemon = await testClamd({}, { signatures: { "own.ndb": names.map(signature).join("") + ours } });
  await using proxy = await clamdProxy(daemon.socketPath);
  await using engine = engineAt(proxy.address);
  await engine.scan(small("opens the first session, and those for canaries"), never);
  const { connections } = proxy;
  for (let round = 0; round < 30; round += 1) {
    const isClean = (index: number): boolean => index % 3 === round % 3;
    // They differ by size, so that they are not answered in the order in which they were sent.
    const files = names.map((name, index) => "x".repeat((index * 4999) % 7000) + (isClean(index) ? "clean" : name));
    const expected = names.map(
      (name, index): Verdict => (isClean(index) ? CLEAN : { kind: "infected", finding: `Found-${name}` }),
    );
    assert.deepEqual(await Promise.all(files.map((file) => engine.scan(small(file), never))), expected);
  }
  assert.equal(proxy.connections, connections);
});

/** Answers when it is told to. */
async function patientClamd(path?: string) {
  const asked: (ReceivedStream & { socket: Socket; text: string })[] = [];
  const fake = await fakeClamd(
    (socket, stream) => asked.push({ ...stream, socket, text: stream.content.toString() }),
    path === undefined ? {} : { path },
  );
  const heard = (...texts: string[]): Promise<void> =>
    until(`clamd has heard ${texts}`, () => texts.every((text) => asked.some((each) => each.text.includes(text))));
  const last = (text: string) => {
    const found = asked.findLast((each) => each.text.includes(text));
    assert.ok(found, `clamd was not sent ${text}`);
    return found;
  };
  const say = (text: string, reply: string): void =>
    void last(text).socket.write(`${last(text).number}: stream: ${reply}\0`);
  return Object.assign(fake, {
    heard,
    say,
    /** So that there is a session to share. */
    async begin(engine: Clamd) {
      const first = engine.scan(small("hello first"), never);
      await heard("first");
      say("first", "OK");
      assert.deepEqual(await first, CLEAN);
    },
    socketOf: (text: string) => last(text).socket,
    timesHeard: (text: string) => asked.filter((each) => each.text.includes(text)).length,
  });
}

test("more than the system takes at once is no reason to doubt a verdict", async () => {
  await using daemon = await testClamd();
  await using engine = engineAt({ kind: "unix", path: daemon.socketPath });
  await engine.scan(small("opens the first session"), never);
  const files = Array.from({ length: 32 }, (_, index) =>
    index % 2 === 0 ? "x".repeat(16 * 1024) : "x".repeat(16 * 1024 - eicar().length) + eicar().toString("latin1"),
  );
  for (let round = 0; round < 20; round += 1) {
    const verdicts = await Promise.all(files.map((file) => engine.scan(small(file), never)));
    assert.deepEqual(
      verdicts.map(({ kind }) => kind),
      files.map((_, index) => (index % 2 === 0 ? "clean" : "infected")),
    );
  }
});

test("a file that clamd fails at costs those in its session no verdict, and nobody joins them", async () => {
  await using patient = await patientClamd();
  await using engine = engineAt(patient.address);
  await patient.begin(engine);
  const [bad, one, two] = ["hello bad", "hello one", "hello two"].map((text) => engine.scan(small(text), never));
  await patient.heard("bad", "one", "two");
  assert.equal(patient.socketOf("one"), patient.socketOf("bad"));
  patient.say("bad", "Can't allocate memory ERROR");
  await assert.rejects(Promise.resolve(bad), /Can't allocate memory/);
  const next = engine.scan(small("hello next"), never);
  await patient.heard("next");
  assert.notEqual(patient.socketOf("next"), patient.socketOf("one"));
  patient.say("two", "Found FOUND");
  patient.say("one", "OK");
  patient.say("next", "OK");
  assert.deepEqual(await Promise.all([one, two, next]), [CLEAN, { kind: "infected", finding: "Found" }, CLEAN]);
  assert.equal(patient.timesHeard("one") + patient.timesHeard("two"), 2);
  await until("the session is closed", () => patient.socketOf("one").destroyed);
});

const endings: [what: string, end: (patient: Awaited<ReturnType<typeof patientClamd>>) => void][] = [
  [
    "it closes the connection after a failure",
    (patient) => {
      patient.say("bad", "Can't allocate memory ERROR");
      patient.socketOf("bad").end();
    },
  ],
  [
    "it does not say at whose file it has failed",
    (patient) => patient.socketOf("bad").write("stream: went wrong ERROR\0"),
  ],
];
for (const [what, end] of endings) {
  test(`those in a session are sent again, each alone, when ${what}`, async () => {
    await using patient = await patientClamd();
    await using engine = engineAt(patient.address);
    await patient.begin(engine);
    const bad = engine.scan(small("hello bad"), never).catch((error) => error);
    const [one, two] = ["hello one", "hello two"].map((text) => engine.scan(small(text), never));
    await patient.heard("bad", "one", "two");
    const shared = patient.socketOf("bad");
    end(patient);
    await until("both are sent again", () => patient.timesHeard("one") === 2 && patient.timesHeard("two") === 2);
    assert.equal(new Set([shared, patient.socketOf("one"), patient.socketOf("two")]).size, 3);
    patient.say("one", "OK");
    patient.say("two", "Found FOUND");
    if (patient.timesHeard("bad") === 2) patient.say("bad", "Can't allocate memory ERROR");
    assert.deepEqual(await Promise.all([one, two]), [CLEAN, { kind: "infected", finding: "Found" }]);
    assert.ok((await bad) instanceof EngineUnavailable);
  });
}

test("a file over clamd's own StreamMaxLength costs those beside it no verdict", async () => {
  await using daemon = await testClamd({ StreamMaxLength: "8K" });
  await using engine = engineAt({ kind: "unix", path: daemon.socketPath });
  for (let round = 0; round < 10; round += 1) {
    await engine.scan(small("opens the first session"), never);
    const files = Array.from({ length: 8 }, (_, index) => "x".repeat(index === 3 ? 12_000 : 100));
    const outcomes = await Promise.allSettled(files.map((file) => engine.scan(small(file), never)));
    const said = outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value.kind : outcome.reason.name));
    assert.notEqual(said[3], "clean");
    // It may become another one while it closes connections: that is known to who asks, and seen to.
    assert.deepEqual(new Set(said.toSpliced(3, 1)).difference(new Set(["clean", "ClamdExchanged"])), new Set());
  }
});

test("a clamd that is gone in mid scan gives no verdict to any of those in a session", async () => {
  await using patient = await patientClamd();
  await using engine = engineAt(patient.address);
  await patient.begin(engine);
  const scans = Promise.allSettled(["hello one", "hello two"].map((text) => engine.scan(small(text), never)));
  await patient.heard("one", "two");
  patient.socketOf("one").destroy();
  for (const outcome of await scans)
    assert.ok(outcome.status === "rejected" && outcome.reason instanceof EngineUnavailable);
  assert.deepEqual([patient.timesHeard("one"), patient.timesHeard("two")], [1, 1]);
});

test("who gives up holds a place until clamd is done with that file; the others go on, and nobody joins them", async () => {
  await using patient = await patientClamd();
  await using engine = engineAt(patient.address, { concurrency: 3 });
  await patient.begin(engine);
  const stop = new AbortController();
  const leaves = engine.scan(small("hello leaves"), stop.signal);
  const stays = engine.scan(small("hello stays"), never);
  await patient.heard("leaves", "stays");
  assert.equal(patient.socketOf("leaves"), patient.socketOf("stays"));
  stop.abort(new Error("gone"));
  await assert.rejects(leaves, /gone/);
  const comes = engine.scan(small("hello comes"), never);
  await patient.heard("comes");
  assert.notEqual(patient.socketOf("comes"), patient.socketOf("stays"));
  const waits = engine.scan(small("hello waits"), never);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(patient.timesHeard("waits"), 0, "the place of who left is taken");
  patient.say("leaves", "OK");
  await patient.heard("waits");
  for (const text of ["stays", "comes", "waits"]) patient.say(text, "OK");
  assert.deepEqual(await Promise.all([stays, comes, waits]), [CLEAN, CLEAN, CLEAN]);
});

test("a clamd that is exchanged while files share a session is noticed for each of them", async () => {
  using folder = temporaryFolder();
  const [path = "", another = "", link = ""] = ["one", "another", "clamd"].map((name) =>
    join(folder.path, `${name}.sock`),
  );
  await using patient = await patientClamd(path);
  await using _ = await patientClamd(another);
  symlinkSync(path, link);
  await using engine = engineAt({ kind: "unix", path: link }, { switches: true });
  await patient.begin(engine);
  const [one, two] = ["one", "two"].map((text) => ({ text, scan: engine.scan(small(`hello ${text}`), never) }));
  await patient.heard("one", "two");
  assert.equal(patient.socketOf("one"), patient.socketOf("two"));
  rmSync(link);
  symlinkSync(another, link);
  for (const each of [one, two]) {
    assert.ok(each);
    patient.say(each.text, "OK");
    await assert.rejects(each.scan, ClamdExchanged);
  }
});

test("where it cannot be seen whether clamd has room nobody shares", async () => {
  await using patient = await patientClamd();
  const engine = clamd({ address: patient.address, concurrency: 64 });
  await using _ = { [Symbol.asyncDispose]: () => engine.close() };
  await patient.begin(engine);
  const one = engine.scan(small("hello one"), never);
  await patient.heard("one");
  const two = engine.scan(small("hello two"), never);
  await patient.heard("two");
  assert.notEqual(patient.socketOf("two"), patient.socketOf("one"));
  for (const text of ["one", "two"]) patient.say(text, "OK");
  assert.deepEqual(await Promise.all([one, two]), [CLEAN, CLEAN]);
});

test("nobody joins a session whose clamd takes long for somebody, nor one that carries a large file", async () => {
  await using patient = await patientClamd();
  await using engine = engineAt(patient.address);
  await patient.begin(engine);
  const large = engine.scan(wholeBytes(Buffer.from(`hello large${"x".repeat(20_000)}`)), never);
  await patient.heard("large");
  const slow = engine.scan(small("hello slow"), never);
  await patient.heard("slow");
  assert.notEqual(patient.socketOf("slow"), patient.socketOf("large"));
  await new Promise((resolve) => setTimeout(resolve, 1100));
  const next = engine.scan(small("hello next"), never);
  await patient.heard("next");
  assert.notEqual(patient.socketOf("next"), patient.socketOf("slow"));
  for (const text of ["large", "slow", "next"]) patient.say(text, "OK");
  assert.deepEqual(await Promise.all([large, slow, next]), [CLEAN, CLEAN, CLEAN]);
});

test("no clean counts that came before the end of its file had left, also when others are behind it", async () => {
  await using liar = await fakeClamd(() => false, {
    onData: (socket, data) =>
      data.subarray(-1000).equals(Buffer.alloc(1000)) && socket.pause().write("1: stream: OK\0"),
  });
  const session = await openSession(liar.address, TIMEOUTS, never);
  const answered: string[] = [];
  // More than fits between us and it.
  const shares = { signal: never, answered: () => void answered.push("answered") };
  const scans = [Buffer.alloc(32 * 1024 * 1024), Buffer.from("behind")].map((file) =>
    session.scan(wholeBytes(file), shares),
  );
  for (const scan of scans) await assert.rejects(scan, GivenUp);
  assert.equal(answered.length, 2);
  session.close();
});
