import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { type Opened, openContainer } from "../../../test/support/open-container.ts";
import { LimitExceeded } from "../budget.ts";
import type { Opener } from "../opener.ts";
import { lz4 } from "./lz4.ts";
import { lzop } from "./lzop.ts";
import { snappy } from "./snappy.ts";

const lines = (count: number): Buffer =>
  Buffer.from(Array.from({ length: count }, (_, line) => `line ${line % 50} of the sample\n`).join(""));
const packed = (...parts: string[]): Buffer => Buffer.from(parts.join(""), "base64");

/** 8,000 lines by `lz4 -9 -BD -B4 -BX --content-size`: blocks that refer to those before, with checksums. */
const BY_LZ4 = packed(
  "BCJNGFxAQKkCAAAAAADaDgIAAPEGbGluZSAwIG9mIHRoZSBzYW1wbGUKFQAfMRUAAR8yFQABHzMVAAEfNBUAAR81FQABHzYVAAEfNxUAAR84",
  "FQABHzm9AAIP0wADD9QAAh8x1QACHzHWAAIfMdcAAh8x2AACHzHZAAIfMdoAAh8x2wACHzHcAAIfMtwAAh8ysAEDD9wAAh8y3AACHzLcAAIf",
  "MtwAAh8y3AACHzLcAAIfMtwAAh8y3AACHzPcAAIfM9wAAh8zjQIDD9wAAh8z3AACHzPcAAIfM9wAAh8z3AACHzPcAAIfM9wAAh803AACHzTc",
  "AAIfNNwAAh80agMDD9wAAh803AACHzTcAAIfNNwAAh803AACHjTcAA9CBP//////////////////////////////////////////////////",
  "////////////////////////////////////////////////////////////////////////////////////////////////////////////",
  "////////////////////////////////////////////////////////////////////////////////////////////////////////////",
  "/////////////////////////////////////////////////////////////////////6BQNiBvZiDCO0eoCgEAAA9CBP//////////////",
  "////////////////////////////////////////////////////////////////////////////////////////////////////////////",
  "////////////////////////////////////////////////////////////////////////////////////////////////////////////",
  "////////////////////////////////////////////////////////////////////////////////////////////////////////////",
  "///oUGUgc2FtynhZNrMAAAAPQgT/////////////////////////////////////////////////////////////////////////////////",
  "////////////////////////////////////////////////////////////////////////////////////////////////////////////",
  "////////////////////////////////////0VBtcGxlCguo2ZgAAAAAI17IeQ==",
);
/** 120 lines by `lz4 -l`. */
const BY_OLD_LZ4 = packed(
  "AiFMGEQBAADxBmxpbmUgMCBvZiB0aGUgc2FtcGxlChUAHzEVAAEfMhUAAR8zFQABHzQVAAEfNRUAAR82FQABHzcVAAEfOBUAAR85FQABHzHT",
  "AAMP1AACHzHVAAIfMdYAAh8x1wACHzHYAAIfMdkAAh8x2gACHzHbAAIfMdwAAh8y3AACHzLcAAIfMtwAAh8y3AACHzLcAAIfMtwAAh8y3AAC",
  "HzLcAAIfMtwAAh8y3AACHzPcAAIfM9wAAh8z3AACHzPcAAIfM9wAAh8z3AACHzPcAAIfM9wAAh8z3AACHzPcAAIfNNwAAh803AACHzTcAAIf",
  "NNwAAh803AACHzTcAAIfNNwAAh803AACHzTcAAIfNNwAAg/bAAIP2gACD9kAAg/YAAMP2QMBD9YAAg/VAAIP1AACD9MAAg/SAAIPQgT/////",
  "/wZQbXBsZQo=",
);
/** 8,000 lines by `lzop -9`. */
const BY_LZOP_9 = packed(
  "iUxaTwANChoKEEAgoAlAAwkDAAABAACBpGr5r0AAAAAABXYudHh0WykG6gACqUAAAAR+Ou+MsiZsaW5lIDAgb2YgdGhlIHNhbXBsZQqRAjEy",
  "UQAyMlEAMzJRADQyUQA1MlEANjJRADcyUQA4MlEAOTPwAjRIAzNNAzEzUQMxM1UDMTNZAzEzXQMxM2EDMTNlAzEzaQMxM20DMjNtAzI0vAYz",
  "bQMyM20DMjNtAzIzbQMyM20DMjNtAzIzbQMyM20DMzNtAzMzbQMzNDAKM20DMzNtAzMzbQMzM20DMzNtAzMzbQMzM20DNDNtAzQzbQM0M20D",
  "NDSkDTNtAzQzbQM0M20DNDNtAzQzbQM0M2wDIAAAAAAAAADmBBEgAAAAAAAAAOYEESAAAAAAAAAA5gQRIAAAAAAAAADmBBEgAAAAAAAAAOYE",
  "ESAAAAAAAAAA5gQRIAAAAAAAAADmBBEgAAAAAAAAAOYEESAAAAAAAAAA5gQRIAAAAAAAAADmBBEgAAAAAAAAAOYEESAAAAAAAAAA5gQRIAAA",
  "AAAAAADmBBEgAAAAAAAAAOYEESAAAAAAAAAA5gQRIAAAAAAAAADmBBEgAAAAAAAAAOYEESAAAAAAAAAA5gQRIAAAAAAAAADmBBEgAAAAAAAA",
  "AOYEESAAAAAAAAAA5gQRIAAAAAAAAADmBBEgAAAAAAAAAOYEESAAAAAAAAAA5gQRIAAAAAAAAADmBBEgAAAAAAAAAOYEESAAAAAAAAAA5gQR",
  "IAAAAAAAAADmBBEgAAAAAAAAAOYEESAAAAAAAAAA5gQRIAAAAAAAAADmBBEgAAAAAAAAAOYEESAAAAAAAAAA5gQRIAAAAAAAAADmBBEgAAAA",
  "AAAAAOYEESAAAAAAAAAA5gQRIAAAAAAAAADmBBEgAAAAAAAAAOYEESAAAAAAAAAA5gQRIAAAAAAAAADmBBEgAAAAAAAAAOYEESAAAAAAAAAA",
  "5gQRIAAAAAAAAADmBBEgAAAAAAAAAOYEESAAAAAAAAAA5gQRIAAAAAAAAADmBBEgAAAAAAAAAOYEESAAAAAAAAAA5gQRIAAAAAAAAADmBBEg",
  "AAAAAAAAAOYEESAAAAAAAAAA5gQRIAAAAAAAAADmBBEgAAAAAAAAAOYEESAAAAAAAAAA5gQRIAAAAAAAAADmBBEgAAAAAAAAAOYEESAAAAAA",
  "AAAA5gQRIAAAAAAAAADmBBEgAAAAAAAAAOYEESAAAAAAAAAA5gQRIAAAAAAAAADmBBEgAAAAAAAAAOYEESAAAAAAAAAA5gQRIAAAAAAAAADm",
  "BBEgAAAAAAAAAOYEESAAAAAAAAAA5gQRIAAAAAAAAADmBBEgAAAAAAAAAOYEESAAAAAAAAAA5gQRIAAAAAAAAADmBBEgAAAAAAAAAOYEESAA",
  "AAAAAAAA5gQRIAAAAAAAAADmBBEgAAAAAAAAAOYEESAAAAAAAAAA5gQRIAAAAAAAAADmBBEgAAAAAAAAAOYEESAAAAAAAAAA5gQRIAAAAAAA",
  "AADmBBEgAAAAAAAAAOYEESAAAAAAAAAA5gQRIAAAAAAAAADmBBEgAAAAAAAAAOYEESAAAAAAAAAA5gQRIAAAAADcBBERAAAAAAAA",
);
/** 120 lines by `lzop -1`. */
const BY_LZOP = packed(
  "iUxaTwANChoKEEAgoAlAAgEDAAABAACBpGr5r0AAAAAABXcudHh0Wl4G4gAACjIAAAETnbpZLAADbGluZSAwIG9mIHRoZSBzYW1wbGUKkQIx",
  "MlEAMjJRADMyUQA0MlEANTJRADYyUQA3MlEAODJRADkyUQAxNEgDM00DMTNRAzEzVQMxM1kDMTNdAzEzYQMxM2UDMTNpAzEzbQMyM20DMjNt",
  "AzIzbQMyM20DMjNtAzIzbQMyM20DMjNtAzIzbQMyM20DMzNtAzMzbQMzM20DMzNtAzMzbQMzM20DMzNtAzMzbQMzM20DMzNtAzQzbQM0M20D",
  "NDNtAzQzbQM0M20DNDNtAzQzbQM0M20DNDNtAzQzbAMzaAMzZAMzYAM0XAMyYA8zVAMzUAMzTAMzSAMzRAMgAAAAAO8EEQpmIHRoZSBzYW1w",
  "bGUKEQAAAAAAAA==",
);
/** 120 lines by the Rust library of Snappy. */
const BY_SNAPPY = packed(
  "/wYAAHNOYVBwWQBxAQBAag2XshRQbGluZSAwIG9mIHRoZSBzYW1wbGUKBRUAMU4VAAAyThUAADNOFQAANE4VAAA1ThUAADZOFQAAN04VAAA4",
  "ThUAADlOFQAAMVbTAFLUAAAxUtUAADFS1gAAMVLXAAAxUtgAADFS2QAAMVLaAAAxUtsAADFS3AAAMlLcAAAyUtwABDIyTh4BADJS3AAAMlLc",
  "AAAyUtwAADJS3AAAMlLcAAAyUtwAADJS3AAAM1LcAAAzUtwAADNS3AAAM1LcAAAzUtwAADNS3AAAM1LcAAAzUtwAADNS3AAAM1LcAAA0UtwA",
  "ADRS3AAANFLcAAA0UtwAADRS3AAANFLcAAA0UtwAADRS3AAANFLcAAA0UtwAADBOZwJS2gBS2QBW2ABOVABS1gBS1QBS1ABS0wBS0gD+QgT+",
  "QgT+QgT+QgT+QgT+QgT+QgT+QgT+QgT+QgT+QgT+QgT+QgT+QgT+QgT+QgT+QgT+QgT+QgT+QgRiQgQ=",
);

