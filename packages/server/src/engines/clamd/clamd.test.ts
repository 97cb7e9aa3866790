import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { clamdProxy } from "../../../test/support/clamd-proxy.ts";
import { eicar } from "../../../test/support/eicar.ts";
import { fakeClamd } from "../../../test/support/fake-clamd.ts";
import { openSession } from "./session.ts";
import "../../../test/support/leftovers.ts";
import { type TestClamd, testClamd } from "../../../test/support/clamd.ts";
import { until } from "../../../test/support/until.ts";
import { wholeBytes } from "../../flow/whole-bytes.ts";
import { EngineUnavailable } from "../../model/faults.ts";
import type { ClamdAddress } from "./address.ts";
import { type ClamdOptions, clamd } from "./clamd.ts";

const never = new AbortController().signal;

async function* bytes(...chunks: (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk as string);
}

/** A stream of zeros that is slow enough to be interrupted: it waits for `go` after the first chunk. */
async function* interrupted(go: Promise<void>): AsyncGenerator<Uint8Array> {
  yield Buffer.alloc(1000);
  await go;
  yield Buffer.alloc(1000);
}

function engineAt(address: ClamdAddress, options: Partial<ClamdOptions> = {}) {
  const engine = clamd({ address, concurrency: 4, ...options });
  return Object.assign(engine, { [Symbol.asyncDispose]: () => engine.close() });
}

