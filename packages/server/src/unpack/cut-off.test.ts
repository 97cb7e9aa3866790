import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { be32, glue, noise, padTo, u32, u64 } from "../../test/fixtures/corpus/container.ts";
import { containersOfAllKinds } from "../../test/fixtures/corpus/corpus.ts";
import { temporaryFolder } from "../../test/support/leftovers.ts";
import { FULL_LIMITS } from "../engines/threads/scan-limits.ts";
import { memoryBlob } from "./blob.ts";
import { unpackBudget } from "./budget.ts";
import { sevenZipProgram } from "./seven-zip.ts";
import { mayHoldMembers } from "./sieve.ts";
import { type Doubt, walk } from "./walk.ts";

const sevenZip = sevenZipProgram();
/** Different words, so that it takes some kilobytes however it is packed. */
const text = Buffer.from(Array.from({ length: 900 }, (_, line) => `line ${line * 7919} of it\n`).join(""));
const PROGRAM = glue("MZ", noise(900));

/** The doubt about a file; nothing where it would be clean. */
async function doubtOf(file: Buffer): Promise<Doubt | undefined> {
  using folder = temporaryFolder();
  const blob = memoryBlob(file);
  const budget = unpackBudget(FULL_LIMITS, file.length, () => false);
  const tools = { budget, sevenZip, folder: folder.path, ignored: new Set<string>() };
  const { doubt } = await walk(blob, { see() {} }, tools);
  return mayHoldMembers(blob) ? doubt : undefined;
}

const made = (kind: string, name: string, content = text): Buffer => {
  const container = containersOfAllKinds.find((one) => one.kind === kind && one.name === name);
  if (!container) throw new Error(`there is no container ${kind}/${name}`);
  return container.wrap(content, "sample.txt");
};

/** Checks that a file is in no doubt as it is, and in doubt wherever it is cut behind `from`. */
async function neverClean(file: Buffer, { from, to = file.length - 1 }: { from: number; to?: number }): Promise<void> {
  assert.equal(await doubtOf(file), undefined, "the whole file");
  for (const share of [0.1, 0.3, 0.5, 0.7, 0.9, 1]) {
    const end = Math.floor(from + (to - from) * share);
    assert.ok(await doubtOf(file.subarray(0, end)), `cut to ${end} of ${file.length} bytes`);
  }
}

describe("what is cut off behind other data is not clean", () => {
  for (const [name, front] of [
    ["a program", PROGRAM],
    ["a script", Buffer.from("#!/bin/sh\ntail -c +50 $0 | gunzip\nexit 0\n")],
  ] as const) {
    test(`gzip behind ${name}`, async () => {
      await neverClean(glue(front, gzipSync(text)), { from: front.length + 100 });
    });
    test(`a zip behind ${name}`, async () => {
      const zip = made("zip: methods", "deflate");
      const to = front.length + zip.indexOf("PK\x01\x02") - 4;
      await neverClean(glue(front, zip), { from: front.length + 200, to });
    });
    test(`bzip2 behind ${name}`, async () => {
      await neverClean(glue(front, made("bzip2", "plain")), { from: front.length + 400 });
    });
    test(`an installer of NSIS behind ${name}, as far as its header makes sense`, async () => {
      const header = (flags: number, bytes: number): Buffer =>
        glue(u32(flags), u32(0xdeadbeef), "NullsoftInst", u32(bytes), u32(90_000));
      const stub = padTo(front, 512);
      assert.ok(await doubtOf(glue(stub, header(0, 20_000), noise(3000))));
      for (const other of [header(0x100, 20_000), header(0, 0)])
        assert.equal(await doubtOf(glue(stub, other, noise(3000))), undefined);
      assert.equal(await doubtOf(glue(stub, "constants", header(0, 20_000), noise(3000))), undefined);
    });
    test(`a cabinet behind ${name}`, async () => {
      const file = glue(front, made("cab", "MSZIP"));
      // cabextract lets a few bytes be missing.
      await neverClean(file, { from: front.length + 60, to: file.length - 1 });
    });
  }
});

