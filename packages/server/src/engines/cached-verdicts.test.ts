import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { appendFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { zstdCompressSync } from "node:zlib";
import { deflated, stored, zip } from "../../test/fixtures/zip-writer.ts";
import { type TestClamd, testClamd } from "../../test/support/clamd.ts";
import { temporaryFolder } from "../../test/support/leftovers.ts";
import { until } from "../../test/support/until.ts";
import { EngineUnavailable } from "../model/faults.ts";
import type { Verdict } from "../model/verdict.ts";
import type { Engine } from "../scan/engine.ts";
import { startEngine } from "./variants.ts";

const never = new AbortController().signal;
const ours = readFileSync(fileURLToPath(new URL("../../signatures/lazaret-test.ndb", import.meta.url)), "utf8");
const bySha = (content: Buffer, name: string): string =>
  `${createHash("sha256").update(content).digest("hex")}:${content.length}:${name}\n`;
const CHUNK = 64 * 1024;
/** One look at clamd's files does for a millisecond. */
const nextLook = (): Promise<void> => pause(5);

/** Noise without end, the same for the same seed: nothing is found in it, by nobody. */
function noise(bytes: number, seed: string): Buffer {
  const blocks = Array.from({ length: Math.ceil(bytes / 32) }, (_, index) =>
    createHash("sha256").update(`${seed} ${index}`).digest(),
  );
  return Buffer.concat(blocks).subarray(0, bytes);
}

async function* pieces(content: Buffer, broken?: Error): AsyncGenerator<Buffer> {
  for (let at = 0; at < content.length; at += CHUNK) yield content.subarray(at, at + CHUNK);
  if (broken) throw broken;
}

const scan = (engine: Engine, content: Buffer): Promise<Verdict> => engine.scan(pieces(content), never);
const isCached = (verdict: Verdict): boolean => verdict.kind !== "unscannable" && verdict.cached === true;
const word = (verdict: Verdict): string => `${verdict.kind}${isCached(verdict) ? " cached" : ""}`;

function reload(daemon: TestClamd): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(daemon.socketPath, () => socket.write("zRELOAD\0"));
    socket.once("error", reject).once("data", (data) => resolve(data.toString("latin1")));
    socket.once("data", () => socket.destroy());
  });
}

const contents: Record<string, Buffer> = {
  "a small file": noise(3000, "small"),
  "a text": Buffer.from("some words and nothing else, again and again. ".repeat(40)),
  "an archive that clamd opens": zip([
    deflated("a.txt", Buffer.from("member one")),
    deflated("b.txt", noise(500, "b")),
  ]),
  "an archive in one that it does not open": zstdCompressSync(
    zip([stored("inner.zip", zip([deflated("a.bin", noise(200, "i"))]))]),
  ),
  "a file that is spooled": noise(3 * 1024 * 1024, "large"),
};

