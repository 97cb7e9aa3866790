import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { brotliCompressSync, constants, deflateSync } from "node:zlib";
import { packedBy7z } from "../../../test/fixtures/archives.ts";
import { be32, type Container, glue, noise, u16 } from "../../../test/fixtures/corpus/container.ts";
import { containersOfAllKinds } from "../../../test/fixtures/corpus/corpus.ts";
import {
  asarOf,
  gitObjectHead,
  gitPackOf,
  lbrOf,
  macBinaryOf,
  woffOf,
} from "../../../test/fixtures/corpus/small-kinds.ts";
import { stored, zip as zipFile } from "../../../test/fixtures/zip-writer.ts";
import { type Opened, openContainer } from "../../../test/support/open-container.ts";
import { memoryBlob } from "../blob.ts";
import type { Opener } from "../opener.ts";
import { brotli } from "./brotli.ts";
import { asar, lbr } from "./bundles.ts";
import { gitPack } from "./git-pack.ts";
import { lzh } from "./lzh.ts";
import { macBinary } from "./macintosh.ts";
import { woff, woff2 } from "./packed-parts.ts";
import { embeddedKinds } from "./seven-zip-kinds.ts";
import { unopenedKinds } from "./unopened-kinds.ts";
import { zip } from "./zip.ts";

const payload: Buffer = Buffer.from("a payload of some length, and a little more of it\n".repeat(10));

async function opened(opener: Opener, content: Buffer): Promise<Opened> {
  const result = await openContainer(opener, content);
  assert.ok(result, "not recognised");
  return result;
}

const hasPayload = ({ members }: Opened): boolean => members.some(({ content }) => content.equals(payload));

test("members of a zip may be called as what every object has", async () => {
  for (const name of ["constructor", "toString", "valueOf", "__proto__"]) {
    const file = zipFile([stored(name, payload)]);
    const result = await opened(zip, file);
    assert.equal(result.outcome, "opened", name);
    assert.ok(hasPayload(result));
  }
});

test("a library of CP/M that is cut off is unreadable", async () => {
  const file = lbrOf(payload);
  assert.equal((await opened(lbr, file)).outcome, "opened");
  assert.equal((await opened(lbr, file.subarray(0, -200))).outcome, "unreadable");
});

test("a 7z behind a program that is cut off is in doubt, as its header has a checksum", async () => {
  const file = packedBy7z(payload, "7z");
  const program = Buffer.concat([Buffer.from("MZ"), Buffer.alloc(700, 0x90)]);
  const embedded = embeddedKinds.find(({ kind }) => kind === "7z");
  assert.ok(embedded);
  for (const [archive, outcome] of [
    [file, "opened"],
    [file.subarray(0, -20), "unreadable"],
  ] as const) {
    const result = await opened(embedded, Buffer.concat([program, archive]));
    assert.equal(result.outcome, outcome);
    assert.equal(result.place.sure, true);
  }
});

describe("an archive behind a program that 7-Zip does not open", () => {
  const ofKind = (kind: string, name: string): Container =>
    containersOfAllKinds.find((one) => one.kind === kind && one.name === name) as Container;
  for (const [kind, name, opener] of [
    ["7z by hand", "behind a program, its first checksum is wrong", "7z"],
    ["rar", "4, behind a program, its first checksum is wrong", "rar"],
    ["rar", "4, behind a program, cut off by its sizes", "rar"],
    ["cab", "behind a program, the place of its files is wrong", "cab"],
    ["arj, lzh, iso", "arj behind a program, cut off by its sizes", "arj"],
  ] as const) {
    test(`is in doubt where its structure makes sense: ${kind}, ${name}`, async () => {
      const file = memoryBlob(ofKind(kind, name).wrap(payload, "sample.txt"));
      const places = embeddedKinds.filter((one) => one.kind === opener).flatMap((one) => one.find(file));
      assert.deepEqual(
        places.map(({ sure }) => sure),
        [true],
      );
    });
  }
  test("is in doubt if it is an xz or a Rar 5 that is cut off", () => {
    const rar5 = ofKind("rar", "5, behind a program").wrap(payload, "sample.txt");
    const xz = glue("MZ", noise(500), packedBy7z(payload, "xz"));
    for (const [kind, file] of [
      ["rar", rar5],
      ["xz", xz],
    ] as const) {
      const cut = memoryBlob(file.subarray(0, -30));
      const places = embeddedKinds.filter((one) => one.kind === kind).flatMap((one) => one.find(cut));
      assert.deepEqual(
        places.map(({ sure }) => sure),
        [true],
      );
    }
  });
  test("is none where signatures stand in a program as its constants", () => {
    const signatures = [
      "7z\xbc\xaf\x27\x1c",
      "Rar!\x1a\x07\0",
      "Rar!\x1a\x07\x01\0",
      "MSCF",
      "MSCF\0\0\0\0",
      "\xfd7zXZ\0",
    ];
    for (const between of [Buffer.alloc(0), Buffer.alloc(60), Buffer.from("%s: not an archive\n\0")]) {
      const constants = signatures.map((signature) => glue(Buffer.from(signature, "latin1"), between));
      const program = memoryBlob(glue("MZ", noise(900), ...constants, noise(900, "more")));
      const sure = embeddedKinds.flatMap((one) => one.find(program)).filter((place) => place.sure);
      assert.deepEqual(sure, []);
    }
  });
});

