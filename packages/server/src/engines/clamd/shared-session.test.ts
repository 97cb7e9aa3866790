import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { clamdProxy } from "../../../test/support/clamd-proxy.ts";
import { fakeClamd, type ReceivedStream } from "../../../test/support/fake-clamd.ts";
import "../../../test/support/leftovers.ts";
import { testClamd } from "../../../test/support/clamd.ts";
import { until } from "../../../test/support/until.ts";
import { wholeBytes } from "../../flow/whole-bytes.ts";
import { EngineUnavailable } from "../../model/faults.ts";
import type { Verdict } from "../../model/verdict.ts";
import type { ClamdAddress } from "./address.ts";
import { type Clamd, type ClamdOptions, clamd } from "./clamd.ts";
import { GivenUp, openSession } from "./session.ts";

const never = new AbortController().signal;
const TIMEOUTS = { connectTimeoutMs: 60_000, replyTimeoutMs: 60_000 };
const CLEAN: Verdict = { kind: "clean" };

function engineAt(address: ClamdAddress, options: Partial<ClamdOptions> = {}) {
  // Where it cannot be seen whether clamd has room, it has to show that for every file: then nobody shares.
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
    const files = names.map((name, index) => "x".repeat((index * 4999) % 15_000) + (isClean(index) ? "clean" : name));
    const expected = names.map(
      (name, index): Verdict => (isClean(index) ? CLEAN : { kind: "infected", finding: `Found-${name}` }),
    );
    assert.deepEqual(await Promise.all(files.map((file) => engine.scan(small(file), never))), expected);
  }
  assert.equal(proxy.connections, connections);
});

/** Answers when it is told to. */
async function patientClamd() {
  const asked: (ReceivedStream & { socket: Socket; text: string })[] = [];
  const fake = await fakeClamd((socket, stream) => asked.push({ ...stream, socket, text: stream.content.toString() }));
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

test("a file that clamd fails at costs those in its session no verdict: they are sent again, each alone", async () => {
  await using patient = await patientClamd();
  await using engine = engineAt(patient.address);
  await patient.begin(engine);
  const [bad, one, two] = ["hello bad", "hello one", "hello two"].map((text) => engine.scan(small(text), never));
  await patient.heard("bad", "one", "two");
  assert.equal(patient.socketOf("one"), patient.socketOf("bad"));
  const shared = patient.socketOf("bad");
  patient.say("bad", "Can't allocate memory ERROR");
  await assert.rejects(Promise.resolve(bad), /Can't allocate memory/);
  await until("both are sent again", () => patient.timesHeard("one") === 2 && patient.timesHeard("two") === 2);
  assert.equal(new Set([shared, patient.socketOf("one"), patient.socketOf("two")]).size, 3);
  patient.say("one", "OK");
  patient.say("two", "Found FOUND");
  assert.deepEqual(await one, CLEAN);
  assert.deepEqual(await two, { kind: "infected", finding: "Found" });
  assert.equal(patient.timesHeard("bad"), 1);
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

test("who gives up holds a place until clamd is done; the others go on, and nobody joins them", async () => {
  await using patient = await patientClamd();
  await using engine = engineAt(patient.address, { concurrency: 3 });
  await patient.begin(engine);
  const stop = new AbortController();
  const leaves = engine.scan(small("hello leaves"), stop.signal);
  const stays = engine.scan(small("hello stays"), never);
  await patient.heard("leaves", "stays");
  stop.abort(new Error("gone"));
  await assert.rejects(leaves, /gone/);
  const joins = engine.scan(small("hello comes"), never);
  await patient.heard("comes");
  assert.notEqual(patient.socketOf("comes"), patient.socketOf("stays"));
  const waits = engine.scan(small("hello waits"), never);
  patient.say("stays", "OK");
  assert.deepEqual(await stays, CLEAN);
  await patient.heard("waits");
  const another = engine.scan(small("hello another"), never);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(patient.timesHeard("another"), 0, "the place of who left is taken");
  patient.say("leaves", "OK");
  await patient.heard("another");
  for (const text of ["comes", "waits", "another"]) patient.say(text, "OK");
  assert.deepEqual(await Promise.all([joins, waits, another]), [CLEAN, CLEAN, CLEAN]);
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
  // More than fits between us and it.
  const first = session.scan(wholeBytes(Buffer.alloc(32 * 1024 * 1024)), { signal: never });
  const behind = session.scan(wholeBytes(Buffer.from("behind")), { signal: never });
  assert.deepEqual(await first, { kind: "failure", text: "a verdict of clean before the end of the stream" });
  await assert.rejects(behind, GivenUp);
  session.close();
});
