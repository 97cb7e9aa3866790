import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { packedBy7z } from "../../../test/fixtures/archives.ts";
import { stored, zip } from "../../../test/fixtures/zip-writer.ts";
import { eicar } from "../../../test/support/eicar.ts";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { until } from "../../../test/support/until.ts";
import { sevenZipProgram } from "../../unpack/seven-zip.ts";
import { compileWasm } from "../../unpack/web-assembly.ts";
import type { ShownVerdict } from "../clamd/show-members.ts";
import { yaraProgram } from "../rules/compile-rules.ts";
import type { RuleSource } from "../rules/rule-files.ts";
import { BUILT_IN_RULES, readRules } from "../rules/rule-files.ts";
import { LIGHT_LIMITS, SMALL_FILE_BYTES } from "./scan-limits.ts";
import { type PoolOptions, type ScanPool, startScanPool } from "./scan-pool.ts";
import type { Outcome } from "./scan-protocol.ts";
import { startScanWorker } from "./scan-worker.ts";
import type { Spooled } from "./spool.ts";

const never = new AbortController().signal;
const yara = yaraProgram();
const sevenZip = sevenZipProgram();
/** Looks at every pair of bytes of a file that begins with "slow": minutes for a few hundred kilobytes. */
const slowRule: RuleSource = {
  name: "slow.yar",
  text: `rule Slow { strings: $a = "slow" condition:
    $a at 0 and for all i in (0..filesize - 1) : ( for all j in (0..filesize - 1) : ( uint8(i) + uint8(j) >= 0 ) ) }`,
};
const slowFile = Buffer.from(`slow${"x".repeat(300_000)}`);

/** A few of the built-in rules, as each thread compiles what it gets. */
const someRules = readRules(BUILT_IN_RULES).filter(({ text }) => text.includes("EICAR_Test_File"));

function setupOf(folder: string, sources: readonly RuleSource[] = someRules): PoolOptions["setup"] {
  return { sevenZip, rules: { yara, sources }, folder, ignored: [] };
}

async function withPool(
  options: Partial<PoolOptions> & { sources?: readonly RuleSource[] },
  use: (pool: ScanPool, losses: string[]) => Promise<void>,
): Promise<void> {
  using folder = temporaryFolder();
  const losses: string[] = [];
  const setup = setupOf(folder.path, options.sources);
  const onLoss = (message: string, again: boolean): void =>
    void losses.push(`${again ? "again" : "given up"}: ${message}`);
  const defaults = { setup, threads: 1, timeLimitMs: 20_000, onLoss };
  const pool = await startScanPool({ ...defaults, ...options });
  try {
    await use(pool, losses);
  } finally {
    await pool.close();
  }
}

/** The second thread is started for a file that the first has no time for. */
async function bothThere(pool: ScanPool): Promise<void> {
  await Promise.all([1, 2].map(() => pool.run(inMemory("text"), { signal: never })));
  await until("both threads are there", () => pool.census().alive === 2);
}

function saidWhy(outcome: Outcome): { detail: string } {
  assert.ok(outcome.kind === "unscannable");
  return outcome;
}

function inMemory(content: string | Uint8Array): Spooled {
  return { kind: "memory", bytes: Uint8Array.from(Buffer.from(content)) };
}

describe("threads", () => {
  const sources = [slowRule];

  test("are started when a file waits for one, up to as many as there may be", async () => {
    await withPool({ sources, threads: 2, timeLimitMs: 150_000 }, async (pool) => {
      for (const content of ["one", "after", "the other"])
        assert.deepEqual(await pool.run(inMemory(content), { signal: never }), { kind: "clean" });
      const { alive, most, started } = pool.census();
      assert.deepEqual({ alive, most, started }, { alive: 1, most: 3, started: 1 });

      const caller = new AbortController();
      const slow = (file: Spooled): Promise<unknown> =>
        pool.run(file, { signal: caller.signal }).catch(() => "given up");
      const held = [slow(large(slowFile)), slow(large(slowFile)), slow(large(slowFile))];
      // The third is for small files, and none of these is one.
      await until("two threads have a file", () => pool.census().alive === 2);
      assert.deepEqual(await pool.run(inMemory("small"), { signal: never }), { kind: "clean" });
      assert.equal(pool.census().started, 3);
      caller.abort(new Error("enough"));
      assert.deepEqual(await Promise.all(held), ["given up", "given up", "given up"]);
    });
  });

  test("that cannot be started leave the work to those that are there", async () => {
    using folder = temporaryFolder();
    let started = 0;
    const setup = {
      ...setupOf(folder.path),
      get sevenZip() {
        started += 1;
        if (started > 1) throw new Error("no more threads");
        return sevenZip;
      },
    };
    await withPool({ setup }, async (pool, losses) => {
      const outcomes = await Promise.all([1, 2, 3].map(() => pool.run(inMemory(eicar()), { signal: never })));
      assert.deepEqual(outcomes, Array(3).fill({ kind: "infected", finding: "EICAR_Test_File", member: "" }));
      const { alive, most, lastFailure } = pool.census();
      assert.deepEqual(
        { alive, most, lastFailure, losses },
        { alive: 1, most: 2, lastFailure: "no more threads", losses: [] },
      );
    });
  });
});