const u16 = (value: number): Buffer => Buffer.of(value & 0xff, (value >> 8) & 0xff);
const u32 = (value: number): Buffer => Buffer.concat([u16(value), u16(value >>> 16)]);

/** A frame with blocks as they are given, and no checksums. */
const frame = (...blocks: Buffer[]): Buffer =>
  Buffer.concat([
    u32(0x184d2204),
    Buffer.of(0x60, 0x40, 0),
    ...blocks.flatMap((block) => [u32(block.length), block]),
    u32(0),
  ]);
const plainFrame = (content: Buffer): Buffer =>
  Buffer.concat([u32(0x184d2204), Buffer.of(0x60, 0x40, 0), u32(content.length + 2 ** 31), content, u32(0)]);
const skippable = (content: Buffer): Buffer => Buffer.concat([u32(0x184d2a53), u32(content.length), content]);

async function opened(opener: Opener, ...pieces: Uint8Array[]): Promise<Opened> {
  const result = await openContainer(opener, Buffer.concat(pieces));
  assert.ok(result, `no ${opener.kind} was found`);
  assert.ok(result.place.sure);
  return result;
}

const contents = ({ members }: Opened): string[] => members.map(({ content }) => content.toString("latin1"));

describe("what the programs themselves have packed comes out byte for byte", () => {
  const samples: [name: string, opener: Opener, file: Buffer, count: number][] = [
    ["lz4", lz4, BY_LZ4, 8000],
    ["lz4 of the old format", lz4, BY_OLD_LZ4, 120],
    ["lzop, best", lzop, BY_LZOP_9, 8000],
    ["lzop, fastest", lzop, BY_LZOP, 120],
    ["Snappy", snappy, BY_SNAPPY, 120],
  ];
  for (const [name, opener, file, count] of samples) {
    test(name, async () => {
      const result = await opened(opener, file);
      assert.equal(result.outcome, "opened");
      assert.ok(contents(result)[0] === lines(count).toString());
      assert.equal(result.members.length, 1);
      assert.deepEqual(result.rest, []);
    });

    test(`${name}: what stands behind it is left over`, async () => {
      const result = await opened(opener, file, Buffer.from("something else, which is no frame"));
      assert.equal(result.outcome, "opened");
      assert.deepEqual(result.rest, [{ start: file.length, end: file.length + 33 }]);
    });

    test(`${name}: cut in the middle it is unreadable, and gives what there is`, async () => {
      const result = await opened(opener, file.subarray(0, file.length * 0.7));
      assert.equal(result.outcome, "unreadable");
      const content = contents(result)[0] ?? "";
      assert.ok(content.length > 50 && lines(count).toString().startsWith(content));
    });

    if (opener === lz4)
      test(`${name}: without its last bytes it is unreadable`, async () => {
        const isOld = file === BY_OLD_LZ4;
        // The old format has no checksum: what is left of the size of a further block tells.
        const cut = isOld ? Buffer.concat([file, Buffer.of(1, 0)]) : file.subarray(0, -1);
        assert.equal((await opened(opener, cut)).outcome, "unreadable");
      });

    test(`${name}: any damage and any cut is survived`, async () => {
      for (let at = 12; at < file.length; at += 5) {
        const damaged = Buffer.from(file);
        damaged[at] = (damaged[at] ?? 0) ^ 0x5a;
        await openContainer(opener, damaged);
        await openContainer(opener, file.subarray(0, at));
      }
    });
  }

  for (const [opener, file, count] of [
    [lz4, BY_LZ4, 8000],
    [lzop, BY_LZOP, 120],
  ] as const) {
    test(`several ${opener.kind} files in one: together, and each by itself`, async () => {
      const text = lines(count).toString();
      const result = await opened(opener, file, file);
      assert.ok(contents(result).every((content, index) => content === (index === 0 ? text + text : text)));
      assert.equal(result.members.length, 3);
      assert.deepEqual(result.rest, []);
    });
  }
});

