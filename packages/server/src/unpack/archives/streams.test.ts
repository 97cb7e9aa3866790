import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { describe, test } from "node:test";
import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import { packedBy7z } from "../../../test/fixtures/archives.ts";
import { type Opened, openContainer } from "../../../test/support/open-container.ts";
import { FULL_LIMITS } from "../../engines/threads/scan-limits.ts";
import { type Blob, memoryBlob } from "../blob.ts";
import { unpackBudget } from "../budget.ts";
import type { Opener, Tools } from "../opener.ts";
import { containersIn } from "../openers.ts";
import { brotli } from "./brotli.ts";
import { sevenZipKinds } from "./seven-zip-kinds.ts";
import { embeddedGzip, embeddedZstd, gzip, zlib, zlibWithDictionary, zstd } from "./streams.ts";

const payload = Buffer.from(Array.from({ length: 300 }, (_, line) => `line ${line * 7919} of the payload\n`).join(""));
const other = Buffer.from("something else\n".repeat(50));
const junk = Buffer.from("this is no compressed stream at all, but text behind one");
const [bzip2, xz] = ["bzip2", "xz"].map((kind) => sevenZipKinds.find((opener) => opener.kind === kind)) as [
  Opener,
  Opener,
];

async function opened(opener: Opener, ...pieces: Uint8Array[]): Promise<Opened> {
  const result = await openContainer(opener, Buffer.concat(pieces));
  assert.ok(result, `no ${opener.kind} was found`);
  return result;
}

/** The same in every run. */
const noise = (index: number, bytes: number): Buffer =>
  createHash("shake256", { outputLength: bytes }).update(`noise ${index}`).digest();

const contents = ({ members }: Opened): string[] => members.map(({ content }) => content.toString("latin1"));

const formats: [opener: Opener, pack: (content: Buffer) => Buffer][] = [
  [gzip, (content) => gzipSync(content)],
  [zlib, (content) => deflateSync(content)],
  [zstd, (content) => zstdCompressSync(content)],
  [bzip2, (content) => packedBy7z(content, "bz2")],
  [xz, (content) => packedBy7z(content, "xz")],
];

for (const [opener, pack] of formats) {
  describe(opener.kind, () => {
    test("one stream", async () => {
      const result = await opened(opener, pack(payload));
      assert.equal(result.outcome, "opened");
      assert.deepEqual(contents(result), [payload.toString()]);
      assert.deepEqual(result.rest, []);
    });

    test("several streams are one file, as programs give them out", async () => {
      const result = await opened(opener, pack(other), pack(payload));
      assert.equal(result.outcome, "opened");
      assert.ok(contents(result).includes(`${other}${payload}`));
    });

    test("what stands behind the last stream is left over", async () => {
      const packed = Buffer.concat([pack(other), pack(payload)]);
      const result = await opened(opener, packed, junk);
      assert.equal(result.outcome, "opened");
      assert.deepEqual(result.rest, [{ start: packed.length, end: packed.length + junk.length }]);
    });

    test("what stands between two streams is left over, and so is what is behind it", async () => {
      const first = pack(other);
      const result = await opened(opener, first, junk, pack(payload));
      assert.equal(result.rest[0]?.start, first.length);
    });

    test("a stream that was cut off is unreadable", async () => {
      const packed = pack(randomBytes(5000));
      assert.equal((await opened(opener, packed.subarray(0, 3000))).outcome, "unreadable");
    });
  });
}

test("zlib cut within its checksum is unreadable, and gives what there is", async () => {
  for (const bytes of [1, 4]) {
    const result = await opened(zlib, deflateSync(payload).subarray(0, -bytes));
    assert.equal(result.outcome, "unreadable");
    assert.deepEqual(contents(result), [payload.toString()]);
  }
});

