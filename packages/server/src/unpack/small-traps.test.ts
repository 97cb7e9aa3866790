import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { crc32, deflateSync, gzipSync } from "node:zlib";
import { temporaryFolder } from "../../test/support/leftovers.ts";
import { FULL_LIMITS } from "../engines/threads/scan-limits.ts";
import { memoryBlob } from "./blob.ts";
import { unpackBudget } from "./budget.ts";
import { sevenZipProgram } from "./seven-zip.ts";
import { MARKS, NEEDLES } from "./signature-search.ts";
import { walk } from "./walk.ts";

/** Small files that are made to cost much: signatures over and over, each of which may begin a container. */

const sevenZip = sevenZipProgram();

interface Cost {
  finding: string | undefined;
  starts: number;
  members: number;
}

async function costOf(file: Buffer): Promise<Cost> {
  using folder = temporaryFolder();
  const counted = unpackBudget(FULL_LIMITS, file.length, () => false);
  let [starts, members] = [0, 0];
  const budget = {
    ...counted,
    addUnpackerStart(): void {
      counted.addUnpackerStart();
      starts += 1;
    },
    addMember(): void {
      counted.addMember();
      members += 1;
    },
  };
  const tools = { budget, sevenZip, folder: folder.path, ignored: new Set<string>() };
  const { doubt } = await walk(memoryBlob(file), { see() {} }, tools);
  return { finding: doubt?.finding, starts, members };
}

const latin1 = (text: string): Buffer => Buffer.from(text, "latin1");

function checksum(bytes: Buffer): Buffer {
  const sum = Buffer.alloc(4);
  sum.writeUInt32LE(crc32(bytes));
  return sum;
}

function header(size: number, fields: Record<number, number>, text: string, at = 0): Buffer {
  const bytes = Buffer.alloc(size);
  bytes.write(text, at, "latin1");
  for (const [offset, value] of Object.entries(fields)) bytes.writeUInt32LE(value, Number(offset));
  return bytes;
}

const sizes = header(20, { 8: 10 }, "");
const rar5 = Buffer.from([3, 1, 0, 0]);
const arj = header(34, {}, "\x60\xea\x1e\0\x1e");

/** Kinds that 7-Zip is asked to open in the middle of a content, recognised by their header. */
const HEADERS: Record<string, Buffer> = {
  "7z": Buffer.concat([latin1("7z\xbc\xaf\x27\x1c\0\x04"), checksum(sizes), sizes]),
  "rar 4": latin1("Rar!\x1a\x07\0\xcf\x90\x73\0\0\x0d\0\0\0\0\0\0\0"),
  "rar 5": Buffer.concat([latin1("Rar!\x1a\x07\x01\0"), checksum(rar5), rar5]),
  cab: header(44, { 8: 200, 16: 44, 24: 0x10103, 28: 1 }, "MSCF"),
  xz: Buffer.concat([latin1("\xfd7zXZ\0\0\x01"), checksum(Buffer.from([0, 1]))]),
  arj: Buffer.concat([arj, checksum(arj.subarray(4)), Buffer.alloc(2)]),
  nsis: header(28, { 4: 0xdeadbeef, 20: 500, 24: 5000 }, "NullsoftInst", 8),
  bzip2: latin1("BZh91AY&SYhsqs"),
  zstd: Buffer.from("28b52ffd2005090000ffff", "hex"),
};

/** Repeats parts up to a size; numbers between them make each place another content. */
function repeated(parts: readonly Buffer[], { bytes, before = "MZ\0" }: { bytes: number; before?: string }): Buffer {
  const all = [latin1(before)];
  let size = 0;
  for (let index = 0; size < bytes; index += 1) {
    const part = Buffer.concat([parts[index % parts.length] ?? Buffer.alloc(0), latin1(`${index}|`)]);
    all.push(part);
    size += part.length;
  }
  return Buffer.concat(all).subarray(0, bytes);
}

describe("the beginning of an archive that stands in a small file hundreds of times", () => {
  for (const [name, bytes] of Object.entries(HEADERS)) {
    test(`is beyond the limits, and none of them is opened: ${name}`, async () => {
      const { finding, starts } = await costOf(repeated([bytes], { bytes: 8000 }));
      assert.equal(finding, "scanner:limits-exceeded");
      assert.equal(starts, 0, "they were opened first");
    });
  }
  test("is found to be none where its header does not agree", async () => {
    const cost = await costOf(
      repeated([latin1("the bytes of NullsoftInst "), latin1("Rar!\x1a\x07 is rar ")], { bytes: 8000 }),
    );
    assert.deepEqual([cost.finding, cost.starts], [undefined, 0]);
  });
});

test("different archives that take turns share the starts of 7-Zip that a small file has", async () => {
  const { finding, starts } = await costOf(repeated(Object.values(HEADERS), { bytes: 6000 }));
  assert.equal(finding, "scanner:limits-exceeded");
  assert.ok(starts <= 50, `${starts} starts`);
});

test("streams in streams that reach to the end of a PDF are beyond the limits before they are a hundred thousand members", async () => {
  const object = latin1(
    "1 0 obj<</Type/ObjStm/N 9/First 9/Filter[/FlateDecode/ASCII85Decode/LZWDecode/RunLengthDecode]>>stream\n\n",
  );
  const { finding, members } = await costOf(Buffer.concat(Array(160).fill(object)));
  assert.equal(finding, "scanner:limits-exceeded");
  assert.ok(members < 15_000, `${members} members`);
});

test("no small file of signatures in any order costs more starts or members than its size allows", async () => {
  const atoms = [
    ...Object.values({ ...NEEDLES, ...MARKS }).map(latin1),
    ...Object.values(HEADERS),
    ...[gzipSync("a"), deflateSync("a"), latin1("Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\n")],
    ...["1 0 obj<</Filter/FlateDecode>>stream\n", "{\\rtf1{\\object\\objdata 01", "begin 644 a\nM"].map(latin1),
  ];
  let seed = 1;
  const below = (count: number): number => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * count);
  };
  for (let round = 0; round < 60; round += 1) {
    const parts = Array.from({ length: 1 + below(4) }, () => atoms[below(atoms.length)] ?? Buffer.alloc(0));
    const bytes = [1600, 8000, 30_000, 100_000][below(4)] ?? 0;
    const before = ["", "MZ\0", "a: b\n", "\x89PNG\r\n\x1a\n"][below(4)] ?? "";
    const { starts, members } = await costOf(repeated(parts, { bytes, before }));
    const what = `${before} ${parts.map((part) => part.toString("latin1")).join(" ")} in ${bytes} bytes`;
    assert.ok(starts <= 75 && members <= 21_000, `${starts} starts, ${members} members: ${what}`);
  }
});
