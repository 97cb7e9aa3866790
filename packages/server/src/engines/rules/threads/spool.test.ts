import assert from "node:assert/strict";
import { readdirSync, readlinkSync, readSync, statSync } from "node:fs";
import { test } from "node:test";
import { temporaryFolder } from "../../../../test/support/leftovers.ts";
import { privateFolder, release, spool } from "./spool.ts";

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

test("nobody else can look into the private folder, and it goes away", () => {
  using parent = temporaryFolder();
  const folder = privateFolder(parent.path);
  assert.equal(statSync(folder.path).mode & 0o777, 0o700);
  folder[Symbol.dispose]();
  assert.deepEqual(readdirSync(parent.path), []);
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