describe("asar", () => {
  test("a list of more values than a heap holds is beyond the limits, and nothing is made of it", async () => {
    const list = Buffer.from(`{"files":[${"[],".repeat(1_500_000)}[]]}`);
    const head = Buffer.alloc(16);
    for (const [index, value] of [4, list.length + 8, list.length + 4, list.length].entries())
      head.writeUInt32LE(value, 4 * index);
    assert.equal((await opened(asar, glue(head, list))).outcome, "too-large");
  });
  test("a place may be a number, and white space may stand before the list", async () => {
    const files = { junk: { size: 7, offset: 0 }, a: { size: payload.length, offset: 7 } };
    assert.ok(hasPayload(await opened(asar, asarOf({ files }, Buffer.from("junk.. "), payload))));
    const list = ` ${JSON.stringify({ files: { a: { size: payload.length, offset: "0" } } })}`;
    const head = Buffer.alloc(16);
    for (const [index, value] of [4, list.length + 8, list.length + 4, list.length].entries())
      head.writeUInt32LE(value, 4 * index);
    assert.ok(hasPayload(await opened(asar, glue(head, list, payload))));
  });
  test("a place that programs read differently is not clean", async () => {
    const files = { a: { size: 10, offset: "1e1" } };
    assert.equal((await opened(asar, asarOf({ files }, payload))).outcome, "unreadable");
  });
});

test("a bundle of git may have more branches and tags than fit into the first bytes", async () => {
  const pack = gitPackOf(glue(gitObjectHead(3, payload.length), deflateSync(payload)));
  const lines = Array.from({ length: 2000 }, (_, index) => `${"a".repeat(40)} refs/tags/v${index}\n`).join("");
  assert.ok(hasPayload(await opened(gitPack, glue(`# v2 git bundle\n${lines}\n`, pack))));
});

describe("lzh", () => {
  const member = (further: number, content: Buffer): Buffer => {
    const chain = glue(...Array.from({ length: further }, (_, at) => glue("~zz", u16(at + 1 < further ? 5 : 0))));
    const sizes = Buffer.alloc(8);
    sizes.writeUInt32LE(content.length + chain.length, 0);
    sizes.writeUInt32LE(payload.length, 4);
    const head = glue("-lh0-", sizes, Buffer.from([0, 0, 0x21, 0, 0x20, 1, 1]), "a", u16(0), "U", u16(further ? 5 : 0));
    const sum = head.reduce((all, byte) => (all + byte) & 0xff, 0);
    return glue(Buffer.from([head.length, sum]), head, chain, content);
  };
  test("any number of further headers", async () => {
    assert.ok(hasPayload(await opened(lzh, member(70, payload))));
  });
  test("a stored member of two sizes comes out in both", async () => {
    assert.ok(hasPayload(await opened(lzh, member(0, glue(payload, "and what does not belong to it")))));
  });
});

test("MacBinary that was cut off comes out as far as it goes, and is not clean", async () => {
  const whole = macBinaryOf(payload, 0x763);
  const result = await opened(macBinary, whole.subarray(0, whole.length - 128));
  assert.equal(result.outcome, "unreadable");
  assert.ok(hasPayload(result));
});

describe("brotli", () => {
  test("with a window of more than 16 MiB", async () => {
    const params = { [constants.BROTLI_PARAM_LARGE_WINDOW]: 1, [constants.BROTLI_PARAM_LGWIN]: 30 };
    assert.ok(hasPayload(await opened(brotli, brotliCompressSync(Buffer.from(payload), { params }))));
  });
  test("that begins with a block that is passed over, or one that is not packed", async () => {
    const block = (size: number): Buffer => {
      const head = Buffer.alloc(3);
      head.writeUIntLE(((size - 1) << 3) | (1 << 19), 0, 3);
      return head;
    };
    const open = Buffer.alloc(3);
    open.writeUIntLE((block(payload.length).readUIntLE(0, 3) << 1) & 0xffffff, 0, 3);
    const skipped = Buffer.alloc(3);
    skipped.writeUIntLE(0b10_0_11_0_0 | (999 << 7), 0, 3);
    const END = Buffer.from([3]);
    assert.ok(hasPayload(await opened(brotli, glue(open, payload, END))));
    assert.ok(
      hasPayload(await opened(brotli, glue(skipped, Buffer.alloc(1000, 97), block(payload.length), payload, END))),
    );
  });
});

describe("fonts that are bombs are charged for what is made of them", () => {
  test("tables that share one damaged stream", async () => {
    // Behind what is whole stands a block of a kind that there is not.
    const packed = glue(
      deflateSync(Buffer.alloc(8_000_000), { finishFlush: constants.Z_SYNC_FLUSH }),
      Buffer.alloc(9, 7),
    );
    const count = 2;
    const head = woffOf(packed, 0).subarray(0, 44);
    head.writeUInt16BE(count, 12);
    const entry = glue("abcd", be32(44 + 20 * count), be32(packed.length), be32(9_000_000), be32(0));
    const result = await opened(woff, glue(head, ...Array<Buffer>(count).fill(entry), packed));
    assert.ok(result.work > count * 10_000_000, `${result.work}`);
  });
  test("a stream of brotli that becomes too much", async () => {
    const packed = brotliCompressSync(Buffer.alloc(70 * 1024 * 1024), {
      params: { [constants.BROTLI_PARAM_QUALITY]: 2 },
    });
    const head = Buffer.alloc(50);
    head.write("wOF2");
    head.writeUInt16BE(1, 12);
    head.writeUInt32BE(packed.length, 20);
    assert.equal((await opened(woff2, glue(head, packed))).outcome, "too-large");
  });
});

test("a text that begins with the letters of an archive is none", async () => {
  for (const start of ["paq8 is", "PAQ1 was", "PMagic", "AFF10 is", "DMS! they", "PP20", "StuffIt! the", "DGCA is"]) {
    const text = Buffer.from(`${start} a line of text\n`.repeat(20));
    for (const opener of unopenedKinds) assert.equal(await openContainer(opener, text), undefined, start);
  }
});
