import assert from "node:assert/strict";
import { mkdirSync, readdirSync, rmSync, statfsSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { type TestClamd, testClamd } from "../../../test/support/clamd.ts";
import { clamdProxy } from "../../../test/support/clamd-proxy.ts";
import { eicar } from "../../../test/support/eicar.ts";
import { temporaryFolder as testFolder } from "../../../test/support/leftovers.ts";
import { until } from "../../../test/support/until.ts";
import { EngineUnavailable } from "../../model/faults.ts";
import { canaryFiles } from "./canary-files.ts";
import { type Clamd, type ClamdOptions, clamd } from "./clamd.ts";
import { clamdFolder, leftoversIn, roomOf, sweepLeftovers } from "./clamd-folder.ts";

const never = new AbortController().signal;
const MIB = 1024 * 1024;

async function* bytes(...chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

function engineOf(options: Pick<ClamdOptions, "address" | "temporaryDir">): Clamd & AsyncDisposable {
  const engine = clamd({ concurrency: 4, ...options });
  return Object.assign(engine, { [Symbol.asyncDispose]: () => engine.close() });
}

/** What the engine says about plain malware, and about a mail with malware: it may fail, but never say clean. */
async function verdicts(engine: Clamd): Promise<string[]> {
  const files = [eicar(), canaryFiles.gzip(), Buffer.concat([eicar(), Buffer.alloc(300_000, "x")])];
  const scans = files.map((file) => engine.scan(bytes(file), never));
  const shows = files.map((file) => engine.show([Buffer.from("other"), file], never));
  const settled = await Promise.allSettled<{ kind: string }>([...scans, ...shows]);
  return settled.map((outcome) => {
    if (outcome.status === "fulfilled") return outcome.value.kind;
    assert.ok(outcome.reason instanceof EngineUnavailable, outcome.reason);
    return "unavailable";
  });
}

async function isReady(engine: Clamd): Promise<boolean> {
  return (await engine.health(never)).ready;
}

describe("a clamd whose temporary folder has no room", () => {
  let daemon: TestClamd;
  let empty: ReturnType<typeof statfsSync>;
  before(async () => {
    daemon = await testClamd({}, { disk: { bytes: 16 * MIB, inodes: 100 } });
    empty = statfsSync(daemon.temporaryDir);
  });
  after(() => daemon[Symbol.asyncDispose]());
  beforeEach(async () => {
    for (const name of readdirSync(daemon.temporaryDir))
      rmSync(join(daemon.temporaryDir, name), { recursive: true, force: true });
    await clamdIsIdle();
  });

  /** It goes on with what it was given after we have left, and gives its room back only then. */
  async function clamdIsIdle(): Promise<void> {
    await until("clamd holds nothing in its folder", () => {
      const now = statfsSync(daemon.temporaryDir);
      return now.bavail >= empty.bavail && now.ffree >= empty.ffree;
    });
  }
  async function leaveBlocks(count: number): Promise<void> {
    await clamdIsIdle();
    const { bavail, bsize } = statfsSync(daemon.temporaryDir);
    writeFileSync(join(daemon.temporaryDir, "filler"), Buffer.alloc((bavail - count) * bsize));
  }
  async function leaveInodes(count: number): Promise<void> {
    await clamdIsIdle();
    const { ffree } = statfsSync(daemon.temporaryDir);
    for (let made = 0; made < ffree - count; made += 1) {
      writeFileSync(join(daemon.temporaryDir, `filler-${made}`), "");
    }
  }
  function makeRoom(): void {
    for (const name of readdirSync(daemon.temporaryDir).filter((each) => each.startsWith("filler"))) {
      rmSync(join(daemon.temporaryDir, name));
    }
  }

  const shortages: [what: string, fill: () => Promise<void>][] = [
    ["no block", () => leaveBlocks(0)],
    ["one block", () => leaveBlocks(1)],
    ["two blocks", () => leaveBlocks(2)],
    ["no inode", () => leaveInodes(0)],
    ["one inode", () => leaveInodes(1)],
    ["two inodes", () => leaveInodes(2)],
    ["four inodes", () => leaveInodes(4)],
    ["twelve inodes", () => leaveInodes(12)],
  ];
  for (const seen of [true, false]) {
    for (const [what, fill] of shortages) {
      test(`${what} left in a folder that ${seen ? "can" : "cannot"} be seen: malware is never clean, and it heals`, async () => {
        await using proxy = await clamdProxy(daemon.socketPath);
        await using engine = engineOf(
          seen
            ? { address: { kind: "unix", path: daemon.socketPath }, temporaryDir: daemon.temporaryDir }
            : { address: proxy.address },
        );
        assert.equal(await isReady(engine), true);
        await fill();
        assert.equal((await verdicts(engine)).includes("clean"), false);
        const harmless = await engine.scan(bytes(Buffer.from("hello")), never).catch((error) => error);
        assert.ok(harmless instanceof EngineUnavailable);
        const { ready, checks } = await engine.health(never);
        assert.equal(ready, false);
        if (seen) assert.match(checks[0]?.detail ?? "", /temporary folder .* is full/);
        makeRoom();
        await until("it is ready again", () => isReady(engine));
        assert.deepEqual(new Set(await verdicts(engine)), new Set(["infected"]));
        assert.equal((await engine.scan(bytes(Buffer.from("hello")), never)).kind, "clean");
      });
    }
  }

  test("one inode left, with which clamd calls plain malware OK: it says that the folder is full and what to do", async () => {
    await leaveInodes(1);
    await using engine = engineOf({
      address: { kind: "unix", path: daemon.socketPath },
      temporaryDir: daemon.temporaryDir,
    });
    await assert.rejects(engine.scan(bytes(eicar()), never), EngineUnavailable);
    const health = await engine.health(never);
    assert.equal(health.ready, false);
    assert.match(health.checks[0]?.detail ?? "", /is full \(\d+ KiB and [01] inodes left\): .*make room/);
  });

  test("a file that takes the last block is not clean because there is room again after it", async () => {
    const { bavail, bsize } = statfsSync(daemon.temporaryDir);
    const address = { kind: "unix", path: daemon.socketPath } as const;
    // Only where the folder can be seen: behind a proxy that holds bytes back nobody knows what clamd has written when it is asked.
    await using engine = engineOf({ address, temporaryDir: daemon.temporaryDir });
    assert.equal(await isReady(engine), true);
    for (const spare of [0, 1, 2]) {
      const file = Buffer.alloc((bavail - spare) * bsize, "x");
      await assert.rejects(engine.scan(bytes(file), never), EngineUnavailable);
    }
  });

  test("little room: ways that clamd is silent about are not given, and an OK needs a canary", async () => {
    await using engine = engineOf({
      address: { kind: "unix", path: daemon.socketPath },
      temporaryDir: daemon.temporaryDir,
    });
    assert.equal((await engine.scan(bytes(Buffer.from("hello")), never)).kind, "clean");
    assert.deepEqual([...engine.opens()], ["zip/stored", "zip/deflated", "gzip", "bzip2", "xz", "tar"]);
  });
});

test("how much room is enough", () => {
  assert.equal(roomOf({ bytes: 64 * MIB, inodes: 512 }), "enough");
  assert.equal(roomOf({ bytes: 64 * MIB - 1, inodes: 512 }), "short");
  assert.equal(roomOf({ bytes: 64 * MIB, inodes: 511 }), "short");
  assert.equal(roomOf({ bytes: MIB, inodes: 16 }), "short");
  assert.equal(roomOf({ bytes: MIB - 1, inodes: 512 }), "full");
  assert.equal(roomOf({ bytes: 64 * MIB, inodes: 15 }), "full");
});

test("a folder counts as seen once clamd was at work in it, or somebody who knows has said so", async () => {
  using folder = testFolder();
  const nothing = async (): Promise<void> => undefined;
  const work = async (): Promise<void> => writeFileSync(join(folder.path, `clamav-${"0a".repeat(16)}.tmp`), "");
  const other = async (): Promise<void> => writeFileSync(join(folder.path, "other.tmp"), "");
  const found = clamdFolder(folder.path, { sure: false });
  assert.equal(found.room(), "unseen");
  await found.observe(work);
  assert.notEqual(found.room(), "unseen");
  await found.observe(other);
  assert.equal(found.room(), "unseen");
  const known = clamdFolder(folder.path, { sure: true });
  await known.observe(nothing);
  assert.notEqual(known.room(), "unseen");
  assert.equal(clamdFolder(join(folder.path, "gone"), { sure: true }).room(), "unseen");
  assert.equal(clamdFolder(undefined, { sure: false }).room(), "unseen");
});

test("a watch says how the room was when it began, and how it is now", () => {
  using folder = testFolder();
  const path = join(folder.path, "clamd");
  const watch = clamdFolder(path, { sure: true }).watch();
  mkdirSync(path);
  assert.deepEqual([watch.first, watch.measure(), watch.end()], ["unseen", "enough", "unseen"]);
});

test("that there was enough room counts for a moment only, and never at the end", async () => {
  using folder = testFolder();
  const path = join(folder.path, "clamd");
  mkdirSync(path);
  const known = clamdFolder(path, { sure: true });
  const [one, other] = [known.watch(), known.watch()];
  assert.deepEqual([one.first, other.first], ["enough", "enough"]);
  rmSync(path, { recursive: true });
  assert.equal(one.end(), "unseen");
  assert.equal(other.measure(), "unseen");
  mkdirSync(path);
  assert.equal(known.room(), "enough");
  rmSync(path, { recursive: true });
  await until("it looks again", () => known.room() === "unseen");
  assert.equal(other.end(), "unseen");
});

test("what dead clamds left is known by name and age, and swept without touching anything else", async () => {
  using folder = testFolder();
  const stream = join(folder.path, `clamav-${"0123456789abcdef".repeat(2)}.tmp`);
  const scan = join(folder.path, "20261115_121213-scantemp.9f98034ae9");
  mkdirSync(scan);
  writeFileSync(join(scan, "member"), "");
  for (const path of [stream, join(folder.path, "letter.txt")]) writeFileSync(path, "");
  const old = new Date(Date.now() - 7_200_000);
  utimesSync(stream, old, old);
  assert.deepEqual(await leftoversIn(folder.path, 3_600_000), [stream]);
  await sweepLeftovers(folder.path);
  assert.deepEqual(readdirSync(folder.path), ["letter.txt"]);
  assert.deepEqual(await leftoversIn(join(folder.path, "gone"), 0), []);
});