describe("gzip", () => {
  test("with a name, a comment, an extra field and a checksum in its header", async () => {
    const packed = gzipSync(payload);
    const fields = Buffer.from("\x03\x00abcname\0a comment\0\x00\x00", "latin1");
    const full = Buffer.concat([
      packed.subarray(0, 3),
      Buffer.of(0x1e),
      packed.subarray(4, 10),
      fields,
      packed.subarray(10),
    ]);
    const result = await opened(gzip, full);
    assert.deepEqual(contents(result), [payload.toString()]);
    assert.equal(result.members[0]?.name, "name");
  });
  test("with a wrong checksum", async () => {
    const packed = gzipSync(payload);
    packed.fill(0, packed.length - 8);
    assert.deepEqual(contents(await opened(gzip, packed)), [payload.toString()]);
  });
  test("cut within its checksum, or within the header of a second stream, is unreadable, and gives what there is", async () => {
    const packed = gzipSync(payload);
    for (const file of [packed.subarray(0, -1), packed.subarray(0, -8)]) {
      const result = await opened(gzip, file);
      assert.equal(result.outcome, "unreadable");
      assert.deepEqual(contents(result), [payload.toString()]);
    }
    for (const bytes of [2, 5, 10]) {
      const result = await opened(gzip, packed, gzipSync(other).subarray(0, bytes));
      assert.equal(result.outcome, "unreadable", `${bytes} bytes of the second`);
    }
  });
  test("with zeros behind it, as tapes have them", async () => {
    assert.deepEqual((await opened(gzip, gzipSync(payload), Buffer.alloc(100_000))).rest, []);
  });
  test("one stream and nothing else may be left to another unpacker", async () => {
    assert.equal((await opened(gzip, gzipSync(payload))).members[0]?.way, "gzip");
    for (const behind of [junk, gzipSync(other), Buffer.alloc(5)]) {
      assert.ok((await opened(gzip, gzipSync(payload), behind)).members.every(({ way }) => way === undefined));
    }
  });
  test("one with a checksum of its header, a wrong one of its content, or the look of a disk may not", async () => {
    const packed = gzipSync(payload);
    const wrong = Buffer.from(packed);
    wrong.fill(0, wrong.length - 8);
    const checked = Buffer.concat([packed.subarray(0, 10), Buffer.alloc(2), packed.subarray(10)]);
    checked[3] = 2;
    // With a name in which a disk's signature stands where clamd looks for it.
    const named = Buffer.concat([
      packed.subarray(0, 10),
      Buffer.from(`${"n".repeat(502)}EFI PART\0`),
      packed.subarray(10),
    ]);
    named[3] = 8;
    for (const file of [wrong, checked, named]) {
      const { members } = await opened(gzip, file);
      assert.deepEqual(
        members.map(({ content, way }) => [content.toString(), way]),
        [[payload.toString(), undefined]],
      );
    }
  });
  test("larger than we hold in memory", async () => {
    const large = Buffer.alloc(3 * 1024 * 1024, "large");
    const result = await openContainer(gzip, gzipSync(large), { memberInMemoryBytes: 1024 * 1024 });
    assert.ok(result?.members.some(({ content }) => content.equals(large)));
    assert.equal(result?.outcome, "opened");
  });
});

test("a zlib stream that is cut off is not clean", async () => {
  const packed = deflateSync(payload);
  const result = await opened(zlib, packed.subarray(0, packed.length / 2));
  assert.deepEqual([result.outcome, result.place.sure], ["unreadable", true]);
  assert.ok(contents(result).join().length > 100);
});

test("a few bytes of old formats are no proof: noise behind them is none", () => {
  for (const prefix of ["1f9d90", "1f9d8c", "1f9e07", "785e", "789c", "7820", "68de", "5a59"])
    for (let index = 0; index < 200; index += 1) {
      const content = Buffer.concat([Buffer.from(prefix, "hex"), noise(index, 3000)]);
      const sure = containersIn(memoryBlob(content)).filter(({ place }) => place.sure);
      assert.deepEqual(sure, [], `${prefix} ${index}`);
    }
});

describe("zstd", () => {
  test("what is in frames that are to be skipped comes out too", async () => {
    const skipped = Buffer.concat([Buffer.from([0x50, 0x2a, 0x4d, 0x18, junk.length, 0, 0, 0]), junk]);
    const result = await opened(zstd, skipped, zstdCompressSync(payload));
    assert.deepEqual(contents(result), [junk.toString(), payload.toString()]);
    assert.deepEqual(result.rest, []);
  });
});