for (const variant of ["Q", "P"] as const) {
  describe(`engine ${variant} with clamd, of what it has seen before`, () => {
    let daemon: TestClamd;
    let engine: Engine;
    const rules = { threads: 1 };
    const start = (cached: number): Promise<Engine> => {
      const address = { kind: "unix", path: daemon.socketPath } as const;
      const parts = { clamd: address, concurrency: 2, verdictCache: cached };
      return startEngine(variant === "Q" ? { variant, ...parts } : { variant, ...parts, rules });
    };
    before(async () => {
      daemon = await testClamd({}, { signatures: { "eicar.ndb": ours, "known.hsb": bySha(Buffer.from("x"), "None") } });
      engine = await start(100);
    });
    after(async () => {
      await engine.close();
      await daemon[Symbol.asyncDispose]();
    });
    beforeEach(async () => {
      // As it was in the beginning, and older than clamd: what the test before has left in the cache is not known any more.
      writeFileSync(join(daemon.folder, "signatures", "known.hsb"), bySha(Buffer.from("x"), "None"));
      await daemon.kill();
      await daemon.start();
      // Or else it is known to be another clamd when the first scan by it ends, and nothing of that one is kept.
      await engine.health(never);
    });

    test("answers without an engine, with everything it said before", async () => {
      for (const [name, content] of Object.entries(contents)) {
        const first = await scan(engine, content);
        assert.equal(word(first), "clean", name);
        assert.deepEqual(await scan(engine, content), { ...first, cached: true }, name);
      }
      const count = Object.keys(contents).length;
      assert.deepEqual(engine.cacheCounts?.(), { hits: count, partHits: 0, misses: count, entries: count });
    });

    test("finds each as soon as clamd has a signature for it", async () => {
      const all = Object.values(contents);
      const words = async (): Promise<string[]> => {
        const said: string[] = [];
        for (const content of all) said.push(word(await scan(engine, content)));
        return said;
      };
      const each = (said: string): string[] => all.map(() => said);
      await words();
      assert.deepEqual(await words(), each("clean cached"));
      for (const content of all) {
        appendFileSync(join(daemon.folder, "signatures", "known.hsb"), bySha(content, "Known.Later"));
      }
      await nextLook();
      // Not loaded yet: clamd is asked, and does not know them.
      assert.deepEqual(await words(), each("clean"));
      assert.match(await reload(daemon), /RELOADING/);
      await until("clamd has loaded them", async () => {
        const said = word(await scan(engine, all[0] as Buffer));
        assert.ok(!said.includes("cached"), "an old verdict after the change");
        return said === "infected";
      });
      assert.deepEqual(await words(), each("infected"));
    });

    test("finds in a member what clamd has got a signature for since", async () => {
      const member = noise(300, "member");
      const file = zstdCompressSync(
        zip([deflated("a.txt", Buffer.from("harmless")), stored("b.zip", zip([deflated("c", member)]))]),
      );
      await scan(engine, file);
      assert.equal(word(await scan(engine, file)), "clean cached");
      appendFileSync(join(daemon.folder, "signatures", "known.hsb"), bySha(member, "Known.Later"));
      await daemon.kill();
      await daemon.start();
      assert.equal(word(await scan(engine, file)), "infected");
      assert.equal(word(await scan(engine, file)), "infected cached");
      // …and loses it again.
      rmSync(join(daemon.folder, "signatures", "known.hsb"));
      await nextLook();
      assert.equal(word(await scan(engine, file)), "infected");
      await daemon.kill();
      await daemon.start();
      assert.equal(word(await scan(engine, file)), "clean");
    });

    test("keeps nothing of a scan by a clamd that was started since the last look at it", async () => {
      const content = noise(2000, "by another");
      await scan(engine, noise(100, "a look"));
      await daemon.kill();
      await daemon.start();
      assert.deepEqual([await scan(engine, content), await scan(engine, content)].map(word), ["clean", "clean"]);
      assert.equal(word(await scan(engine, content)), "clean cached");
    });

    test("keeps nothing of a scan during which signatures have changed", async () => {
      const content = noise(5000, "during");
      const go = Promise.withResolvers<void>();
      async function* slow(): AsyncGenerator<Buffer> {
        yield* pieces(noise(2 * 1024 * 1024, "during"));
        await go.promise;
        yield content;
      }
      const whole = Buffer.concat([noise(2 * 1024 * 1024, "during"), content]);
      const underWay = engine.scan(slow(), never);
      assert.equal(word(await scan(engine, content)), "clean");
      appendFileSync(join(daemon.folder, "signatures", "known.hsb"), bySha(whole, "Known.Later"));
      await daemon.kill();
      await daemon.start();
      go.resolve();
      await underWay.catch((error: unknown) => assert.ok(error instanceof EngineUnavailable));
      assert.equal(word(await scan(engine, whole)), "infected");
    });

    test("is unavailable when clamd is, whatever it has seen", async () => {
      const content = noise(900, "away");
      await scan(engine, content);
      assert.equal(word(await scan(engine, content)), "clean cached");
      await daemon.kill();
      await assert.rejects(scan(engine, content), EngineUnavailable);
      await daemon.start();
      assert.equal(word(await scan(engine, content)), "clean");
    });

    test("neither knows nor keeps bytes that did not all arrive", async () => {
      for (const size of [3000, 3 * 1024 * 1024]) {
        const content = noise(size, `arrive ${size}`);
        await scan(engine, content);
        const before = engine.cacheCounts?.();
        const broken = new Error("the client is gone");
        await assert.rejects(engine.scan(pieces(content, broken), never), broken);
        const shorter = content.subarray(0, size - 1);
        await assert.rejects(engine.scan(pieces(shorter, broken), never), broken);
        assert.deepEqual(engine.cacheCounts?.(), before);
        assert.equal(word(await scan(engine, shorter)), "clean");
        assert.equal(word(await scan(engine, content)), "clean cached");
      }
    });

    test("the same file twice at once is scanned by each", async () => {
      const content = noise(2000, "twice");
      const both = await Promise.all([scan(engine, content), scan(engine, content)]);
      assert.deepEqual(both.map(word), ["clean", "clean"]);
      assert.equal(word(await scan(engine, content)), "clean cached");
    });

    // The last, as all others use the engine that it closes.
    test("one that is closed says nothing, and one with no cache scans each time", async () => {
      const content = noise(700, "closed");
      await scan(engine, content);
      await engine.close();
      await assert.rejects(scan(engine, content), EngineUnavailable);
      const without = await start(0);
      try {
        await scan(without, content);
        assert.equal(word(await scan(without, content)), "clean");
        assert.equal(without.cacheCounts, undefined);
      } finally {
        await without.close();
      }
    });
  });
}