describe("what is cut off from the beginning on is not clean", () => {
  const png = (chunk: string): Buffer => {
    const packed = glue("Comment\0\0", deflateSync(text));
    const inside = chunk === "iTXt" ? glue("Comment\0\x01\0\0\0", deflateSync(text)) : packed;
    return glue("\x89PNG\r\n\x1a\n", be32(inside.length), chunk, inside, be32(0), be32(0), "IEND", be32(0));
  };
  for (const chunk of ["zTXt", "iTXt", "iCCP"]) {
    test(`a picture with a chunk ${chunk}`, async () => {
      await neverClean(png(chunk), { from: 70, to: png(chunk).length - 20 });
    });
  }

  test("compress, wherever it is not cut between two codes", async () => {
    const file = made("lz4, brotli, Z, zlib", "Z");
    assert.equal(await doubtOf(file), undefined);
    const cuts = Array.from({ length: 60 }, (_, index) => 2000 + index * 7);
    const doubts = await Promise.all(cuts.map((end) => doubtOf(file.subarray(0, end))));
    assert.ok(doubts.filter((doubt) => doubt).length >= 40);
  });

  test("a section of OneNote that says how long it is", async () => {
    const file = made("OneNote and ActiveMime", "OneNote");
    file.fill(0, 196, 204);
    await neverClean(glue(file.subarray(0, 196), u64(file.length), file.subarray(204)), { from: 300 });
  });

  for (const name of ["literal", "packed by zip", "packed by zlib"]) {
    test(`a message of OpenPGP: ${name}`, async () => {
      await neverClean(made("OpenPGP, not encrypted", name), { from: 150 });
    });
  }
  test("a message of OpenPGP in pieces", async () => {
    const body = glue("b\x05a.txt", Buffer.alloc(4, 0x60), text);
    const pieces = Array.from({ length: Math.floor(body.length / 512) }, (_, index) =>
      glue(Buffer.of(0xe9), body.subarray(index * 512, index * 512 + 512)),
    );
    const last = body.subarray(pieces.length * 512);
    const end =
      last.length < 192
        ? Buffer.of(last.length)
        : Buffer.of(192 + ((last.length - 192) >> 8), (last.length - 192) & 255);
    await neverClean(glue(Buffer.of(0xcb), ...pieces, end, last), { from: 300 });
  });

  for (const name of ["in one piece", "in pieces of 1,000", "in pieces of 100"]) {
    test(`a signed message ${name}`, async () => {
      const file = made("signed messages", name);
      await neverClean(file, { from: 150, to: file.indexOf(text.subarray(-8)) });
    });
  }

  test("a recorded answer of a server", async () => {
    const packed = deflateRawSync(text);
    const head = "HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n";
    const sized = glue(`${head}Content-Length: ${packed.length}\r\n\r\n`, packed);
    await neverClean(sized, { from: 200 });
    const half = packed.length >> 1;
    const chunks = [packed.subarray(0, half), packed.subarray(half)];
    const sent = chunks.map((chunk) => glue(`${chunk.length.toString(16)}\r\n`, chunk, "\r\n"));
    const chunked = glue(`${head}Transfer-Encoding: chunked\r\n\r\n`, ...sent, "0\r\n\r\n");
    await neverClean(chunked, { from: 200, to: chunked.length - 8 });
    const stored = glue(`HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n`, noise(3000));
    await neverClean(stored, { from: 100 });
  });

  test("a record of a web archive, within its header", async () => {
    const record = Buffer.from("WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: 9\r\n\r\n");
    const file = glue(record, "harmless\n\r\n\r\n", record, "harmless\n\r\n\r\n");
    await neverClean(file, { from: record.length + 25, to: file.length - 5 });
  });
});

describe("what an ordinary program leaves so is clean", () => {
  test("the text of an answer in a handbook, which is shorter than it says", async () => {
    const file = Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 1270\r\n\r\n<html>Hello, and so on\n");
    assert.equal(await doubtOf(file), undefined);
    const head = Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 1270\r\n\r\n");
    assert.equal(await doubtOf(head), undefined);
  });
});

describe("a document that is cut off is not clean", () => {
  for (const filter of ["none", "Flate", "ASCIIHex", "ASCII85", "LZW", "RunLength"]) {
    test(`within a stream: ${filter}`, async () => {
      const file = made("PDF: filters", filter);
      const to = file.lastIndexOf("endstream") - 20;
      await neverClean(file, { from: to / 2, to });
    });
  }

  for (const way of ["RC4 of 128 bits: stream", "AES of 128 bits: stream", "AES of 256 bits, revision 6: stream"]) {
    test(`behind the streams, though they are encrypted: ${way}`, async () => {
      const file = made("PDF: encrypted, without a password", way);
      await neverClean(file, { from: file.lastIndexOf("endstream") + 9, to: file.lastIndexOf("trailer") + 5 });
    });
  }
});

describe("what stands around an archive is not cut off by it", () => {
  const zip = made("zip: methods", "deflate");
  test("a PDF with one attached as it is", async () => {
    const head = `%PDF-1.7\n1 0 obj\n<< /Length ${zip.length} >>\nstream\n`;
    assert.equal(await doubtOf(glue(head, zip, "\nendstream\nendobj\ntrailer\n<< >>\n%%EOF\n")), undefined);
  });
  test("an answer of a server with one in its body", async () => {
    const body = glue(noise(500), zip, noise(500));
    assert.equal(await doubtOf(glue(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`, body)), undefined);
  });
  test("a picture with one in a chunk", async () => {
    const inside = glue("Comment\0\0", deflateSync(noise(50)), zip);
    const png = glue("\x89PNG\r\n\x1a\n", be32(inside.length), "zTXt", inside, be32(0), be32(0), "IEND", be32(0));
    assert.equal(await doubtOf(png), undefined);
  });
});

test("a PDF behind an archive that is cut off is not clean", async () => {
  const front = made("zip: methods", "deflate");
  const file = glue(
    front,
    `%PDF-1.7\n1 0 obj\n<< /Length 900 /Filter /LZWDecode >>\nstream\n`,
    noise(900),
    "\nendstream\n",
  );
  await neverClean(file, { from: front.length + 100, to: file.length - 20 });
});

test("noise that begins like a tar or a message of OpenPGP is clean", async () => {
  for (const index of [1206, 31_149, 88_223, 91_573, 319_832]) {
    const file = createHash("shake256", { outputLength: 4096 }).update(`b ${index}`).digest();
    assert.equal(await doubtOf(file), undefined, `${index}`);
  }
});

test("brotli that is cut off is not clean, whatever comes out of it", async () => {
  const hex = Buffer.from(noise(2000).toString("hex"));
  for (const content of [hex, text, Buffer.from(hex.toString("base64"))]) {
    const file = brotliCompressSync(content);
    await neverClean(file, { from: 600 });
  }
});
