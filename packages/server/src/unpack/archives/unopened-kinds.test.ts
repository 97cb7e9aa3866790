import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { crc32 } from "node:zlib";
import { be32, glue, latin1, noise, u16, u32 } from "../../../test/fixtures/corpus/container.ts";
import { openContainer } from "../../../test/support/open-container.ts";
import { memoryBlob } from "../blob.ts";
import type { Opener } from "../opener.ts";
import { mayHoldMembers } from "../sieve.ts";
import { sevenZipKinds } from "./seven-zip-kinds.ts";
import { unopenedKinds } from "./unopened-kinds.ts";

/** A content with something at one place in it, and zeros elsewhere. */
function placed(at: number, mark: Buffer | string, size = at + 2048): Buffer {
  const content = Buffer.alloc(Math.max(size, at + mark.length));
  content.set(typeof mark === "string" ? latin1(mark) : mark, at);
  return content;
}

const hex = (digits: string): Buffer => Buffer.from(digits.replaceAll(" ", ""), "hex");
const body = noise(600).map((byte) => byte | 0x80);

const arcMember = (name: string, method: number, content: Uint8Array): Buffer =>
  glue("\x1a", Buffer.of(method), name.padEnd(13, "\0"), u32(content.length), Buffer.alloc(6), u32(9), content);

function minix(): Buffer {
  const block = glue(u16(96), u16(60), u16(1), u16(1), u16(7), u16(0), u32(268_966_912), u16(0x138f), u16(1));
  return placed(1024, block, 65_536);
}

function dump(): Buffer {
  const record = Buffer.alloc(1024);
  record.writeInt32LE(1, 0);
  record.writeInt32LE(60_012, 24);
  record.writeInt32LE(84_446 - 1 - 60_012, 28);
  return glue(record, body);
}

const compactPro = (): Buffer => {
  const directory = glue("\0\x02", "\x07comment", "\x86folder", u16(0), "\x05a.txt", Buffer.alloc(45));
  return glue("\x01\x01\0\0", be32(8 + body.length), body, be32(~crc32(directory) >>> 0), directory);
};

const unopened: Record<string, () => Buffer> = {
  "RAR of before 2.0": () => glue("RE~^", u16(7), "\0", body),
  ARC: () => glue(arcMember("A.TXT", 8, body), arcMember("B.TXT", 2, body), "\x1a\0"),
  "ARC cut in its second member": () => glue(arcMember("A.TXT", 8, body), arcMember("B.TXT", 2, body)).subarray(0, 700),
  pack200: () => glue(hex("cafed00d 07 96"), body),
  freeze: () => glue(hex("1f9f 0000 00"), body),
  "pack of System V": () => glue(hex("1f1e 00000200 03 00 01 04"), body),
  "zstd before its first release": () => glue(hex("25b52ffd"), body),
  "snappy of Java": () => glue(hex("82 534e41505059 00"), body),
  "compress of SCO": () => glue(hex("1fa0 0100 224840"), body),
  LZFSE: () => glue("bvx2", body),
  GRZip: () => glue("GRZipII\0", body),
  lrzip: () => glue("LRZI\0", body),
  StuffIt: () => glue("SIT!\0\x01", u32(0), "rLau", body),
  "StuffIt 5": () => glue("StuffIt (c)1997", body),
  "Compact Pro": compactPro,
  DiskDoubler: () => glue(hex("abcd0054"), body),
  PackIt: () => glue("PMag", body),
  ACE: () => placed(7, "**ACE**"),
  ZOO: () => placed(20, hex("dca7c4fd")),
  "LZH of PMarc": () => placed(2, "-pm2-"),
  "a disk of the Amiga": () => placed(0, "DOS\x01", 901_120),
  DMS: () => glue("DMS!", body),
  "a squeezed file of CP/M": () => glue(hex("76ff 1234"), "README.TXT\0", body),
  "a crunched file of CP/M": () => glue(hex("76fe"), "README.TZT\0", body),
  PowerPacker: () => glue("PP20", body),
  "InstallShield 3": () => glue(hex("135d658c3a010200"), body),
  "a mail folder of Outlook": () => glue("!BDN", u32(7), "SM", body),
  "a compressed disc": () => glue("CISO\x18\0\0\0", body),
  "a disc compressed by cloop": () => glue("#!/bin/sh\n#V2.0 Format\n\0", body),
  "an archive of a game": () => glue("MPQ\x1a", body),
  "a disk of ESX 3": () => glue("COWD", u32(1), body),
  "a disc of High Sierra": () => placed(32_777, "CDROM\x01"),
  EWF: () => glue("EVF\x09\x0d\x0a\xff\0", body),
  QED: () => glue("QED\0", body),
  Parallels: () => glue("WithoutFreeSpace", body),
  "a volume of LVM": () => placed(512, `LABELONE${"\0".repeat(16)}LVM2 001`),
  EROFS: () => placed(1024, hex("e2e1f5e0")),
  JFFS2: () => glue(hex("8519 03 20 0c000000"), body),
  "JFFS2 of the other order": () => glue(hex("1985 e001 00000040"), body),
  UBI: () => glue("UBI#\x01\0\0\0", body),
  UBIFS: () => glue(hex("31181006"), body),
  exFAT: () => placed(3, "EXFAT   "),
  XFS: () => glue("XFSB\0\0\x10\0", body),
  F2FS: () => placed(1024, hex("1020f5f2")),
  NILFS2: () => placed(1024, hex("02000000 0000 3434")),
  btrfs: () => placed(65_600, "_BHRfS_M"),
  ReiserFS: () => placed(65_588, "ReIsEr2Fs"),
  bcachefs: () => placed(4120, hex("c68573f666ce90a9d96a60cf803df7ef")),
  "UFS 1": () => placed(9564, hex("54190100")),
  "UFS 1 of the other order": () => placed(9564, hex("00011954")),
  "UFS 2": () => placed(66_908, hex("19015419")),
  "HFS without a plus": () => placed(1024, glue("BD", Buffer.alloc(12), "\0\x03")),
  MINIX: minix,
  "an archive of dump": dump,
};