test("where clamd's signatures are not certain, our part alone is known, and only if clamd still opens the same", async () => {
  await using daemon = await testClamd({}, { signatures: { "eicar.ndb": ours } });
  const engine = await startEngine({
    variant: "P",
    clamd: { kind: "unix", path: daemon.socketPath },
    concurrency: 2,
    verdictCache: 100,
    rules: { threads: 1 },
  });
  try {
    // Then clamd has shown what it opens.
    assert.ok((await engine.health(never)).ready);
    // From now on nobody knows what it has loaded.
    writeFileSync(join(daemon.folder, "signatures", "more.hsb"), bySha(Buffer.from("something"), "Something"));
    await nextLook();
    const file = contents["an archive that clamd opens"] as Buffer;
    const hidden = contents["an archive in one that it does not open"] as Buffer;
    for (const content of [file, hidden]) for (let count = 0; count < 3; count += 1) await scan(engine, content);
    const counted = engine.cacheCounts?.();
    assert.deepEqual([counted?.hits, counted?.entries], [0, 1]);
    assert.equal(counted?.partHits, 2);
    // clamd is asked about the whole file all the same.
    writeFileSync(join(daemon.folder, "signatures", "more.hsb"), bySha(file, "Whole.File"));
    await reload(daemon);
    await until("clamd has loaded it", async () => (await scan(engine, file)).kind === "infected");
  } finally {
    await engine.close();
  }
});

test("what rules say is forgotten with the rules", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "colours.yar");
  writeFileSync(path, 'rule Blue { strings: $a = "blue paint" condition: $a }');
  const events: string[] = [];
  const onEvent = ({ kind }: { kind: string }): void => void events.push(kind);
  const engine = await startEngine({
    variant: "P",
    clamd: undefined,
    concurrency: 2,
    verdictCache: 100,
    rules: { rulesDir: folder.path, threads: 1, watchEveryMs: 20, onEvent },
  });
  try {
    const [blue, red] = [Buffer.from("a pot of blue paint"), Buffer.from("a pot of red paint")];
    for (const content of [blue, red]) await scan(engine, content);
    assert.deepEqual(
      [word(await scan(engine, blue)), word(await scan(engine, red))],
      ["infected cached", "clean cached"],
    );
    writeFileSync(path, 'rule Red { strings: $a = "red paint" condition: $a }');
    // While threads still have different rules nothing is kept, so that no verdict by the old ones outlives them.
    await until("the rules are loaded", async () => {
      await scan(engine, red);
      return events.includes("rules_loaded");
    });
    assert.equal(word(await scan(engine, blue)), "clean");
    assert.equal((await scan(engine, red)).kind, "infected");
    assert.deepEqual(
      [word(await scan(engine, blue)), word(await scan(engine, red))],
      ["clean cached", "infected cached"],
    );
    writeFileSync(path, "rule Broken { condition: nonsense }");
    await until("the rules are refused", () => events.includes("rules_refused"));
    assert.equal(word(await scan(engine, red)), "infected cached");
  } finally {
    await engine.close();
  }
});

test("what was scanned without clamd is scanned again when one is there", async () => {
  using folder = temporaryFolder();
  const known = Buffer.from("known to clamd alone, by its hash");
  let daemon: TestClamd | undefined;
  const engine = await startEngine({
    variant: "P",
    concurrency: 2,
    verdictCache: 100,
    rules: { threads: 1, temporaryFolder: folder.path },
    clamd: {
      kind: "search",
      likely: false,
      find: () => (daemon ? { kind: "unix", path: daemon.socketPath } : undefined),
      onFound: () => {},
    },
  });
  try {
    const inZip = zip([deflated("a", known)]);
    for (const content of [known, inZip]) {
      await scan(engine, content);
      assert.equal(word(await scan(engine, content)), "clean cached");
    }
    daemon = await testClamd({}, { signatures: { "eicar.ndb": ours, "known.hsb": bySha(known, "Known") } });
    for (const content of [known, inZip]) {
      assert.equal(word(await scan(engine, content)), "infected");
      assert.equal(word(await scan(engine, content)), "infected cached");
    }
  } finally {
    await engine.close();
    await daemon?.[Symbol.asyncDispose]();
  }
});
