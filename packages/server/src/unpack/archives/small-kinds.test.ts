import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { brotliCompressSync, deflateSync } from "node:zlib";
import { be32, glue, latin1, u16, u32 } from "../../../test/fixtures/corpus/container.ts";
import {
  aixOf,
  appleOf,
  asarOf,
  gitObjectHead,
  gitPackOf,
  lbrOf,
  macBinaryOf,
  mozLz4Of,
  romfsFile,
  romfsHead,
  woffOf,
} from "../../../test/fixtures/corpus/small-kinds.ts";
import { type Opened, openContainer } from "../../../test/support/open-container.ts";
import type { Opener } from "../opener.ts";
import { aixArchive, androidBackup, asar, lbr, romfs } from "./bundles.ts";
import { gitPack } from "./git-pack.ts";
import { mozLz4 } from "./lz4.ts";
import { appleDouble, macBinary } from "./macintosh.ts";
import { png, woff, woff2, zisofs } from "./packed-parts.ts";

const payload: Buffer = Buffer.from("a payload of some length, and a little more of it\n".repeat(10));
const be16 = (value: number): Buffer => u16(value).reverse();

async function opened(opener: Opener, content: Buffer): Promise<Opened> {
  const result = await openContainer(opener, content);
  assert.ok(result, "not recognised");
  return result;
}

/** That all of it comes out, and that what stands behind it is left over. */
async function assertOpens(opener: Opener, content: Buffer, members: readonly Buffer[] = [payload]): Promise<void> {
  const { outcome, members: found, rest } = await opened(opener, glue(content, "something else behind it"));
  assert.equal(outcome, "opened");
  for (const member of members)
    assert.ok(
      found.some((one) => one.content.equals(member)),
      `${found.map((one) => one.content)}`,
    );
  const behind = rest.find(({ end }) => end > content.length)?.start ?? Number.POSITIVE_INFINITY;
  assert.ok(behind > content.length - 16 && behind <= content.length, `${behind} of ${content.length}`);
}

describe("asar", () => {
  test("every file comes out, in folders too", async () => {
    const other = Buffer.from("another file");
    const files = {
      "a.js": { size: payload.length, offset: "0" },
      lib: { files: { b: { size: 12, offset: `${payload.length}` } } },
    };
    await assertOpens(asar, asarOf({ files }, payload, other), [payload, other]);
  });
  test("places that are none are not read, and it is not clean", async () => {
    for (const offset of ["-5", "1.5", "1e300", "x", "99999"]) {
      const { outcome } = await opened(asar, asarOf({ files: { a: { size: 10, offset } } }, payload));
      assert.equal(outcome, "unreadable", offset);
    }
  });
  test("a list that is no JSON is not clean", async () => {
    const broken = asarOf({ files: {} }, payload);
    broken.write("{{", 16);
    assert.equal((await opened(asar, broken)).outcome, "unreadable");
  });
});

describe("romfs", () => {
  test("files of folders come out", async () => {
    const folder = romfsFile(0x41, { first: 0x60, name: "folder" });
    // Behind the folder a second one, empty, so that both ways onward are taken.
    const image = glue(
      romfsHead,
      folder,
      romfsFile(0x01, { name: "empty" }),
      romfsFile(0x02, { name: "file", content: payload }),
    );
    await assertOpens(romfs, image);
  });
  test("files that lead to one another in a circle are read once", async () => {
    const image = glue(romfsHead, romfsFile(0x22, { content: payload }));
    assert.equal((await opened(romfs, image)).members.length, 1);
  });
  test("a file that is longer than the image is not clean", async () => {
    const image = glue(romfsHead, romfsFile(0x02, { content: payload }));
    image.writeUInt32BE(0xfffffff0, 32 + 8);
    assert.equal((await opened(romfs, image)).outcome, "unreadable");
  });
});

test("members of an LBR come out without what fills up their last sector", async () => {
  await assertOpens(lbr, lbrOf(payload));
  assert.deepEqual(
    (await opened(lbr, lbrOf(payload))).members.map(({ content }) => content),
    [payload],
  );
});