describe("lz4", () => {
  const noise = randomBytes(70_000);

  test("blocks that are not packed", async () => {
    assert.ok((await opened(lz4, plainFrame(noise))).members[0]?.content.equals(noise));
  });

  test("a frame to be skipped is passed over, and what is in it is left over", async () => {
    const result = await opened(lz4, skippable(noise.subarray(0, 100)), plainFrame(noise), skippable(noise));
    assert.equal(result.members.length, 1);
    assert.ok(result.members[0]?.content.equals(noise));
    const end = 108 + plainFrame(noise).length;
    assert.deepEqual(result.rest, [
      { start: 0, end: 108 },
      { start: end, end: end + 8 + noise.length },
    ]);
  });

  test("a frame to be skipped alone is none of ours", async () => {
    assert.equal(await openContainer(lz4, skippable(noise)), undefined);
  });

  test("a new frame does not refer to the one before", async () => {
    const literals = Buffer.concat([Buffer.of(0x40), Buffer.from("abcd")]);
    const repeats = Buffer.concat([Buffer.of(0x10), Buffer.from("x"), u16(3)]);
    assert.equal(
      (await opened(lz4, frame(Buffer.concat([Buffer.of(0x40), Buffer.from("abcd"), u16(3)])))).outcome,
      "opened",
    );
    assert.equal((await opened(lz4, frame(literals, repeats))).outcome, "opened");
    assert.equal((await opened(lz4, frame(literals), frame(repeats))).outcome, "unreadable");
  });

  test("a reference to before the beginning, or to nowhere, is damage", async () => {
    for (const distance of [0, 2, 65_535]) {
      const block = Buffer.concat([Buffer.of(0x10), Buffer.from("a"), u16(distance)]);
      assert.equal((await opened(lz4, frame(block))).outcome, "unreadable");
    }
  });

  test("runs over the edges of what is kept in memory", async () => {
    const run = Buffer.concat([Buffer.of(0x3f), Buffer.from("abc"), u16(3), Buffer.alloc(8000, 255), Buffer.of(7)]);
    const content = Buffer.from("abc".repeat(1_000_000)).subarray(0, 3 + 19 + 8000 * 255 + 7);
    assert.ok((await opened(lz4, frame(run))).members[0]?.content.equals(content));
  });

  test("more frames than are given one by one come out as one file, and the first alone", async () => {
    const frames = Array.from({ length: 200 }, (_, index) => plainFrame(Buffer.from(`content ${index}\n`)));
    const result = await opened(lz4, ...frames);
    assert.equal(result.members.length, 2);
    assert.match(contents(result)[0] ?? "", /^content 0\ncontent 1\n.*content 199\n$/s);
    assert.equal(contents(result)[1], "content 0\n");
  });

  test("a block larger than any is damage", async () => {
    assert.equal((await opened(lz4, plainFrame(Buffer.alloc(17 * 1024 * 1024)))).outcome, "unreadable");
  });

  test("the work is in proportion, whatever the blocks", async () => {
    const works = await Promise.all(
      [2000, 20_000].map(async (count) => {
        const file = frame(...Array.from({ length: count }, () => Buffer.of(0x10, 0x61)));
        return ((await openContainer(lz4, file))?.work ?? 0) / file.length;
      }),
    );
    assert.ok(
      works.every((work) => work > 0 && work < 20),
      String(works),
    );
  });

  test("what the sink throws comes through", async () => {
    const tools = { sink: { folder() {}, begin() {}, write: () => assert.fail("full"), end() {} } };
    const { memoryBlob } = await import("../blob.ts");
    assert.throws(() => lz4.open(memoryBlob(BY_LZ4), { ...tools, budget: { addWork() {} } } as never), /full/);
    const broke = (): never => {
      throw new LimitExceeded("work");
    };
    const sink = { folder() {}, begin() {}, write() {}, end() {} };
    for (const [opener, file] of [
      [lz4, BY_LZ4],
      [lzop, BY_LZOP],
      [snappy, BY_SNAPPY],
    ] as const) {
      const budget = { addWork: broke, limits: { memberInMemoryBytes: 1024 * 1024 } };
      assert.throws(() => opener.open(memoryBlob(file), { sink, budget } as never), LimitExceeded);
    }
  });
});

