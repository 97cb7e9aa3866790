import assert from "node:assert/strict";
import { closeSync, readdirSync, readSync, statfsSync, statSync, writeSync } from "node:fs";
import { describe, test } from "node:test";
import { temporaryFolder } from "../../test/support/leftovers.ts";
import { checkRoom, namelessFile, privateFolder, roomIn, type SpaceReader } from "./temporary-files.ts";

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
const BLOCK = 4096;

/** A file system whose space is taken by what a test says it has written. */
function disk(sizeBytes: number, freeBytes: number): SpaceReader & { free: number; readings: number } {
  const self = {
    free: freeBytes,
    readings: 0,
    readSync() {
      self.readings += 1;
      return { bsize: BLOCK, blocks: sizeBytes / BLOCK, bavail: Math.floor(self.free / BLOCK) };
    },
    read: async () => self.readSync(),
  };
  return self;
}

/** Writes pieces until it is told to stop, and says how much is free then. */
function fill(each: ReturnType<typeof disk>, pieceBytes: number): number {
  const room = roomIn("/tmp/some", each);
  for (let written = 0; written < 100 * GIB; written += pieceBytes) {
    try {
      room.claimSync(pieceBytes);
    } catch (error) {
      assert.match(String(error), /^EngineUnavailable: no room for temporary files in \/tmp\/some: \d+ MiB free/);
      return each.free;
    }
    each.free -= pieceBytes;
  }
  return assert.fail("was never stopped");
}

describe("temporary files leave a part of the file system free", () => {
  const floors: [name: string, sizeBytes: number, floorBytes: number][] = [
    ["a quarter of a tmpfs of 64 MiB", 64 * MIB, 16 * MIB],
    ["256 MiB of 4 GiB", 4 * GIB, 256 * MIB],
    ["2 % of 100 GiB", 100 * GIB, 2 * GIB],
    ["4 GiB of 10 TiB", 10_240 * GIB, 4 * GIB],
  ];
  for (const [name, sizeBytes, floorBytes] of floors) {
    test(`${name}, but for what is written between two readings`, () => {
      const left = fill(disk(sizeBytes, floorBytes + 100 * MIB), 64 * 1024);
      assert.ok(left <= floorBytes + 64 * 1024, `stopped with ${left} bytes free`);
      assert.ok(left >= floorBytes - 4 * MIB, `went down to ${left} bytes`);
    });
  }

  test("also when 32 scans write at once", () => {
    const small = disk(64 * MIB, 40 * MIB);
    const rooms = Array.from({ length: 32 }, () => roomIn("/tmp/some", small));
    let refused = 0;
    for (let turn = 0; refused < 32; turn += 1) {
      refused = 0;
      for (const room of rooms) {
        try {
          room.claimSync(BLOCK);
          small.free -= BLOCK;
        } catch {
          refused += 1;
        }
      }
      assert.ok(turn < 100_000);
    }
    assert.ok(small.free > 0, `${small.free} bytes are free`);
  });

  test("a piece that is larger than the room is refused as a whole", async () => {
    const small = disk(64 * MIB, 20 * MIB);
    assert.throws(() => roomIn("/tmp/some", small).claimSync(5 * MIB), { name: "EngineUnavailable" });
    await assert.rejects(roomIn("/tmp/some", small).claim(5 * MIB), { name: "EngineUnavailable" });
    await roomIn("/tmp/some", small).claim(4 * MIB);
  });

  test("the free space is read every few MiB, not for each piece", async () => {
    const large = disk(100 * GIB, 50 * GIB);
    const room = roomIn("/tmp/some", large);
    for (let piece = 0; piece < 1600; piece += 1) await room.claim(64 * 1024);
    assert.ok(large.readings > 15 && large.readings <= 25, `${large.readings} readings for 100 MiB`);
  });

  test("the first byte that finds no room is nobody's fault, a later one may be the file's", () => {
    const full = disk(64 * MIB, 16 * MIB);
    const room = roomIn("/tmp/some", full);
    assert.throws(() => room.claimSync(1), { whileScanning: false });
    full.free += MIB;
    room.claimSync(MIB);
    full.free -= MIB;
    assert.throws(() => room.claimSync(MIB), { whileScanning: true });
  });

  test("a file system that does not tell its size is used as it is", () => {
    const untold = { bsize: BLOCK, blocks: 0, bavail: 0 };
    roomIn("/tmp/some", { readSync: () => untold, read: async () => untold }).claimSync(GIB);
  });

  test("a folder whose space cannot be read is the engine's fault", async () => {
    await assert.rejects(roomIn("/nonexistent/folder").claim(1), { name: "EngineUnavailable", whileScanning: false });
    assert.throws(() => roomIn("/nonexistent/folder").claimSync(1), { name: "EngineUnavailable" });
    assert.equal((await checkRoom("/nonexistent/folder")).ok, false);
  });

  test("readiness is told how much is free, and whether that is enough", async () => {
    assert.deepEqual(await checkRoom("/tmp/some", disk(64 * MIB, 16 * MIB)), {
      name: "temporary-files",
      ok: false,
      detail: "16 MiB free in /tmp/some; 16 MiB must stay free",
    });
    assert.equal((await checkRoom("/tmp/some", disk(64 * MIB, 17 * MIB))).ok, true);
  });

  test("the operating system's numbers are understood", async () => {
    using folder = temporaryFolder();
    const { bsize, bavail } = statfsSync(folder.path);
    const [, told] = /^(\d+) MiB free/.exec((await checkRoom(folder.path)).detail) ?? [];
    const free = (bsize * bavail) / MIB;
    assert.ok(Math.abs(Number(told) - free) <= free / 10, `${told} told, ${free} there`);
  });
});

test("nobody else can look into the private folder, and it goes away", () => {
  using parent = temporaryFolder();
  const folder = privateFolder(parent.path);
  assert.equal(statSync(folder.path).mode & 0o777, 0o700);
  folder[Symbol.dispose]();
  assert.deepEqual(readdirSync(parent.path), []);
});

test("a file without a name can be written and read, and is not in its folder", () => {
  using folder = temporaryFolder();
  const descriptor = namelessFile(folder.path);
  assert.deepEqual(readdirSync(folder.path), []);
  writeSync(descriptor, "kept", 0);
  const bytes = Buffer.alloc(10);
  assert.equal(bytes.toString("latin1", 0, readSync(descriptor, bytes, 0, 10, 0)), "kept");
  closeSync(descriptor);
  assert.throws(() => namelessFile("/nonexistent/folder"), { name: "EngineUnavailable" });
});