describe("a library of AIX", () => {
  test("gives out its members", () =>
    assertOpens(aixArchive, aixOf(payload, payload.subarray(1)), [payload, payload.subarray(1)]));
  test("whose members lead in a circle is read once", async () => {
    const library = aixOf(payload);
    library.write("128".padEnd(20), 128 + 20);
    assert.equal((await opened(aixArchive, library)).members.length, 1);
  });
  test("that says more than it has is not clean", async () => {
    const library = aixOf(payload);
    library.write("99999".padEnd(20), 128);
    assert.equal((await opened(aixArchive, library)).outcome, "unreadable");
  });
});

describe("a backup of Android", () => {
  test("comes out", async () => {
    const { members } = await opened(androidBackup, glue("ANDROID BACKUP\n5\n0\nnone\n", payload));
    assert.deepEqual(
      members.map(({ content }) => content),
      [payload],
    );
  });
  test("that is encrypted is not clean", async () => {
    assert.equal((await opened(androidBackup, glue("ANDROID BACKUP\n3\n1\nAES-256\n", payload))).outcome, "encrypted");
  });
});

test("AppleSingle and AppleDouble give out both parts", async () => {
  const resources = Buffer.from("resources");
  for (const mark of ["00051600", "00051607"]) {
    await assertOpens(appleDouble, appleOf(mark, payload, resources), [payload, resources]);
  }
});

test("AppleSingle and AppleDouble that are cut off are not clean", async () => {
  const file = appleOf("00051607", payload, Buffer.from("resources"));
  for (const bytes of [1, 100, file.length - 40]) {
    assert.equal((await opened(appleDouble, file.subarray(0, -bytes))).outcome, "unreadable", `without ${bytes} bytes`);
  }
});

describe("MacBinary", () => {
  test("is known by its checksum, and by its sizes where it has none", async () => {
    // As CRC-16/XMODEM gives for this header.
    const checksum = 0x763;
    for (const file of [macBinaryOf(payload, checksum), macBinaryOf(payload, 0)]) {
      const { members } = await opened(macBinary, file);
      assert.deepEqual(
        members.map(({ content }) => content),
        [payload, latin1("resources")],
      );
    }
  });
  test("a wrong checksum is no MacBinary", async () => {
    assert.equal(await openContainer(macBinary, macBinaryOf(payload, 0x1234)), undefined);
  });
});

describe("fonts for the web", () => {
  test("tables of WOFF come out, compressed or not", async () => {
    await assertOpens(woff, woffOf(deflateSync(payload), payload.length));
    await assertOpens(woff, woffOf(payload, payload.length));
  });
  test("a table of WOFF that is damaged is not clean", async () => {
    assert.equal((await opened(woff, woffOf(Buffer.alloc(40, 0xff), payload.length))).outcome, "unreadable");
  });
  const woff2Of = (flavour: string, tables: Buffer, packed: Buffer): Buffer =>
    glue("wOF2", flavour, be32(0), be16(2), be16(0), be32(0), be32(packed.length), Buffer.alloc(24), tables, packed);
  // One of a known name in a changed form, with two lengths; one that says its name, with a length of two bytes.
  const tables = glue(Buffer.of(10, 100, 90), Buffer.of(63), "ABCD", Buffer.of(0x81, 0x00));
  test("tables of WOFF2 come out", () =>
    assertOpens(woff2, woff2Of("\0\x01\0\0", tables, brotliCompressSync(payload))));
  test("tables of a collection come out", async () => {
    const fonts = glue(
      tables,
      be32(0x10000),
      Buffer.of(2),
      Buffer.of(1),
      "OTTO",
      Buffer.of(0),
      Buffer.of(2),
      "OTTO",
      Buffer.of(253, 0, 1, 255, 0),
    );
    await assertOpens(woff2, woff2Of("ttcf", fonts, brotliCompressSync(payload)));
  });
  test("WOFF2 that is damaged is not clean", async () => {
    const broken = woff2Of("OTTO", tables, Buffer.alloc(50, 0xff));
    assert.equal((await opened(woff2, broken)).outcome, "unreadable");
  });
});