describe("with a real clamd", () => {
  let daemon: TestClamd;
  let address: ClamdAddress;
  before(async () => {
    daemon = await testClamd();
    address = { kind: "unix", path: daemon.socketPath };
  });
  after(() => daemon[Symbol.asyncDispose]());

  test("clean and infected files get their verdicts, one after the other in the same session", async () => {
    await using proxy = await clamdProxy(daemon.socketPath);
    await using engine = engineAt(proxy.address);
    assert.deepEqual(await engine.scan(bytes("hello"), never), { kind: "clean" });
    const { connections } = proxy;
    assert.deepEqual(await engine.scan(bytes(eicar()), never), { kind: "infected", finding: "Eicar-Test-Signature" });
    assert.deepEqual(await engine.scan(bytes(), never), { kind: "clean" });
    assert.equal(proxy.connections, connections);
  });

  test("an empty chunk in mid-stream does not end the stream", async () => {
    await using engine = engineAt(address);
    const infected = eicar();
    const pieces = bytes("", infected.subarray(0, 30), "", "", infected.subarray(30), "");
    assert.equal((await engine.scan(pieces, never)).kind, "infected");
  });

  test("each scan under way has a session of its own", async () => {
    await using proxy = await clamdProxy(daemon.socketPath);
    await using engine = engineAt(proxy.address);
    await engine.scan(bytes("opens the first session, and those for canaries"), never);
    const { connections } = proxy;
    const verdicts = await Promise.all(
      [bytes("a"), bytes(eicar()), bytes("b")].map((file) => engine.scan(file, never)),
    );
    assert.deepEqual(
      verdicts.map((verdict) => verdict.kind),
      ["clean", "infected", "clean"],
    );
    assert.equal(proxy.connections, connections + 2);
  });

  test("a session that clamd closed while it was idle is not used again", async () => {
    await using proxy = await clamdProxy(daemon.socketPath);
    await using engine = engineAt(proxy.address);
    await engine.scan(bytes("a"), never);
    const { connections } = proxy;
    proxy.cut();
    await until("the engine works again", async () =>
      engine.scan(bytes("b"), never).then(
        () => true,
        () => false,
      ),
    );
    assert.ok(proxy.connections > connections);
  });

  test("an error of the source ends the scan with that error and frees the slot", async () => {
    await using engine = engineAt(address, { concurrency: 1 });
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from("half");
      throw new Error("the source broke");
    }
    await assert.rejects(engine.scan(broken(), never), /the source broke/);
    assert.deepEqual(await engine.scan(bytes("next"), never), { kind: "clean" });
  });

  test("a scan that is given up while its bytes are sent frees the slot at once", async () => {
    await using engine = engineAt(address, { concurrency: 1 });
    const stop = new AbortController();
    const scan = engine.scan(interrupted(new Promise(() => {})), stop.signal);
    stop.abort(new Error("given up"));
    await assert.rejects(scan, /given up/);
    assert.deepEqual(await engine.scan(bytes("next"), never), { kind: "clean" });
  });

  test("a scan that is given up while clamd works on it holds the slot until clamd is done", async () => {
    await using engine = engineAt(address, { concurrency: 1 });
    await engine.scan(bytes("open the session"), never);
    process.kill(daemon.pid, "SIGSTOP");
    const stop = new AbortController();
    let read = false;
    async function* whole(): AsyncGenerator<Uint8Array> {
      yield Buffer.from("hello");
      read = true;
    }
    const scan = engine.scan(whole(), stop.signal);
    await until("all bytes are sent", () => read);
    await new Promise((resolve) => setImmediate(resolve));
    stop.abort(new Error("given up"));
    await assert.rejects(scan, /given up/);
    let nextDone = false;
    const next = engine.scan(bytes(eicar()), never).finally(() => {
      nextDone = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(nextDone, false);
    process.kill(daemon.pid, "SIGCONT");
    assert.equal((await next).kind, "infected");
  });

  test("signatures that are reloaded in mid scan cost no verdict", async () => {
    await using engine = engineAt(address);
    const go = Promise.withResolvers<void>();
    const scans = Promise.all([
      engine.scan(interrupted(go.promise), never),
      engine.scan(interrupted(go.promise), never),
    ]);
    await reload(daemon.socketPath);
    go.resolve();
    assert.deepEqual(
      (await scans).map((verdict) => verdict.kind),
      ["clean", "clean"],
    );
    assert.equal((await engine.scan(bytes(eicar()), never)).kind, "infected");
  });

  test("its health tells the version and where it is", async () => {
    await using engine = engineAt(address);
    const health = await engine.health(never);
    assert.equal(health.ready, true);
    assert.match(health.checks[0]?.detail ?? "", /^ClamAV 1\.\S+ at unix:/);
  });
});

describe("with a clamd in trouble", () => {
  test("a clamd that is not there makes up no verdict, and is found again when it is back", async () => {
    await using daemon = await testClamd();
    await using engine = engineAt({ kind: "unix", path: daemon.socketPath });
    assert.equal((await engine.scan(bytes("a"), never)).kind, "clean");
    await daemon.kill();
    await assert.rejects(engine.scan(bytes("b"), never), EngineUnavailable);
    assert.equal((await engine.health(never)).ready, false);
    await daemon.start();
    assert.equal((await engine.scan(bytes(eicar()), never)).kind, "infected");
    assert.equal((await engine.health(never)).ready, true);
  });

  test("a clamd that dies in mid scan makes up no verdict", async () => {
    await using daemon = await testClamd();
    await using engine = engineAt({ kind: "unix", path: daemon.socketPath });
    process.kill(daemon.pid, "SIGSTOP");
    const scan = engine.scan(bytes("hello"), never);
    scan.catch(() => {});
    await new Promise((resolve) => setImmediate(resolve));
    await daemon.kill();
    await assert.rejects(scan, EngineUnavailable);
  });

  test("a clamd that gives no answer in time makes up no verdict", async () => {
    await using daemon = await testClamd();
    await using engine = engineAt({ kind: "unix", path: daemon.socketPath }, { replyTimeoutMs: 200 });
    process.kill(daemon.pid, "SIGSTOP");
    await assert.rejects(engine.scan(bytes("hello"), never), /gave no verdict within 0.2 s/);
    process.kill(daemon.pid, "SIGCONT");
  });

  test("a clamd that cannot write its temporary files makes up no verdict", async () => {
    await using daemon = await testClamd();
    await using engine = engineAt({ kind: "unix", path: daemon.socketPath });
    await rm(join(daemon.folder, "tmp"), { recursive: true });
    await assert.rejects(engine.scan(bytes(Buffer.alloc(100_000)), never), EngineUnavailable);
  });

  test("a file over clamd's own StreamMaxLength is never clean", async () => {
    await using daemon = await testClamd({ StreamMaxLength: "1M" });
    await using engine = engineAt({ kind: "unix", path: daemon.socketPath });
    const chunk = Buffer.alloc(256 * 1024);
    const outcome = await engine.scan(bytes(...Array.from({ length: 20 }, () => chunk)), never).catch((error) => error);
    if (outcome instanceof Error) assert.ok(outcome instanceof EngineUnavailable);
    else assert.deepEqual(outcome, { kind: "unscannable", finding: "scanner:limits-exceeded" });
    assert.equal((await engine.scan(bytes("small"), never)).kind, "clean");
  });
});

describe("with something that lies", () => {
  const lies: [what: string, reply: string][] = [
    ["answers without the command's number", "stream: OK\0"],
    ["answers another command", "7: stream: OK\0"],
    ["answers twice at once", "1: stream: OK\u00001: stream: OK\0"],
    ["answers an error", "1: stream: Can't allocate memory ERROR\0"],
    ["answers nothing and closes", ""],
    ["answers in mid sentence and closes", "1: stream: O"],
    ["answers without an end", "x".repeat(20_000)],
    ["speaks HTTP", "HTTP/1.1 400 Bad Request\r\n\r\n"],
  ];
  for (const [what, reply] of lies) {
    test(`never reports clean when the engine ${what}`, async () => {
      await using liar = await fakeClamd((socket) => socket.end(reply));
      await using engine = engineAt(liar.address);
      await assert.rejects(engine.scan(bytes("hello"), never), EngineUnavailable);
    });
  }

  test("only the exact answer is believed", async () => {
    await using honest = await fakeClamd((socket) => socket.write("1: stream: OK\0"));
    await using engine = engineAt(honest.address);
    assert.deepEqual(await engine.scan(bytes("hello"), never), { kind: "clean" });
  });

  test("a canary that was not found before the end of a file takes its clean away, though later ones are found", async () => {
    let missed = false;
    await using forgetful = await fakeClamd((socket, { number }) => socket.write(`${number}: stream: OK\0`), {
      finds({ content }) {
        const first = !missed && content.length > 64 * 1024 && content.includes("padding");
        missed ||= first;
        return !first;
      },
    });
    await using engine = engineAt(forgetful.address);
    await assert.rejects(engine.scan(bytes("hello"), never), EngineUnavailable);
    assert.equal(missed, true);
    assert.deepEqual(await engine.scan(bytes("hello"), never), { kind: "clean" });
  });

  test("never reports clean when the engine answers before the end of the stream", async () => {
    await using liar = await fakeClamd(() => false, {
      onData: (socket, data) => data.subarray(-1000).equals(Buffer.alloc(1000)) && socket.write("1: stream: OK\0"),
    });
    await using engine = engineAt(liar.address);
    await assert.rejects(engine.scan(interrupted(new Promise(() => {})), never), /before the end of the stream/);
  });

  test("…nor when it answers while the end is still on its way to it", async () => {
    await using liar = await fakeClamd(() => false, {
      onData: (socket, data) =>
        data.subarray(-1000).equals(Buffer.alloc(1000)) && socket.pause().write("1: stream: OK\0"),
    });
    const timeouts = { connectTimeoutMs: 5000, replyTimeoutMs: 5000 };
    const session = await openSession(liar.address, timeouts, never);
    // More than fits between us and it.
    const reply = await session.scan(wholeBytes(Buffer.alloc(32 * 1024 * 1024)), { signal: never });
    assert.equal(reply.kind, "failure");
    session.close();
  });

  test("never reports clean when the engine is silent", async () => {
    await using liar = await fakeClamd(() => {});
    await using engine = engineAt(liar.address, { replyTimeoutMs: 100 });
    await assert.rejects(engine.scan(bytes("hello"), never), EngineUnavailable);
  });

  test("health is not ready when what listens is not clamd", async () => {
    await using liar = await fakeClamd(() => {}, {
      onData: (socket) => socket.end("220 mail.example.com ESMTP\r\n"),
    });
    await using engine = engineAt(liar.address);
    const health = await engine.health(never);
    assert.deepEqual([health.ready, /does not answer like clamd/.test(health.checks[0]?.detail ?? "")], [false, true]);
  });
});

function reload(socketPath: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath, () => socket.write("zRELOAD\0"));
    socket.on("data", () => socket.end());
    socket.on("close", () => resolve());
    socket.on("error", reject);
  });
}