describe("a file that overruns the time limit", () => {
  const sources = [...someRules, slowRule];

  test("is unscannable, and the thread that looked at it is replaced", async () => {
    await withPool({ sources, timeLimitMs: 1500 }, async (pool, losses) => {
      await bothThere(pool);
      const timeout = { kind: "unscannable", finding: "scanner:timeout", detail: "it took too long" };
      assert.deepEqual(await pool.run(inMemory(slowFile), { signal: never }), timeout);
      assert.deepEqual(await pool.run(inMemory(eicar()), { signal: never }), {
        kind: "infected",
        finding: "EICAR_Test_File",
        member: "",
      });
      await until("both threads are back", () => pool.census().alive === 2);
      // It was not looked at again.
      assert.deepEqual([pool.census().started, losses], [3, []]);
    });
  });

  test("does not hold up small files", async () => {
    await withPool({ sources, timeLimitMs: 150_000 }, async (pool) => {
      const caller = new AbortController();
      // More than the small ones that go to the thread of their own.
      const slow = [1, 2].map(() => pool.run(large(slowFile), { signal: caller.signal }).catch(() => "given up"));
      for (let i = 0; i < 20; i += 1)
        assert.deepEqual(await pool.run(inMemory(`file ${i}`), { signal: never }), { kind: "clean" });
      caller.abort(new Error("enough"));
      assert.deepEqual(await Promise.all(slow), ["given up", "given up"]);
    });
  });
});

