import assert from "node:assert/strict";
import { test } from "node:test";
import { gathered } from "./gathered-file.ts";

const MAX = 10;
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
      const file = await gathered(bytes, MAX, never);
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
  const file = await gathered(Object.assign(counted(), { announcedBytes: 12 }), MAX, never);
  assert.deepEqual([file.kind, read], ["large", 0]);
  assert.equal(await textOf(file), "abcdefghijkl");
});
