import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleOf } from "../sample.ts";
import { type DeepLooks, deepLooks } from "./deep-looks.ts";

/** A real thread that answers with the first letter of the file, unless that letter tells it to fail. */
const OBEDIENT = `
import { parentPort } from "node:worker_threads";
parentPort.on("message", ({ id, sample }) => {
  const letter = String.fromCharCode(sample.head[0]);
  if (letter === "L") for (;;);
  if (letter === "X") process.exit(1);
  if (letter === "T") throw new Error("stumbled");
  if (letter === "M") for (const kept = []; ; ) kept.push(new Array(10_000).fill(letter));
  parentPort.postMessage({ kind: "answer", id, name: letter });
});
parentPort.postMessage({ kind: "ready" });`;
const NEVER = new AbortController().signal;

function threadOf(source: string): URL {
  return new URL(`data:text/javascript,${encodeURIComponent(source)}`);
}

/** Limits long enough for a busy machine where the test does not want them to pass. */
function looks(
  limits: { workLimitMs?: number; answerLimitMs?: number; restartAfterMs?: number } = {},
  source = OBEDIENT,
): DeepLooks {
  return deepLooks({
    workLimitMs: 30_000,
    answerLimitMs: 60_000,
    restartAfterMs: 60_000,
    thread: threadOf(source),
    ...limits,
  });
}

function ask(line: DeepLooks, letter: string, signal = NEVER): Promise<string | undefined> {
  return line.ask(sampleOf(Buffer.from(letter)), "data", signal);
}

test("questions are answered, also many at once", async () => {
  const line = looks();
  const letters = [..."abcdefghijklmnopqrstuvwxyz"];
  assert.deepEqual(await Promise.all(letters.map((letter) => ask(line, letter))), letters);
  assert.equal(line.lost(), 0);
  await line.close();
});

test("a look that never ends is given up and its thread ended; those behind it are answered", async () => {
  const line = looks({ workLimitMs: 1000 });
  assert.deepEqual(await Promise.all(["a", "L", "b"].map((letter) => ask(line, letter))), ["a", undefined, "b"]);
  assert.equal(line.lost(), 1);
  await line.close();
});

for (const [letter, fate] of [
  ["X", "ends itself"],
  ["T", "throws"],
  ["M", "wants more memory than it may have"],
] as const) {
  test(`a thread that ${fate} is replaced; its question goes without an answer, the next one does not`, async () => {
    const line = looks();
    assert.deepEqual(await Promise.all([letter, "b"].map((each) => ask(line, each))), [undefined, "b"]);
    assert.equal(line.lost(), 1);
    assert.equal(line.fault(), undefined);
    await line.close();
  });
}

test("who stops waiting is answered at once, and the thread comes free all the same", async () => {
  const line = looks({ workLimitMs: 1000 });
  assert.equal(await ask(line, "a"), "a");
  const stop = new AbortController();
  const stopped = ask(line, "L", stop.signal);
  const behind = ask(line, "b");
  stop.abort();
  assert.equal(await stopped, undefined);
  assert.equal(await behind, "b");
  await line.close();
});

test("a question that waits too long for its turn is given up", async () => {
  const line = looks({ answerLimitMs: 100 });
  const first = ask(line, "L");
  const second = ask(line, "b");
  assert.deepEqual(await Promise.all([first, second]), [undefined, undefined]);
  await line.close();
});

test("a thread that does not start is a fault, and is not tried again at every question", async () => {
  const line = looks({}, "throw new Error('cannot load')");
  assert.equal(await ask(line, "a"), undefined);
  assert.match(line.fault() ?? "", /cannot start the file type thread: cannot load/);
  assert.equal(await ask(line, "b"), undefined);
  assert.equal(line.lost(), 1);
  await line.close();
});

test("a thread that did not start is tried again later", async () => {
  const line = looks({ restartAfterMs: 0 }, "throw new Error('cannot load')");
  assert.equal(await ask(line, "a"), undefined);
  assert.equal(await ask(line, "b"), undefined);
  assert.equal(line.lost(), 2);
  await line.close();
});

test("closing answers everyone who waits, and later questions at once", async () => {
  const line = looks();
  const waiting = ["L", "b", "c"].map((letter) => ask(line, letter));
  await line.close();
  assert.deepEqual(await Promise.all(waiting), [undefined, undefined, undefined]);
  assert.equal(await ask(line, "d"), undefined);
});

test("the caller keeps its sample", async () => {
  const line = looks();
  const sample = sampleOf(Buffer.from("abc"));
  await line.ask(sample, "data", NEVER);
  assert.equal(Buffer.from(sample.head).toString(), "abc");
  await line.close();
});