describe("a thread that dies in the middle of a file", () => {
  // Not a 7-Zip, so that every archive ends in an exception that nobody expects.
  const broken = compileWasm(Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00));
  const packed = packedBy7z(Buffer.concat([Buffer.alloc(2000, "text "), eicar()]), "7z");

  /** The first threads are broken, later ones are what `later` says. */
  function brokenAtFirst(folder: string, count: number, later: () => PoolOptions["setup"]): PoolOptions["setup"] {
    let started = 0;
    return {
      ...setupOf(folder),
      get sevenZip() {
        started += 1;
        return started > count ? later().sevenZip : broken;
      },
    };
  }

  test("has its file looked at again by a fresh one", async () => {
    using folder = temporaryFolder();
    const setup = brokenAtFirst(folder.path, 1, () => setupOf(folder.path));
    await withPool({ setup }, async (pool, losses) => {
      const outcome = await pool.run(inMemory(packed), { signal: never });
      assert.deepEqual(outcome, { kind: "infected", finding: "EICAR_Test_File", member: "sample.txt" });
      assert.equal(losses.length, 1);
      assert.match(losses[0] ?? "", /^again: ./);
    });
  });

  test("has its members shown again, and what is found in them counts", async () => {
    using folder = temporaryFolder();
    const setup = brokenAtFirst(folder.path, 1, () => setupOf(folder.path));
    await withPool({ setup }, async (pool, losses) => {
      const harmless = packedBy7z(Buffer.alloc(2000, "text "), "7z");
      const file = zip([stored("shown.txt", Buffer.alloc(20_000, "text")), stored("deadly.7z", harmless)]);
      const show = async (): Promise<ShownVerdict> =>
        losses.length === 0 ? { kind: "clean" } : { kind: "infected", finding: "By_Other", index: 0 };
      const outcome = await pool.run(inMemory(file), {
        signal: never,
        other: { gets: "file" as const, opens: [], show },
      });
      assert.deepEqual([outcome.kind, losses.length], ["infected", 1]);
    });
  });

  test("makes that file unscannable if the fresh one dies too, and is replaced", async () => {
    using folder = temporaryFolder();
    const setup = { ...setupOf(folder.path), sevenZip: broken };
    await withPool({ setup }, async (pool, losses) => {
      const { detail, ...failure } = await pool.run(inMemory(packed), { signal: never }).then(saidWhy);
      assert.deepEqual(failure, { kind: "unscannable", finding: "scanner:engine-error" });
      assert.notEqual(detail, "");
      assert.deepEqual(
        losses.map((loss) => loss.split(":")[0]),
        ["again", "given up"],
      );
      assert.deepEqual(await pool.run(inMemory("no archive"), { signal: never }), { kind: "clean" });
      await until("the thread is back", () => pool.census().alive === 1);
      assert.equal(pool.census().started, 3);
    });
  });

  test("makes no other file unscannable", async () => {
    using folder = temporaryFolder();
    const setup = { ...setupOf(folder.path), sevenZip: broken };
    await withPool({ setup }, async (pool) => {
      const files = Array.from({ length: 30 }, (_, index) => (index === 11 ? packed : `file ${index}`));
      const outcomes = await Promise.all(files.map((file) => pool.run(inMemory(file), { signal: never })));
      assert.deepEqual(
        outcomes.flatMap(({ kind }, index) => (kind === "clean" ? [] : [index])),
        [11],
      );
    });
  });

  test("leaves its file waiting no longer than its caller, when no fresh one can be started", async () => {
    using folder = temporaryFolder();
    const setup = brokenAtFirst(folder.path, 2, () => {
      throw new Error("no more threads");
    });
    await withPool({ setup }, async (pool, losses) => {
      await bothThere(pool);
      const caller = new AbortController();
      const waiting = pool.run(inMemory(packed), { signal: caller.signal });
      const refused = assert.rejects(waiting, /enough/);
      await until("the thread is lost", () => losses.length === 1);
      caller.abort(new Error("enough"));
      await refused;
      // The other thread dies too, and there is nobody left to look at the file.
      await assert.rejects(pool.run(inMemory(packed), { signal: never }), { name: "EngineUnavailable" });
    });
  });
});

describe("a thread that has grown", () => {
  const [no, any] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  /** Needs no literal, so that YARA is asked about every file. */
  const sources: RuleSource[] = [{ name: "any.yar", text: "rule Any { condition: uint8(0) == 0xff }" }];

  test("is replaced when the next one is there, and not before", async () => {
    const growthLimits = { heapBytes: no, externalBytes: no, rulesBytes: 1024 * 1024 };
    await withPool({ growthLimits, sources }, async (pool, losses) => {
      assert.deepEqual(await pool.run(inMemory("small"), { signal: never }), { kind: "clean" });
      assert.equal(pool.census().started, 1);
      // The rules get it as a whole, in their own memory.
      assert.deepEqual(await pool.run(inMemory(Buffer.alloc(8_000_000)), { signal: never }), { kind: "clean" });
      await until("another thread has been started", () => {
        const { alive, started } = pool.census();
        assert.equal(alive, 1);
        return started === 2;
      });
      await until("it has taken its place", () => pool.census().memory.rulesBytes < 16_000_000);
      assert.deepEqual(losses, []);
    });
  });

  test("costs no file, though all of them grow all the time", async () => {
    const growthLimits = { heapBytes: any, externalBytes: any, rulesBytes: any };
    await withPool({ growthLimits }, async (pool, losses) => {
      const infected = { kind: "infected", finding: "EICAR_Test_File", member: "" };
      for (let round = 0; pool.census().started < 4; round += 1) {
        const files = Array.from({ length: 12 }, (_, index) => (index === 7 ? eicar() : `file ${round} ${index}`));
        const outcomes = await Promise.all(files.map((file) => pool.run(inMemory(file), { signal: never })));
        assert.deepEqual(
          outcomes,
          files.map((_, index) => (index === 7 ? infected : { kind: "clean" })),
        );
      }
      assert.deepEqual(losses, []);
    });
  });

  test("says so with every answer", async () => {
    using folder = temporaryFolder();
    const worker = await startScanWorker({ ...setupOf(folder.path, sources), limits: LIGHT_LIMITS });
    try {
      const before = worker.memory;
      assert.deepEqual(before, worker.memoryAtStart);
      await worker.scan(inMemory(new Uint8Array(8_000_000)), { timeLimitMs: 20_000, signal: never, other: undefined });
      assert.ok(worker.memory.rulesBytes > before.rulesBytes);
      assert.ok(worker.memory.heapBytes > 0 && worker.memory.externalBytes > worker.memory.rulesBytes);
    } finally {
      await worker.stop();
    }
  });
});

