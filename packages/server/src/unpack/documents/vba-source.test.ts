import assert from "node:assert/strict";
import { test } from "node:test";
import { openContainer } from "../../../test/support/open-container.ts";
import { vba } from "./vba-source.ts";

const vbaSources = async (stream: Buffer): Promise<Buffer[]> =>
  (await openContainer(vba, stream))?.members.map(({ content }) => content) ?? [];

const HEAD = 'Attribute VB_Name = "Module1"\r\n';

/** Compresses like Office does, as far as a test needs: literals, and a copy of what was there `repeat` bytes ago. */
function compressed(source: string): Buffer {
  const chunks: Buffer[] = [];
  for (let at = 0; at < source.length; at += 4096) {
    const tokens = tokensOf(Buffer.from(source.slice(at, at + 4096), "latin1"));
    const body: Buffer[] = [];
    for (let first = 0; first < tokens.length; first += 8) {
      const group = tokens.slice(first, first + 8);
      body.push(
        Buffer.of(group.reduce((flags, token, bit) => flags | (token.length === 2 ? 1 << bit : 0), 0)),
        ...group,
      );
    }
    const bytes = Buffer.concat(body);
    const header = Buffer.alloc(2);
    header.writeUInt16LE(0xb000 | (bytes.length - 1));
    chunks.push(header, bytes);
  }
  return Buffer.concat([Buffer.of(1), ...chunks]);
}

function tokensOf(chunk: Buffer): Buffer[] {
  const tokens: Buffer[] = [];
  for (let at = 0; at < chunk.length; ) {
    const offsetBits = Math.max(4, Math.ceil(Math.log2(Math.max(1, at))));
    const longest = Math.min(2 ** (16 - offsetBits) + 2, chunk.length - at);
    const earlier = at === 0 ? -1 : chunk.subarray(0, at).lastIndexOf(chunk.subarray(at, at + 3));
    if (earlier < 0 || at + 3 > chunk.length) {
      tokens.push(chunk.subarray(at, at + 1));
      at += 1;
      continue;
    }
    let length = 3;
    while (length < longest && chunk[earlier + length] === chunk[at + length]) length += 1;
    const token = Buffer.alloc(2);
    token.writeUInt16LE(((at - earlier - 1) << (16 - offsetBits)) | (length - 3));
    tokens.push(token);
    at += length;
  }
  return tokens;
}

test("the source of a macro comes out as it went in", async () => {
  const source = `${HEAD}Sub AutoOpen()\r\n  Shell "calc", vbHide\r\n  Shell "calc", vbHide\r\nEnd Sub\r\n`;
  const stream = Buffer.concat([
    Buffer.from("performance cache, of no interest"),
    compressed(source),
    Buffer.alloc(64),
  ]);
  assert.ok(!stream.includes("AutoOpen()\r\n  Shell"), "it is compressed");
  assert.deepEqual((await vbaSources(stream)).map(String), [source]);
});

test("a source of many chunks, and a second one", async () => {
  const lines = Array.from({ length: 600 }, (_, index) => `Debug.Print "line number ${index}"\r\n`).join("");
  const sources = [`${HEAD}${lines}`, `${HEAD}' the other\r\n`];
  assert.deepEqual(
    (await vbaSources(Buffer.concat(sources.flatMap((source) => [compressed(source), Buffer.alloc(64)])))).map(String),
    sources,
  );
});

test("what only looks like a source does no harm", async () => {
  assert.deepEqual(await vbaSources(Buffer.from("\x00Attribut\x00e without a beginning", "latin1")), []);
  const cut = compressed(`${HEAD}${"x = x + 1\r\n".repeat(100)}`).subarray(0, 60);
  const [source] = await vbaSources(cut);
  assert.ok(source?.toString().startsWith(HEAD));
  for (let seed = 0; seed < 200; seed += 1) {
    const noise = Buffer.from(
      Array.from({ length: 300 }, (_, index) => (index * 31 + seed * 17 + (index % 7) * seed) & 0xff),
    );
    const stream = Buffer.concat([Buffer.of(1, 0xff, 0xbf), Buffer.from("\x00Attribut\x00e", "latin1"), noise]);
    assert.ok((await vbaSources(stream)).length >= 1);
  }
});

test("the work of many sources is in proportion to their number", async () => {
  const one = compressed(`${HEAD}x = 1\r\n`);
  const many = (count: number): Buffer =>
    Buffer.concat([...Array.from({ length: count }, () => Buffer.concat([one, Buffer.of(0, 0)]))]);
  const works = await Promise.all([100, 1000].map(async (count) => (await openContainer(vba, many(count)))?.work ?? 0));
  assert.ok((works[0] ?? 0) > 0);
  assert.ok((works[1] ?? 0) <= 10 * (works[0] ?? 0));
});
