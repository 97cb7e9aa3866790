import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { memoryBlob } from "../blob.ts";
import { LimitExceeded, type UnpackLimits, unpackBudget } from "../budget.ts";
import type { Opener, Outcome, Tools } from "../opener.ts";
import { decodeLzma } from "./lzma.ts";
import { lzip, lzmaAlone } from "./lzma-alone.ts";

const LIMITS: UnpackLimits = {
  layers: 17,
  members: 1000,
  membersFrom: 1000,
  bytesPerMember: 1,
  unpackedBytes: 3_000_000,
  ratio: 1e9,
  ratioFromBytes: 1e9,
  workRatio: 40,
  workFromBytes: 1e6,
  unpackerStarts: 48,
  bytesPerUnpackerStart: 4096,
  unpackerBytes: 64 * 1024,
  memberInMemoryBytes: 1e6,
  milliseconds: 1e9,
};

function open(opener: Opener, file: Uint8Array): { outcome: Outcome; contents: Buffer[]; work: number } {
  const contents: Buffer[] = [];
  let pieces: Buffer[] = [];
  let work = 0;
  const counted = unpackBudget(LIMITS, file.length, () => false);
  const budget: Tools["budget"] = {
    ...counted,
    addWork(count) {
      work += count;
      counted.addWork(count);
    },
  };
  const sink: Tools["sink"] = {
    folder() {},
    begin() {
      pieces = [];
    },
    write(bytes) {
      budget.addBytes(bytes.length);
      pieces.push(Buffer.from(bytes));
    },
    end: () => void contents.push(Buffer.concat(pieces)),
  };
  const outcome = opener.open(memoryBlob(file), { sink, budget } as Tools) as Outcome;
  return { outcome, contents, work };
}

const isSure = (opener: Opener, file: Uint8Array): boolean | undefined => opener.find(memoryBlob(file))[0]?.sure;

const TEXT = Array.from({ length: 24 }, (_, index) => `line ${index * index} of a harmless text\n`).join("");
/** TEXT, packed by xz with other properties each time. */
const PACKED: Record<string, string> = {
  "lc=3,lp=0,pb=2":
    "XQAAgAD//////////wA2GkofCKAmA00Gne/tiaGCGWQz0LcX8i/7S1qUoFaxngSHHqNkqnFwnKzDS32LefgwSe1ZihB+9SjfChLPc85PDoN6MlBLDHCQHRtmTv5oXNECQoSZTPAPGuHxXKc3KuRcSfa9aF4XQlkv4pmTcu5z//5cT8U=",
  "lc=0,lp=2,pb=0":
    "EgAAgAD//////////wA2Gx0U3xHmA2xIx2AQLqmAzwhGkuYWKBCAcfWQ3sfRS40gEgSj43eeFuMR8lQ/IgKVXnfWcKKa2xfBRLgCP3xh4NO51241ZPOcSJdOX1+CKEU3l1YvRHyKu96+6VG4+3d0K66tQYWJPpQuJBHvfDCOVnZwv/9sz94A",
  "lc=1,lp=3,pb=4 and a dictionary of 4 KB":
    "0AAQAAD//////////wA2GknGUQDAQG8zxh72vOESbkebWCQL021U3fDcYeUkGWKBy/2G8bXxFnEIrVTHP9Rp2BuLLbigVdqzHko/lvdiSqkMeBsnXU3C2g+P0pFvaPduIuEQM6O6Fu3uU2nXJw1IPB7fg92aWEKS2aRhkB9ylbphUj///6TXJ5M=",
  "lc=4,lp=0,pb=1":
    "MQAAgAD//////////wA2GkqQPe9YpI9tgr1Xi7TcJsjzg5b5R/gy4omSruwveTbCJy+dkXqcfeUIuZB1dT1s6tVu96dUA//gb1EMn3TltcHMfDndK7WQ0xCTumby9gNubCH8L+/RQJlL8uO7fIZYkv/LdXyoBYT602ElZAlhEt///Vt5aA==",
};
/** Some noise, a hundred thousand zeros, and the same noise again. */
const FAR_BACK =
  "XQAAgAD//////////wAKnYdiNaVgXTcTcMQYEbd+8oddZvNGAwOlFtK70ULT66I+9uOtZE8Q80tuzZM6/paEVDJi+Gwm/2x/aENHYsdS9svIBtbL/2cORijVjekOEezEdXITmYT+DoNuY+c3+rvDPlZBpJvqacGZtDQCK4hqLCA/zFqajUqD+jyttSwUg5howwPz7tCkiAZ4oWq5TCkEWiL2YGyBFEwlsUoz///e+VSg";
const LZIP =
  "TFpJUAEMADYaSh8IoCYDTQad7+2JoYIZZDPQtxfyL/tLWpSgVrGeBIcepBUKvkcKRSK66vPhrbHCHza/nPKq0ES/HNr2m5I3/kodYBDnfkZFDlYdpnYAh3Z5sm0Xb7KsgkWLdeKqDLlCLJRljvPYgcMd98Js+f//9IK5sCnhU56SAgAAAAAAAJAAAAAAAAAA";

