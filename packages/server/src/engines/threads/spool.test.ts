import assert from "node:assert/strict";
import { readdirSync, readlinkSync, readSync } from "node:fs";
import { describe, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import type { SpaceReader } from "../../unpack/temporary-files.ts";
import { release, spool } from "./spool.ts";

const never = new AbortController().signal;

async function* pieces(...sizes: number[]): AsyncGenerator<Uint8Array> {
  // One buffer for all, as some sources do it.
  const buffer = Buffer.alloc(Math.max(0, ...sizes));
  for (const [index, size] of sizes.entries()) yield buffer.subarray(0, size).fill(index + 1);
}

test("a small file stays in memory", async () => {
  using folder = temporaryFolder();
  const spooled = await spool(pieces(3, 2), { folder: folder.path, memoryBytes: 5 }, never);
  assert.deepEqual(spooled, { kind: "memory", bytes: Uint8Array.of(1, 1, 1, 2, 2) });
});

test("a larger file is on disk, whole, without a name", async () => {
  using folder = temporaryFolder();
  const spooled = await spool(pieces(3, 2, 4), { folder: folder.path, memoryBytes: 5 }, never);
  assert.equal(spooled.kind, "file");
  const bytes = Buffer.alloc(20);
  const read = readSync(spooled.kind === "file" ? spooled.descriptor : -1, bytes, 0, 20, 0);
  assert.deepEqual([...bytes.subarray(0, read)], [1, 1, 1, 2, 2, 3, 3, 3, 3]);
  assert.deepEqual(readdirSync(folder.path), []);
  assert.ok(openFiles().some((path) => path.startsWith(folder.path)));
  release(spooled);
  assert.ok(!openFiles().some((path) => path.startsWith(folder.path)));
});

test("a source that fails leaves no open file", async () => {
  using folder = temporaryFolder();
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield Buffer.alloc(10);
    throw new Error("gone");
  }
  await assert.rejects(spool(failing(), { folder: folder.path, memoryBytes: 5 }, never), /gone/);
  assert.ok(!openFiles().some((path) => path.startsWith(folder.path)));
});

test("a caller who gives up gets the reason", async () => {
  using folder = temporaryFolder();
  const caller = new AbortController();
  async function* slow(): AsyncGenerator<Uint8Array> {
    yield Buffer.alloc(10);
    caller.abort(new Error("enough"));
    yield Buffer.alloc(10);
  }
  await assert.rejects(spool(slow(), { folder: folder.path, memoryBytes: 5 }, caller.signal), /enough/);
});

test("a folder that is gone is the engine's fault, not the file's", async () => {
  const options = { folder: "/nonexistent/folder", memoryBytes: 5 };
  await assert.rejects(spool(pieces(10), options, never), { name: "EngineUnavailable" });
});

describe("when the disk gets full", () => {
  const MIB = 1024 * 1024;

  /** A file system of 64 MiB, of which a quarter must stay free, with so much free at each reading. */
  function readings(...freeMib: number[]): SpaceReader {
    const read = (): { bsize: number; blocks: number; bavail: number } => ({
      bsize: 4096,
      blocks: (64 * MIB) / 4096,
      bavail: ((freeMib.shift() ?? assert.fail("read too often")) * MIB) / 4096,
    });
    return { readSync: read, read: async () => read() };
  }

  test("a file that needs no room on disk is spooled all the same", async () => {
    using folder = temporaryFolder();
    const options = { folder: folder.path, memoryBytes: 5, space: readings() };
    assert.equal((await spool(pieces(3, 2), options, never)).kind, "memory");
  });

  test("a file for which there is no room waits for some: nothing of it is written", async () => {
    using folder = temporaryFolder();
    const options = { folder: folder.path, memoryBytes: 5, space: readings(16) };
    await assert.rejects(spool(pieces(MIB), options, never), {
      name: "EngineUnavailable",
      message: `no room for temporary files in ${folder.path}: 16 MiB free, 16 MiB must stay free`,
      whileScanning: false,
    });
  });

  test("a file that fills the disk is let go of, its source is stopped, and it counts as the file's own doing", async () => {
    using folder = temporaryFolder();
    let stopped = false;
    async function* long(): AsyncGenerator<Uint8Array> {
      try {
        for (let piece = 0; piece < 50; piece += 1) yield Buffer.alloc(MIB);
      } finally {
        stopped = true;
      }
    }
    const options = { folder: folder.path, memoryBytes: 5, space: readings(18, 17, 16.5) };
    await assert.rejects(spool(long(), options, never), { name: "EngineUnavailable", whileScanning: true });
    assert.equal(stopped, true);
    assert.ok(!openFiles().some((path) => path.startsWith(folder.path)));
  });
});

/** What the descriptors of this process lead to; one is gone again, that of the list itself. */
function openFiles(): string[] {
  return readdirSync("/proc/self/fd").flatMap((name) => {
    try {
      return [readlinkSync(`/proc/self/fd/${name}`)];
    } catch {
      return [];
    }
  });
}

test("a file that comes byte by byte takes no more memory than its bytes", async () => {
  using folder = temporaryFolder();
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const count = 400_000;
  let grown = 0;
  async function* singleBytes(): AsyncGenerator<Uint8Array> {
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let sent = 0; sent < count; sent += 1) yield Uint8Array.of(sent);
    collect();
    grown = process.memoryUsage().heapUsed - before;
  }
  const spooled = await spool(singleBytes(), { folder: folder.path, memoryBytes: 1024 * 1024 }, never);
  assert.equal(spooled.kind === "memory" && spooled.bytes.length, count);
  assert.ok(grown < 10 * count, `${grown} bytes for ${count}`);
});
