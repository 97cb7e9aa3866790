import assert from "node:assert/strict";
import { test } from "node:test";
import { rooms } from "../flow/rooms.ts";
import { gathered } from "./gathered-file.ts";

const MAX = 10;
const small = { upTo: MAX, rooms: rooms({ keptBytes: 0, idleMs: 1000 }) };
const never = new AbortController().signal;

async function* chunksOf(...chunks: string[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

async function textOf(file: Awaited<ReturnType<typeof gathered>>): Promise<string> {
  if (file.kind === "small") return Buffer.from(file.content).toString();
  return Buffer.concat(await Array.fromAsync(file.bytes)).toString();
}

for (const announced of [undefined, 0, 1, 5, 10]) {
  test(`what arrives counts, not the ${announced} bytes that were announced`, async () => {
    for (const chunks of [
      [],
      ["abcde"],
      ["abc", "de"],
      ["abcde", "fghij"],
      ["abcde", "fghij", "k"],
      ["abcdefghijkl"],
    ]) {
      const bytes = Object.assign(chunksOf(...chunks), announced === undefined ? {} : { announcedBytes: announced });
      const file = await gathered(bytes, small, never);
      const text = chunks.join("");
      assert.equal(file.kind, text.length > MAX ? "large" : "small");
      assert.equal(await textOf(file), text);
    }
  });
}

test("what is announced as large is not gathered", async () => {
  let read = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunksOf("abc", "def", "ghi", "jkl")) {
      read += 1;
      yield chunk;
    }
  }
  const file = await gathered(Object.assign(counted(), { announcedBytes: 12 }), small, never);
  assert.deepEqual([file.kind, read], ["large", 0]);
  assert.equal(await textOf(file), "abcdefghijkl");
});

test("what is larger than was announced gets more room, and the first is used by others", async () => {
  const KIB = 1024;
  const upTo = 1024 * KIB;
  for (const announced of [1, 128 * KIB, 300 * KIB, upTo]) {
    const again = rooms({ keptBytes: 8 * upTo, idleMs: 1000 });
    const parts = Array.from({ length: 16 }, (_, index) => String.fromCharCode(97 + index).repeat(64 * KIB));
    for (const count of [1, 2, 3, 5, 8, 16]) {
      const chunks = parts.slice(0, count);
      const bytes = Object.assign(chunksOf(...chunks), { announcedBytes: announced });
      const file = await gathered(bytes, { upTo, rooms: again }, never);
      assert.ok(file.kind === "small");
      assert.equal(await textOf(file), chunks.join(""));
      again.take(announced).fill(0);
      assert.equal(await textOf(file), chunks.join(""));
    }
  }
});

test("of room that was used before no more is seen than what the next file has", async () => {
  const again = { upTo: MAX, rooms: rooms({ keptBytes: 1024 * 1024, idleMs: 1000 }) };
  const first = await gathered(chunksOf("abcdefghij"), again, never);
  assert.ok(first.kind === "small");
  again.rooms.giveBack(first.content);
  assert.equal(await textOf(first), "");
  const next = await gathered(chunksOf("x", "y"), again, never);
  assert.ok(next.kind === "small");
  assert.equal(await textOf(next), "xy");
  assert.equal(Buffer.from(next.content.buffer).toString("latin1", 0, MAX), "xycdefghij");
});