/** The same in every run. */
function noiseOf(seed: number): Buffer {
  return Buffer.concat(
    Array.from({ length: 20 }, (_, index) => createHash("sha256").update(`${seed} ${index}`).digest()),
  );
}

const usual = (): Buffer => Buffer.from(PACKED["lc=3,lp=0,pb=2"] ?? "", "base64");

/** Packs without a marker at the end, and without ever referring back: literals, and after them `repeats` times the last byte. */
function literalsOnly(
  content: Uint8Array,
  { lc, lp, repeats = 0 }: { lc: number; lp: number; repeats?: number },
): Buffer {
  const out: number[] = [];
  const probabilities = new Map<string, number>();
  let low = 0n;
  let range = 0xffff_ffffn;
  const shift = (): void => {
    out.push(Number((low >> 24n) & 0xffn));
    if (low > 0xffff_ffffn) {
      let carry = out.length - 2;
      while (out[carry] === 0xff) {
        out[carry] = 0;
        carry -= 1;
      }
      out[carry] = (out[carry] ?? 0) + 1;
    }
    low = (low & 0xff_ffffn) << 8n;
  };
  const bit = (name: string, value: number): void => {
    const probability = probabilities.get(name) ?? 1024;
    const bound = (range >> 11n) * BigInt(probability);
    if (value) {
      low += bound;
      range -= bound;
    } else range = bound;
    probabilities.set(name, value ? probability - (probability >> 5) : probability + ((2048 - probability) >> 5));
    while (range < 0x100_0000n) {
      range <<= 8n;
      shift();
    }
  };
  out.push(0);
  content.forEach((byte, at) => {
    bit(`match 0`, 0);
    const context = `${at & ((1 << lp) - 1)} ${(content[at - 1] ?? 0) >> (8 - lc)}`;
    for (let symbol = 1, i = 7; i >= 0; i -= 1) {
      bit(`${context} ${symbol}`, (byte >> i) & 1);
      symbol = (symbol << 1) | ((byte >> i) & 1);
    }
  });
  for (let i = 0, state = 0; i < repeats; i += 1) {
    // The longest repetition of the last byte: 273 of them.
    bit(`match ${state}`, 1);
    bit(`rep ${state}`, 1);
    bit(`rep0 ${state}`, 0);
    bit(`long ${state}`, 1);
    bit("length", 1);
    bit("longer", 1);
    for (let symbol = 1, j = 0; j < 8; j += 1, symbol = (symbol << 1) | 1) bit(`long ${symbol}.`, 1);
    state = state < 7 ? 8 : 11;
  }
  for (let i = 0; i < 4; i += 1) shift();
  const header = Buffer.alloc(13);
  header.writeUInt8(lp * 9 + lc);
  header.writeUInt32LE(0xffff_ffff, 1);
  header.writeUInt32LE(content.length + repeats * 273, 5);
  return Buffer.concat([header, Buffer.from(out)]);
}

