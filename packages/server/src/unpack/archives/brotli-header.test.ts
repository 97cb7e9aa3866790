import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { brotliCompressSync, constants } from "node:zlib";
import fc from "fast-check";
import { unbrotli } from "./brotli.ts";
import { mayBeginBrotli } from "./brotli-header.ts";

const TRIAL_BYTES = 512;
const contents = [
  Buffer.from("a few words, and some more of them; ".repeat(30)),
  Buffer.from(Array.from({ length: 4000 }, (_, at) => (at * at) & 0xff)),
  randomBytes(3000),
  Buffer.alloc(20_000, "abc"),
  Buffer.from("short"),
];
const streams = contents.flatMap((content) =>
  [0, 1, 2, 4, 5, 9, 10, 11].flatMap((quality) =>
    [10, 16, 17, 22, 24, 28].map((window) => packed(content, quality, window)),
  ),
);

function packed(content: Buffer, quality: number, window: number): Buffer {
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN, BROTLI_PARAM_LARGE_WINDOW } = constants;
  const params = {
    [BROTLI_PARAM_QUALITY]: quality,
    [BROTLI_PARAM_LGWIN]: window,
    [BROTLI_PARAM_LARGE_WINDOW]: window > 24 ? 1 : 0,
  };
  return brotliCompressSync(content, { params });
}

test("every stream of brotli may be one, whatever it was packed with", () => {
  assert.ok(streams.length > 200);
  for (const stream of streams) assert.equal(mayBeginBrotli(stream.subarray(0, TRIAL_BYTES), stream.length), true);
});

test("what may be none is none to the decoder, and nearly all noise is", () => {
  const noise = fc.uint8Array({ minLength: 16, maxLength: 700 });
  const flips = fc.array(fc.tuple(fc.nat(40), fc.nat(7)), { maxLength: 4 });
  const broken = fc.record({
    stream: fc.nat(streams.length - 1),
    flips,
    kept: fc.integer({ min: 16, max: 4000 }),
    noise,
  });
  let refused = 0;
  const check = (file: Buffer): void => {
    if (mayBeginBrotli(file.subarray(0, TRIAL_BYTES), file.length)) return;
    refused += 1;
    const said = unbrotli(file, 1024 * 1024);
    assert.ok(said === "no" || said === "cut", file.toString("hex"));
  };
  fc.assert(
    fc.property(broken, ({ stream, flips: bits, kept, noise: behind }) => {
      const file = Buffer.concat([streams[stream]?.subarray(0, kept) ?? Buffer.alloc(0), behind]);
      for (const [at, bit] of bits) if (at < file.length) file[at] = (file[at] ?? 0) ^ (1 << bit);
      check(file);
    }),
    { numRuns: 3000 },
  );
  assert.ok(refused > 300 && refused < 2700);
  refused = 0;
  for (let file = 0; file < 1000; file += 1) check(randomBytes(4096));
  assert.ok(refused > 800);
});