describe("lzop and Snappy", () => {
  test("a method of lzop that nobody knows: nothing comes out, and it says so", async () => {
    const other = Buffer.from(BY_LZOP);
    other[15] = 77;
    assert.equal((await opened(lzop, other)).outcome, "unreadable");
  });

  /** A file of lzop with one block, which is three bytes for the end of it longer than what is given. */
  function lzopFile(size: number, ...block: Buffer[]): Buffer {
    const lzo = Buffer.concat([...block, Buffer.of(0x11, 0, 0)]);
    const sizes = Buffer.alloc(8);
    sizes.writeUInt32BE(size);
    sizes.writeUInt32BE(lzo.length, 4);
    const magic = Buffer.from("\x89LZO\0\r\n\x1a\n\x10\x30\x20\xa0\x09\x40\x01\x05", "latin1");
    return Buffer.concat([magic, Buffer.alloc(4 * 4 + 1 + 4), sizes, lzo, Buffer.alloc(4)]);
  }
  /** A run of literals, and its length in front. */
  const run = (content: Buffer): Buffer => {
    const more = content.length - 3 - 15 - 1;
    return Buffer.concat([Buffer.alloc(1 + Math.floor(more / 255)), Buffer.of(1 + (more % 255)), content]);
  };

  test("references of LZO that reach far back, and short ones behind a run", async () => {
    const content = randomBytes(45_000);
    const far = Buffer.of(0x10 | 8 | 3, ...u16((40_000 - 0x8000) << 2));
    const near = Buffer.of(0x04 | 1, 0x10, 0x7a);
    const repeated = content.subarray(5000, 5005);
    const [first, second] = [lzopFile(60_000, run(content), far), lzopFile(60_000, run(content), near)];
    assert.ok((await opened(lzop, first)).members[0]?.content.equals(Buffer.concat([content, repeated])));
    const from = content.length - (2049 + 1 + 0x10 * 4);
    const expected = Buffer.concat([content, content.subarray(from, from + 3), Buffer.from("z")]);
    assert.ok((await opened(lzop, second)).members[0]?.content.equals(expected));
  });

  test("references of Snappy in each of their lengths, and damaged ones", async () => {
    const content = randomBytes(900);
    const chunk = (...references: number[]): Buffer => {
      const block = Buffer.concat([Buffer.of(0xff, 0x7f, 61 << 2, ...u16(899)), content, Buffer.from(references)]);
      const size = block.length + 4;
      return Buffer.concat([
        Buffer.from("\xff\x06\0\0sNaPpY\0", "latin1"),
        Buffer.of(...u16(size), 0, 0, 0, 0, 0),
        block,
      ]);
    };
    const repeated = content.subarray(900 - 0x234, 900 - 0x234 + 6);
    for (const reference of [
      [1 | (2 << 2) | (2 << 5), 0x34],
      [2 | (5 << 2), 0x34, 2],
      [3 | (5 << 2), 0x34, 2, 0, 0],
    ]) {
      const result = await opened(snappy, chunk(...reference));
      assert.equal(result.outcome, "opened");
      assert.ok(result.members[0]?.content.equals(Buffer.concat([content, repeated])));
    }
    for (const reference of [
      [2, 0, 16],
      [2, 0, 0],
      [2, 1],
      [3, 1, 0, 0],
    ]) {
      const result = await opened(snappy, chunk(...reference));
      assert.equal(result.outcome, "unreadable");
      assert.ok(result.members[0]?.content.equals(content));
    }
  });

  test("chunks of Snappy that are not packed, padding, and a stream behind another", async () => {
    const start = Buffer.from("\xff\x06\0\0sNaPpY", "latin1");
    const chunk = (type: number, body: Buffer): Buffer =>
      Buffer.concat([Buffer.of(type, body.length & 0xff, body.length >> 8, 0), body]);
    const noise = randomBytes(3000);
    const plain = chunk(1, Buffer.concat([Buffer.alloc(4), noise]));
    const result = await opened(snappy, start, chunk(0xfe, Buffer.alloc(20)), plain, start, plain);
    assert.ok(result.members[0]?.content.equals(Buffer.concat([noise, noise])));
    assert.deepEqual(result.rest, []);
    const hidden = await opened(snappy, start, plain, chunk(0x99, noise));
    assert.equal(hidden.outcome, "opened");
    assert.deepEqual(hidden.rest, [{ start: 10 + plain.length, end: 10 + plain.length + 3004 }]);
  });
});