describe("a picture", () => {
  const chunk = (type: string, content: Buffer): Buffer => glue(be32(content.length), type, content, be32(0));
  const pngOf = (...chunks: Buffer[]): Buffer => glue("\x89PNG\r\n\x1a\n", chunk("IHDR", Buffer.alloc(13)), ...chunks);
  test("gives out its compressed texts and its profile", async () => {
    const packed = deflateSync(payload);
    for (const one of [
      chunk("zTXt", glue("Comment\0\0", packed)),
      chunk("iCCP", glue("profile\0\0", packed)),
      chunk("iTXt", glue("Comment\0\x01\0de\0Kommentar\0", packed)),
    ]) {
      const { members } = await opened(png, pngOf(chunk("IDAT", payload), one));
      assert.deepEqual(
        members.map(({ content }) => content),
        [payload],
      );
    }
  });
  test("without any is none of our business", async () => {
    assert.equal(await openContainer(png, pngOf(chunk("tEXt", payload), chunk("IDAT", payload))), undefined);
  });
});

test("a file of a disc that is compressed by itself comes out, with its empty blocks", async () => {
  const block = deflateSync(payload.subarray(0, 500));
  const head = glue(Buffer.from("37e45396c9dbd607", "hex"), u32(1024 + 500), Buffer.of(4, 9, 0, 0));
  const pointers = glue(u32(32), u32(32), u32(32), u32(32 + block.length));
  // Two blocks of 512 zeros and one of 500 bytes.
  await assertOpens(zisofs, glue(head, pointers, block), [glue(Buffer.alloc(1024), payload.subarray(0, 500))]);
});

describe("a pack of git", () => {
  const half = payload.length >> 1;
  const base = glue(gitObjectHead(3, half), deflateSync(payload.subarray(0, half)));
  // Both sizes in two bytes; the first half of the object from the base, and the rest as it is, 127 bytes at a time.
  const size = (value: number): Buffer => Buffer.of((value & 0x7f) | 0x80, value >> 7);
  const rest = Array.from({ length: Math.ceil(half / 127) }, (_, index) =>
    payload.subarray(half + index * 127, Math.min(payload.length, half + (index + 1) * 127)),
  );
  const difference = glue(
    size(half),
    size(payload.length),
    Buffer.of(0x90 | 0x20, half & 0xff, half >> 8),
    ...rest.map((piece) => glue(Buffer.of(piece.length), piece)),
  );

  test("gives out objects that are written as the difference from one before", async () => {
    assert.ok(base.length < 128, "the distance fits into one byte");
    const byPosition = glue(gitObjectHead(6, difference.length), Buffer.of(base.length), deflateSync(difference));
    await assertOpens(gitPack, gitPackOf(base, byPosition), [payload.subarray(0, half), payload]);
  });
  test("and from one that is named by its digest", async () => {
    const digest = createHash("sha1").update(`blob ${half}\0`).update(payload.subarray(0, half)).digest();
    await assertOpens(
      gitPack,
      gitPackOf(base, glue(gitObjectHead(7, difference.length), digest, deflateSync(difference))),
    );
  });
  test("behind the lines of a bundle", async () => {
    const { place, members } = await opened(gitPack, glue("# v2 git bundle\n0 HEAD\n\n", gitPackOf(base)));
    assert.equal(place.start, 24);
    assert.equal(members.length, 1);
  });
  test("that lacks what a difference refers to is not clean", async () => {
    const lost = glue(gitObjectHead(7, difference.length), Buffer.alloc(20, 1), deflateSync(difference));
    assert.equal((await opened(gitPack, gitPackOf(lost))).outcome, "unreadable");
  });
  test("that ends within its checksum is not clean", async () => {
    assert.equal((await opened(gitPack, gitPackOf(base).subarray(0, -1))).outcome, "unreadable");
  });
  test("that says it has four thousand million objects is read no further than it goes", async () => {
    const pack = gitPackOf(base);
    pack.writeUInt32BE(0xffffffff, 8);
    assert.equal((await opened(gitPack, pack)).outcome, "unreadable");
  });
});

test("a block of lz4 as Firefox writes it comes out", async () => {
  const { outcome, members } = await opened(mozLz4, mozLz4Of(payload));
  assert.equal(outcome, "opened");
  assert.deepEqual(
    members.map(({ content }) => content),
    [payload],
  );
});