test("a small file that needs much is looked at in full by another thread", async () => {
  await withPool({}, async (pool) => {
    await bothThere(pool);
    // Beyond what the thread for small files unpacks, within what the others do; both threads get one of them.
    const packed = gzipSync(Buffer.concat([Buffer.alloc(40 * 1024 * 1024, "text"), eicar()]));
    const outcomes = await Promise.all([1, 2].map(() => pool.run(inMemory(packed), { signal: never })));
    assert.deepEqual(outcomes, Array(2).fill({ kind: "infected", finding: "EICAR_Test_File", member: "gzip" }));
  });
});

test("rules that do not compile are refused at the start, with the file and the line", async () => {
  const sources = [{ name: "mine.yar", text: "rule broken { condition: $a }" }];
  await assert.rejects(
    withPool({ sources }, async () => {}),
    /mine\.yar: [\s\S]*line:1/,
  );
});

test("new rules are used as soon as they are accepted, and refused ones change nothing", async () => {
  await withPool({}, async (pool) => {
    const mine: RuleSource = { name: "mine.yar", text: 'rule Mine { strings: $a = "mine" condition: $a }' };
    await bothThere(pool);
    await assert.rejects(pool.changeRules([{ ...mine, text: "rule Mine {" }]), { name: "RulesRefused" });
    assert.deepEqual(await pool.run(inMemory(eicar()), { signal: never }), {
      kind: "infected",
      finding: "EICAR_Test_File",
      member: "",
    });
    assert.equal(pool.mayMatch(Buffer.from("this is mine")), false);
    await pool.changeRules([mine]);
    assert.deepEqual([pool.mayMatch(Buffer.from("this is mine")), pool.mayMatch(eicar())], [true, false]);
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => pool.run(inMemory("this is mine"), { signal: never })));
    assert.deepEqual(outcomes, Array(4).fill({ kind: "infected", finding: "Mine", member: "" }));
  });
});

test("nothing is said of contents that are too large to be searched in the main thread", async () => {
  await withPool({}, async (pool) => {
    const sizes = [SMALL_FILE_BYTES, SMALL_FILE_BYTES + 1];
    assert.deepEqual(
      sizes.map((size) => pool.mayMatch(new Uint8Array(size))),
      [false, true],
    );
  });
});

test("a closed pool scans nothing", async () => {
  await withPool({ sources: [slowRule] }, async (pool) => {
    const running = assert.rejects(pool.run(large(slowFile), { signal: never }), { name: "EngineUnavailable" });
    await pool.close();
    await running;
    await assert.rejects(pool.run(inMemory("a"), { signal: never }), { name: "EngineUnavailable" });
  });
});

/** In memory all the same, but too large for the thread that small files have. */
function large(content: Uint8Array): Spooled {
  return inMemory(Buffer.concat([content, Buffer.alloc(1024 * 1024)]));
}

test("an answer that arrives together with the end of its time does not count, as its members were not shown", async () => {
  using folder = temporaryFolder();
  const worker = await startScanWorker({ ...setupOf(folder.path), limits: LIGHT_LIMITS });
  try {
    const show = async (): Promise<{ kind: "clean" }> => ({ kind: "clean" });
    const other = { gets: "file" as const, opens: [], show };
    const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<typeof worker.scan>>>();
    // Behind this come timers, and only then what another thread has said. That one is done meanwhile, or its time is over
    // all the same.
    setImmediate(() => {
      resolve(worker.scan(inMemory(gzipSync("a member")), { timeLimitMs: 1, signal: never, other }));
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
    });
    assert.deepEqual(await promise, { kind: "overrun" });
  } finally {
    await worker.stop();
  }
});