describe("a file of LZMA alone", () => {
  for (const [name, packed] of Object.entries(PACKED)) {
    test(`is known and decoded: ${name}`, () => {
      const file = Buffer.from(packed, "base64");
      const behind = Buffer.concat([file, Buffer.from("something behind it")]);
      assert.equal(isSure(lzmaAlone, behind), true);
      const { outcome, contents } = open(lzmaAlone, behind);
      assert.deepEqual(contents.map(String), [TEXT]);
      assert.deepEqual(outcome, { kind: "opened", covered: [{ start: 0, end: file.length }] });
    });
  }

  test("of a stated size, with a marker and without one, and with the largest tables", () => {
    const file = usual();
    file.writeBigUInt64LE(BigInt(TEXT.length), 5);
    assert.equal(isSure(lzmaAlone, file), true);
    assert.deepEqual(open(lzmaAlone, file).outcome, { kind: "opened", covered: [{ start: 0, end: file.length }] });
    const content = Buffer.concat([Buffer.from("to "), randomBytes(2000)]);
    for (const [lc, lp] of [
      [8, 4],
      [0, 0],
      [3, 1],
    ] as const) {
      const made = literalsOnly(content, { lc, lp });
      assert.equal(isSure(lzmaAlone, made), true);
      const { outcome, contents } = open(lzmaAlone, Buffer.concat([made, Buffer.from("behind")]));
      assert.ok(contents[0]?.equals(content));
      assert.deepEqual(outcome, { kind: "opened", covered: [{ start: 0, end: made.length }] });
    }
    assert.equal(isSure(lzmaAlone, literalsOnly(Buffer.from("short"), { lc: 3, lp: 0 })), true);
  });

  test("is told from everything else", () => {
    for (let i = 0; i < 3000; i += 1) {
      const noise = noiseOf(i);
      noise[0] = i % 225;
      noise.fill(i % 2 ? 0xff : 0, 5, 13);
      noise[6] = i % 2 ? 0xff : 3;
      noise[13] = 0;
      assert.equal(isSure(lzmaAlone, noise), undefined);
    }
    assert.equal(isSure(lzmaAlone, Buffer.alloc(5000)), undefined);
    const program = Buffer.alloc(5000);
    program.set(Buffer.from("7f454c4602010100000000000000000003003e0001000000", "hex"));
    assert.equal(isSure(lzmaAlone, program), undefined);
    const zeros = Buffer.alloc(5000);
    zeros[5] = 7;
    assert.equal(isSure(lzmaAlone, zeros), undefined);
    assert.equal(isSure(lzmaAlone, Buffer.from("]")), undefined);
  });

  test("one that begins with nothing but zeros is tried", () => {
    const zeros = Buffer.concat([Buffer.alloc(40_000), Buffer.from("and then a text of some length")]);
    const made = literalsOnly(zeros, { lc: 0, lp: 0 });
    assert.notEqual(isSure(lzmaAlone, made), undefined);
    assert.ok(open(lzmaAlone, made).contents[0]?.equals(zeros));
  });

  test("one that is cut or damaged gives what came before, and is unreadable", () => {
    const content = randomBytes(3000);
    const made = literalsOnly(content, { lc: 3, lp: 0 });
    assert.equal(isSure(lzmaAlone, made.subarray(0, 2000)), true);
    const cut = open(lzmaAlone, made.subarray(0, 2000));
    assert.equal(cut.outcome.kind, "unreadable");
    assert.ok((cut.contents[0]?.length ?? 0) > 1500);
    assert.ok(content.subarray(0, 1500).equals(cut.contents[0]?.subarray(0, 1500) ?? Buffer.alloc(0)));
    const damaged = Buffer.concat([made.subarray(0, 1000), Buffer.alloc(2000, 0xff)]);
    assert.equal(open(lzmaAlone, damaged).outcome.kind, "unreadable");
  });

  test("a header that asks for 4 GiB costs nothing, and what swells is ended by the budget", () => {
    const made = literalsOnly(Buffer.from("a"), { lc: 3, lp: 0, repeats: 1000 });
    const { outcome, contents, work } = open(lzmaAlone, made);
    assert.equal(outcome.kind, "opened");
    assert.equal(contents[0]?.toString(), "a".repeat(273_001));
    assert.ok(work <= made.length, "only what is read is work");
    assert.throws(
      () => open(lzmaAlone, literalsOnly(Buffer.from("a"), { lc: 3, lp: 0, repeats: 12_000 })),
      LimitExceeded,
    );
  });

  test("what refers back farther than the memory reaches is too large", () => {
    const noise = createHash("sha512").update("far back").digest();
    const content = Buffer.concat([noise, Buffer.alloc(100_000), noise]);
    const file = Buffer.from(FAR_BACK, "base64");
    assert.equal(open(lzmaAlone, file).outcome.kind, "too-large");
    const pieces: Buffer[] = [];
    const end = decodeLzma(memoryBlob(file), 13, {
      properties: { lc: 3, lp: 0, pb: 2, dictionaryBytes: 1 << 23 },
      memoryBytes: 1 << 23,
      write: (bytes) => void pieces.push(Buffer.from(bytes)),
      charge() {},
    });
    assert.equal(end.kind, "marker");
    assert.ok(Buffer.concat(pieces).equals(content));
  });
});

describe("a file of lzip", () => {
  const file = Buffer.from(LZIP, "base64");

  test("all its members are one content, and what follows is left over", () => {
    assert.equal(isSure(lzip, file), true);
    const { outcome, contents } = open(lzip, Buffer.concat([file, file, Buffer.from("LZI")]));
    assert.deepEqual(contents.map(String), [TEXT + TEXT]);
    assert.deepEqual(outcome, { kind: "opened", covered: [{ start: 0, end: 2 * file.length }] });
  });

  test("a wrong checksum, an end too early and other damage make it unreadable", () => {
    const wrong = Buffer.from(file);
    wrong.writeUInt32LE(7, file.length - 20);
    assert.equal(open(lzip, wrong).outcome.kind, "unreadable");
    assert.deepEqual(open(lzip, wrong).contents.map(String), [TEXT]);
    assert.equal(open(lzip, file.subarray(0, -3)).outcome.kind, "unreadable");
    assert.equal(open(lzip, file.subarray(0, 90)).outcome.kind, "unreadable");
    assert.equal(isSure(lzip, Buffer.from("LZIP is a program")), undefined);
  });

  test("very many members are charged for, each", () => {
    const members = Buffer.concat(Array.from({ length: 200 }, () => file));
    assert.throws(() => open(lzip, members), LimitExceeded);
  });
});