describe("brotli, which has no mark to be known by", () => {
  test("what stands behind it is left over, be it a byte or a text", async () => {
    const packed = brotliCompressSync(payload);
    for (const behind of [Buffer.from("x"), junk]) {
      const result = await opened(brotli, packed, behind);
      assert.deepEqual(contents(result), [payload.toString()]);
      assert.deepEqual(result.rest, [{ start: packed.length, end: packed.length + behind.length }]);
    }
  });
  test("is opened if it unpacks to its last byte", async () => {
    assert.deepEqual(contents(await opened(brotli, brotliCompressSync(payload))), [payload.toString()]);
  });
  test("is not taken for granted in text, and in noise hardly ever", async () => {
    const result = await openContainer(brotli, other);
    assert.ok(result === undefined || result.outcome === "unreadable");
    let taken = 0;
    for (let index = 0; index < 1000; index += 1) {
      const found = await openContainer(brotli, noise(index, 5000));
      if (found?.outcome !== "opened") continue;
      taken += 1;
      // It makes sense for a while: what stands behind that is still looked at.
      assert.deepEqual([found.rest.length, found.rest[0]?.end], [1, 5000]);
    }
    assert.ok(taken <= 10, `${taken}`);
  });
  test("is not charged to noise, of which an archive may hold thousands", async () => {
    for (let index = 0; index < 300; index += 1) {
      const content = noise(index, 2000);
      const result = await openContainer(brotli, content);
      assert.ok((result?.work ?? 0) <= 10 * content.length, `noise ${index}: ${result?.work} bytes of work`);
    }
  });
  test("is not clean if a short one is damaged at its end, and what came out before that is looked at", async () => {
    const text = noise(0, 200).toString("base64");
    const packed = brotliCompressSync(text);
    packed.fill(0xaa, packed.length - 5);
    assert.ok(packed.length < 500);
    const result = await opened(brotli, packed);
    assert.deepEqual([result.outcome, result.place.sure], ["unreadable", true]);
    assert.ok(contents(result).some((content) => content.startsWith(text.slice(0, 200))));
  });
  test("is opened however its beginning repeats itself", async () => {
    for (const spaces of [20, 100, 300]) {
      const packed = await flushed([...Array.from({ length: spaces }, () => Buffer.alloc(50, " ")), payload]);
      assert.ok(contents(await opened(brotli, packed)).some((content) => content.endsWith(payload.toString())));
    }
  });
  test("is beyond the limits if a long run comes out of a few bytes", async () => {
    const packed = brotliCompressSync(Buffer.concat([Buffer.from("a beginning"), Buffer.alloc(3_000_000)]));
    const result = await openContainer(brotli, packed, { memberInMemoryBytes: 1024 * 1024 });
    assert.equal(result?.outcome, "too-large");
  });
  test("is not clean if it is cut off or damaged, and what can be read comes out", async () => {
    const text = noise(0, 3000).toString("base64");
    const packed = brotliCompressSync(text);
    const cut = packed.subarray(0, packed.length / 2);
    for (const file of [cut, Buffer.concat([cut, Buffer.alloc(packed.length, 255)])]) {
      const result = await opened(brotli, file);
      assert.deepEqual([result.outcome, result.place.sure], ["unreadable", true]);
      assert.ok(contents(result).join().startsWith(text.slice(0, 1500)));
    }
  });
  test("is none in a run of a byte, which may be stored blocks in one another", async () => {
    for (let byte = 0; byte < 256; byte += 1) {
      const result = await openContainer(brotli, Buffer.alloc(1000, byte));
      assert.deepEqual(result?.members.map(({ content }) => content.length).filter((size) => size > 0) ?? [], []);
    }
  });
  test("is charged for what comes out of it in vain", async () => {
    const packed = brotliCompressSync(Buffer.concat([randomBytes(1000), Buffer.alloc(10_000_000)]));
    assert.ok((await opened(brotli, packed, junk)).work > 1_000_000);
  });
});

/** As a server writes it, piece by piece. */
async function flushed(pieces: readonly Buffer[]): Promise<Buffer> {
  const packer = createBrotliCompress();
  const packed = buffer(packer);
  for (const piece of pieces) {
    packer.write(piece);
    await new Promise<void>((done) => packer.flush(constants.BROTLI_OPERATION_FLUSH, done));
  }
  packer.end();
  return packed;
}

