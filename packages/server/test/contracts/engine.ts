import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { EngineUnavailable } from "../../src/model/faults.ts";
import type { Verdict } from "../../src/model/verdict.ts";
import type { Engine } from "../../src/scan/engine.ts";
import { deflated, encrypted, stored, zip } from "../fixtures/zip-writer.ts";

/** What an engine brings to this suite. */
export interface EngineKind {
  name: string;
  /** It looks at two files at once at least. */
  make(): Promise<Engine>;
  /** What it finds, and by which name. Best something that no other engine knows. */
  knows: readonly KnownContent[];
  /** What others find, and it does not. */
  strange: readonly Buffer[];
  /** Where it can fail apart from us: ends what it depends on as a crash would, and brings it back. */
  outage?: { begin(): Promise<void>; end(): Promise<void> };
}

interface KnownContent {
  content: Buffer;
  finding: string;
}

const never = new AbortController().signal;
const harmless = Buffer.from("some text and nothing else\n".repeat(40));
const MANY = 40;

/** What every `Engine` does. */
export function engineContract({ name, make, knows, strange, outage }: EngineKind): void {
  describe(`the engine ${name}`, () => {
    let engine: Engine;
    before(async () => {
      engine = await make();
    });
    after(() => engine.close());

    test("a file that it knows nothing about is clean, also an empty one and a large one", async () => {
      const large = Array.from({ length: 48 }, (_, index) => Buffer.alloc(64 * 1024, `${index} harmless `));
      for (const pieces of [[harmless], [], [Buffer.alloc(0)], large, ...strange.map((content) => [content])]) {
        assert.equal((await engine.scan(stream(pieces), never)).kind, "clean");
      }
    });

    test("what it knows is infected, by its name, however the stream is cut", async () => {
      for (const { content, finding } of knows) {
        const empty = Buffer.alloc(0);
        const cuts = [
          [content],
          [empty, content.subarray(0, 30), empty, empty, content.subarray(30), empty],
          [...Array.from(content.subarray(0, 400), (byte) => Buffer.of(byte)), content.subarray(400)],
        ];
        for (const pieces of cuts) assertFound(await engine.scan(stream(pieces), never), finding);
      }
    });

    test("what it knows is infected inside an archive, as its last member too", async () => {
      const others = Array.from({ length: 30 }, (_, index) => deflated(`${index}.txt`, Buffer.from(`member ${index}`)));
      for (const { content, finding } of knows) {
        const file = zip([...others, stored("inner.zip", zip([deflated("last.bin", content)]))]);
        assertFound(await engine.scan(stream([file]), never), finding);
      }
    });

    test("what cannot be looked into is unscannable, with a finding: an encrypted archive, one nested too deep", async () => {
      let deep = zip([deflated("a.txt", harmless)]);
      for (let layer = 0; layer < 40; layer += 1) deep = zip([stored("a.zip", deep)]);
      const locked = zip([stored("a.txt", harmless), encrypted("b.txt", harmless, "password")]);
      for (const file of [locked, zip([stored("locked.zip", locked)]), deep]) {
        const verdict = await engine.scan(stream([file]), never);
        assert.equal(verdict.kind, "unscannable");
        assert.ok(verdict.kind === "unscannable" && verdict.finding !== "");
      }
    });

    test("says clean only of a stream that it read to its end", async () => {
      const { promise: go, resolve } = Promise.withResolvers<void>();
      let ended = false;
      async function* slow(): AsyncGenerator<Uint8Array> {
        yield harmless;
        await go;
        for (let count = 0; count < 20; count += 1) yield harmless;
        await turn();
        ended = true;
      }
      const verdict = engine.scan(slow(), never).then(({ kind }) => ({ kind, ended }));
      // Others are answered meanwhile: whoever guesses has had the time.
      assert.equal((await engine.scan(stream([harmless]), never)).kind, "clean");
      resolve();
      assert.deepEqual(await verdict, { kind: "clean", ended: true });
    });

    test("a stream that breaks ends the scan with its own error, and holds nothing", async () => {
      for (const pieces of [[], [harmless], Array.from({ length: 100 }, () => Buffer.alloc(64 * 1024, "x"))]) {
        for (let round = 0; round < 8; round += 1) {
          const broke = new Error("the source broke");
          const error = await engine.scan(breaking(pieces, broke), never).catch((reason) => reason);
          assert.equal(error, broke);
        }
      }
      assert.equal((await engine.scan(stream([harmless]), never)).kind, "clean");
    });

    test("a scan that is given up ends with the caller's reason, and holds nothing", async () => {
      for (let round = 0; round < 8; round += 1) {
        const [before, meanwhile] = [new AbortController(), new AbortController()];
        const gone = new Error("the client is gone");
        before.abort(gone);
        assert.equal(await engine.scan(stream([harmless]), before.signal).catch((reason) => reason), gone);
        const { outcome } = await underWay(engine, meanwhile.signal);
        meanwhile.abort(gone);
        assert.equal(await outcome, gone);
      }
      assert.equal((await engine.scan(stream([harmless]), never)).kind, "clean");
    });

    test("many files at once each get their own verdict", async () => {
      const contents = Array.from({ length: MANY }, (_, index) => knows[index % (knows.length + 2)]?.content);
      const kinds = await Promise.all(
        contents.map(async (content, index) => {
          const pieces = [content ?? Buffer.from(`file number ${index}`)];
          return (await engine.scan(stream(pieces), never)).kind;
        }),
      );
      assert.deepEqual(
        kinds,
        contents.map((content) => (content ? "infected" : "clean")),
      );
    });

    test("its health names each part in a line, and never throws", async () => {
      const { ready, checks } = await engine.health(never);
      assert.equal(ready, true);
      assert.ok(checks.length > 0);
      for (const { name: part, detail } of checks) assert.match(`${part}: ${detail}`, /^\S.*: \S.*$/);
      await engine.health(AbortSignal.abort(new Error("nobody waits for it")));
    });

    if (outage)
      test("one that is away throws EngineUnavailable and is not ready, and is found again when it is back", async () => {
        const { outcome, goOn } = await underWay(engine);
        await outage.begin();
        goOn();
        assert.ok((await outcome) instanceof EngineUnavailable);
        await assert.rejects(engine.scan(stream([harmless]), never), EngineUnavailable);
        const { ready, checks } = await engine.health(never);
        assert.deepEqual([ready, checks.every(({ ok }) => ok)], [false, false]);
        await outage.end();
        assert.equal((await engine.scan(stream([harmless]), never)).kind, "clean");
        for (const { content, finding } of knows) assertFound(await engine.scan(stream([content]), never), finding);
        assert.equal((await engine.health(never)).ready, true);
      });

    // The last, as all others use the engine that it closes.
    test("one that is closed makes up no verdict, not for scans under way either, and says how it is", async () => {
      const { outcome, goOn } = await underWay(engine);
      await engine.close();
      goOn();
      assert.ok((await outcome) instanceof Error);
      await assert.rejects(engine.scan(stream([harmless]), never), EngineUnavailable);
      await engine.health(never);
      await engine.close();
    });
  });
}

function assertFound(verdict: Verdict, finding: string): void {
  assert.equal(verdict.kind, "infected");
  assert.ok(verdict.kind === "infected" && verdict.finding.includes(finding), JSON.stringify(verdict));
}

async function* stream(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

async function* breaking(pieces: readonly Uint8Array[], error: Error): AsyncGenerator<Uint8Array> {
  yield* pieces;
  throw error;
}

/** A scan whose first bytes have been read; the rest comes when it may go on. */
async function underWay(engine: Engine, signal = never): Promise<{ outcome: Promise<unknown>; goOn(): void }> {
  const reading = Promise.withResolvers<void>();
  const { promise: more, resolve: goOn, reject } = Promise.withResolvers<void>();
  // As all our sources do.
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  async function* stalled(): AsyncGenerator<Uint8Array> {
    yield harmless;
    reading.resolve();
    await more;
    yield harmless;
  }
  const outcome = engine.scan(stalled(), signal).catch((reason: unknown) => reason);
  await Promise.race([reading.promise, outcome]);
  return { outcome, goOn };
}