const locked: Record<string, () => Buffer> = {
  LUKS: () => glue("LUKS\xba\xbe\0\x02", body),
  BitLocker: () => placed(3, "-FVE-FS-"),
  "BitLocker To Go": () => placed(424, hex("3bd66749292ed84a8399f6a339e3d001")),
  "BitLocker on the used part of a disk": () => placed(424, hex("3b4da89280dd0e4d9e4eb1e3284eaed8")),
  "an encrypted image of the Mac": () => glue("encrcdsa\0\0\0\x02", body),
  "an older one": () => glue(body, "cdsaencr"),
  "an encrypted QCOW": () => glue("QFI\xfb", be32(3), Buffer.alloc(24), be32(2), body),
};

async function outcomesOf(content: Buffer): Promise<string[]> {
  const opened = await Promise.all(unopenedKinds.map((opener) => openContainer(opener, content)));
  return opened.flatMap((each) => each?.outcome ?? []);
}

describe("what nothing opens is never clean", () => {
  for (const [name, make] of Object.entries(unopened)) {
    test(name, async () => {
      assert.deepEqual(await outcomesOf(make()), ["unreadable"]);
      assert.equal(mayHoldMembers(memoryBlob(make())), true);
    });
  }
});

describe("what nobody opens without a key is encrypted", () => {
  for (const [name, make] of Object.entries(locked)) {
    test(name, async () => assert.deepEqual(await outcomesOf(make()), ["encrypted"]));
  }
});

describe("what only begins like one is none", () => {
  const others: Record<string, Buffer> = {
    "a text that begins with a control character and a name": glue("\x1a\x02name of something\0", body),
    "a disk of another size": placed(0, "DOS\x01", 65_536),
    "a MINIX whose numbers do not add up": placed(1032, u16(9), 0).fill(minix().subarray(1024, 1032), 1024, 1032),
    "a dump with a wrong sum": glue(dump().subarray(0, 1020), "\x01\0\0\0", body),
    "two bytes of pack and no table": glue(hex("1f1e"), Buffer.alloc(5, 0xff), body),
    "a node that is longer than any": glue(hex("8519 0320 ffffffff"), body),
    "a QCOW that is not encrypted": glue("QFI\xfb", be32(3), Buffer.alloc(28), body),
    "a squeezed file without a name": glue(hex("76ff"), body),
    "a font that begins as Compact Pro does": glue(
      hex("01000404 00000020 01"),
      "NotoSerif",
      Buffer.alloc(14),
      hex("00000000 0001 00 05"),
      "a.txt",
      Buffer.alloc(100),
    ),
    "a few bytes": Buffer.from("RE~^"),
  };
  for (const [name, content] of Object.entries(others)) {
    test(name, async () => assert.deepEqual(await outcomesOf(content), []));
  }
});

/** A partition table of Apple, with itself and a partition in it. */
function applePartitions(content: Buffer): Buffer {
  const entry = (start: number, count: number, type: string): Buffer =>
    glue(
      "PM\0\0",
      be32(2),
      be32(start),
      be32(count),
      "name".padEnd(32, "\0"),
      type.padEnd(32, "\0"),
      Buffer.alloc(432),
    );
  const device = glue("ER", u16(512).reverse(), be32(64), Buffer.alloc(504));
  const blocks = Math.ceil(content.length / 512);
  return placed(0, glue(device, entry(1, 2, "Apple_partition_map"), entry(3, blocks, "Apple_HFS"), content), 64 * 512);
}

describe("what 7-Zip is asked about", () => {
  const openers = (kind: string): Opener => sevenZipKinds.find((opener) => opener.kind === kind) as Opener;
  test("partitions of Apple come out", async () => {
    const content = noise(1024);
    const result = await openContainer(openers("apple-partitions"), applePartitions(content));
    assert.equal(result?.outcome, "opened");
    assert.ok(result.members.some((member) => member.content.includes(content)));
  });
  test("help of an older version, which it does not know, is not clean", async () => {
    const help = glue("ITSF\x02\0\0\0", u32(88), body);
    assert.equal((await openContainer(openers("chm"), help))?.outcome, "unreadable");
  });
});