for (const [opener, pack, most] of [
  [gzip, gzipSync, 70 * 1024],
  [zstd, zstdCompressSync, 4 * 1024],
] as const) {
  test(`${opener.kind}: short streams one behind the other are not read to the end of the file for each`, async () => {
    const file = Buffer.concat(Array.from({ length: 3000 }, (_, index) => pack(Buffer.from(`${index}`.repeat(20)))));
    const content = memoryBlob(file);
    let read = 0;
    const bytes = (position: number, length: number): Buffer => {
      const found = content.bytes(position, length);
      read += found.length;
      return found;
    };
    const slice = (start: number, end: number): Blob => ({
      ...content.slice(start, end),
      bytes: (at, length) => bytes(start + at, Math.min(length, end - start - at)),
    });
    const budget = unpackBudget(FULL_LIMITS, file.length, () => false);
    const sink = { folder() {}, begin() {}, write() {}, end() {} };
    await opener.open({ ...content, inMemory: false, bytes, slice }, { sink, budget } as unknown as Tools);
    assert.ok(read > file.length && read < 3000 * most, `${read}`);
  });
}

describe("in the middle of something else", () => {
  const before = randomBytes(3000);
  test("a gzip stream", async () =>
    assert.ok(contents(await opened(embeddedGzip, before, gzipSync(payload))).includes(payload.toString())));
  test("what begins like a gzip stream by chance is none", async () => {
    for (const header of ["1f8b0800000000000003", "1f8b08e0123456781414"]) {
      const file = Buffer.concat([before, Buffer.from(header, "hex"), Buffer.from("07".repeat(50), "hex"), before]);
      assert.equal(await openContainer(embeddedGzip, file), undefined, header);
    }
  });
  test("what begins like a zstd frame and asks for more memory than there is says nothing", async () => {
    // A window of 2 TB, and a first block that leads to noise.
    const file = Buffer.concat([before, Buffer.from("28b52ffd00f8000100", "hex"), Buffer.alloc(3000, 0xff)]);
    assert.equal((await openContainer(embeddedZstd, file))?.outcome, "unreadable");
    const reserved = Buffer.concat([before, Buffer.from("28b52ffd0058ffffff", "hex"), Buffer.alloc(3000, 0xff)]);
    assert.equal(await openContainer(embeddedZstd, reserved), undefined);
  });
  test("a zstd frame", async () =>
    assert.ok(contents(await opened(embeddedZstd, before, zstdCompressSync(payload))).includes(payload.toString())));
});

describe("zlib with a dictionary that nobody has", () => {
  const packed = deflateSync(payload, { dictionary: Buffer.from("line 55433 of") });
  test("is not clean, and what can be read comes out", async () => {
    const result = await opened(zlibWithDictionary, packed);
    assert.equal(result.outcome, "unreadable");
    assert.match(contents(result).join(), /the payload/);
  });
  test("is not taken for one in a text, whatever it begins with", async () => {
    const prefixes = ["80", "8n", "(r", "(4", "X(", "Xf", "H,", "Hj", "hb", "h$", "x "];
    const texts = ["Xfce is a desktop environment for Unix. ".repeat(3)];
    for (const [at, prefix] of prefixes.entries())
      for (let index = 0; index < 50; index += 1) texts.push(prefix + noise(at * 50 + index, 31).toString("hex"));
    for (const text of texts) assert.equal(await openContainer(zlibWithDictionary, Buffer.from(text)), undefined, text);
  });
  test("is known if it is short, or was flushed and goes on", async () => {
    const dictionary = Buffer.from("a dictionary of words");
    const short = deflateSync(payload.subarray(0, 200), { dictionary });
    const flush = deflateSync(payload, { dictionary, finishFlush: constants.Z_SYNC_FLUSH });
    for (const file of [short, flush]) assert.equal((await opened(zlibWithDictionary, file)).outcome, "unreadable");
  });
  test("is not taken for one where only its two bytes are right", async () => {
    assert.equal(
      await openContainer(zlibWithDictionary, Buffer.concat([packed.subarray(0, 6), Buffer.alloc(500, 0xff)])),
      undefined,
    );
    assert.equal(await openContainer(zlibWithDictionary, deflateSync(payload)), undefined);
  });
});
