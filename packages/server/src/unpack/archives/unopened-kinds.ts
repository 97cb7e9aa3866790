import { crc32 } from "node:zlib";
import type { Blob } from "../blob.ts";
import { anyPattern, askedBy, type ByteAt, byteAt, bytePattern, mayKnow } from "../byte-pattern.ts";
import type { Opener, Outcome } from "../opener.ts";
import { byteOf, headOf } from "../signature-search.ts";
import { isText } from "../text-stretch.ts";
import { bitsOf } from "./lzh-tree.ts";

/**
 * Archives, disk images and compressed files that we know and that nothing we have opens: never clean. What stands openly in
 * them is looked at all the same. Patterns are long enough, or checked by the numbers around them, so that no other file has them.
 */
const UNOPENED: readonly UnopenedKind[] = [
  // Compressed by lrzip, rzip, zpaq, GRZip, PAQ, Apple's LZFSE, freeze, SCO's compress and pack, PPMd.
  at(0, "'LRZI' 00", "'RZIP' 02", "'7kSt' a0", "'zPQ' 01-02 01", "'GRZipII' 00", "'paq8'", "'PAQ' 31-37"),
  at(0, "'bvx' 31-32", "'bvxn'", "'bvx-'", "8f af ac 84"),
  { knownBy: [byteAt(0, "1f")], fits: (head) => isPack(head) || isScoLzh(head) || isFrozen(head) },
  // Formats of zstd before its first release, which the program still opens; snappy in the frames of other libraries.
  at(0, "1e b5 2f fd", "22-27 b5 2f fd", "82 'SNAPPY' 00", "'snappy' 00", "ff 06 00 'sNaPpY'"),
  // Archives: Microsoft's KWAJ, StuffIt, ALZip, FreeArc, UHARC, RAR before 2.0, DGCA, PMarc, ACE, ZOO, JAR of ARJ.
  at(0, "'KWAJ' 88 f0 27 d1", "'StuffIt (c)'", "'StuffIt' 21", "'StuffIt?'", "'SIT!' ..*6 'rLau'", "'ST' ..*8 'rLau'"),
  at(0, "'ALZ' 01", "'EGGA' 00 01", "'ArC' 01", "'UHA' 04-06", "'RE~^' 07-ff 00", "'GCAX'", "'DGCA'", "'UC2' 1a"),
  at(2, "'-pm' 30-32 '-'", "'-pms-'", "'-pc1-'"),
  at(7, "'**ACE**'"),
  at(14, "1a 'Jar' 1b"),
  // Mail folders of Outlook, where every text is substituted; compressed discs (CISO, ZISO, DAX, cloop); archives of games (MPQ).
  at(0, "'!BDN'", "'CISO'", "'ZISO'", "'DAX' 00", "'#!/bin/sh' 0a '#V2.0 Format' 0a", "'MPQ' 1a-1b"),
  at(20, "dc a7 c4 fd"),
  // Of the Mac: DiskDoubler, PackIt, Compact Pro. Of the Amiga: DMS, XPK, PowerPacker, LZX, disks. Of CP/M: squeezed, crunched.
  at(0, "ab cd 00 54", "'PMag'", "'PMa' 34-36", "'DMS!'", "'XPKF'", "'PP20'", "'PX20'", "'LZX' 00 ..*6 0a", "'IMP!'"),
  {
    knownBy: [byteAt(0, "01", "'D'", "76")],
    fits: (head, content) => isCompactPro(head, content) || isAmigaDisk(head, content) || isSqueezed(head),
  },
  { knownBy: [byteAt(0, "1a")], fits: (head, content) => isArc(head, content) },
  // Java's pack200, InstallShield 3, EWF (images of forensics), AFF.
  at(
    0,
    "ca fe d0 0d 00-07 96-ab",
    "13 5d 65 8c 3a 01 02 00",
    "'EVF' 09 0d 0a ff 00",
    "'LVF' 09 0d 0a ff 00",
    "'AFF10'",
  ),
  // Disks of ESX, QEMU and Parallels, sparse bundles of Apple's older kind; volumes of LVM and bcache.
  at(0, "'COWD' 01 00*3", "'QED' 00", "'WithoutFreeSpace'", "'WithouFreSpacExt'", "'sprs' 00 00 00 03"),
  ...[0, 512, 1024, 1536].map((sector) => at(sector, "'LABELONE' ..*16 'LVM2 001'")),
  at(4096 + 24, "c6 85 73 f6 4e 1a 45 ca 82 65 f5 7f 48 ba 6d 81", "c6 85 73 f6 66 ce 90 a9 d9 6a 60 cf 80 3d f7 ef"),
  // File systems: exFAT, XFS, UBI, UBIFS, EROFS, F2FS, NILFS, JFS, btrfs, Reiser, HPFS, BeFS, OCFS, GFS, HFS without a plus, High Sierra.
  at(3, "'EXFAT   ' 00*16"),
  at(32_777, "'CDROM' 01"),
  at(0, "'XFSB' 00 00", "'UBI#' 01 00*3", "31 18 10 06"),
  at(1024, "e2 e1 f5 e0", "10 20 f5 f2", "02 00*3 00-ff 00 34*2", "'BD' ..*12 00 03"),
  at(32768, "'JFS1' 01-02 00*3"),
  at(65600, "'_BHRfS_M'"),
  ...[8192, 65536].map((start) => at(start + 52, "'ReIsEr' 32-33 'Fs'", "'ReIsErFs'")),
  at(65536, "'ReIsEr4'", "01 16 19 70 00*3 01"),
  at(8192, "49 e8 95 f9 c5 e9 53 fa"),
  at(544, "'1SFB'", "'BFS1'"),
  at(2048, "'OCFSV2'"),
  // UFS, of either version and byte order, where its superblock may be.
  ...[1372, 8192 + 1372, 65536 + 1372].map((place) =>
    at(place, "54 19 01 00", "00 01 19 54", "19 01 54 19", "19 54 01 19"),
  ),
  { knownBy: [byteAt(1040, "7f", "8f", "68", "78"), byteAt(1048, "5a")], fits: isMinix },
  { knownBy: [byteAt(0, "85", "19")], fits: isJffs2 },
  { knownBy: [byteAt(24, "6b", "6c", "19", "00")], fits: isDump },
  // Encrypted: LUKS, BitLocker, disk images of the Mac and of QEMU.
  { ...at(0, "'LUKS' ba be 00 01-02", "'encrcdsa' 00*3 01-02"), encrypted: true },
  { ...at(3, "'-FVE-FS-'"), encrypted: true },
  {
    ...at(424, "3b d6 67 49 29 2e d8 4a 83 99 f6 a3 39 e3 d0 01", "3b 4d a8 92 80 dd 0e 4d 9e 4e b1 e3 28 4e ae d8"),
    encrypted: true,
  },
  { ...at(0, "'QFI' fb 00*3 02-03 ..*24 00*3 01-02", "'QFI' fb 00*3 01 ..*28 00*3 01-02"), encrypted: true },
  {
    encrypted: true,
    knownBy: [byteAt(-8, "'c'")],
    fits: (_, content) => IS_OLD_LOCKED_DMG(content.bytes(Math.max(0, content.size - 8), 8)),
  },
];

interface UnopenedKind {
  knownBy: readonly ByteAt[];
  fits(head: Buffer, content: Blob): boolean;
  /** A key would open it. */
  encrypted?: true;
}

/** Not marked as archives: they are searched for whatever can be found in them without opening them. */
export const unopenedKinds: readonly Opener[] = [
  recogniser("unknown", { kind: "unreadable" }, (kind) => !kind.encrypted),
  recogniser("locked-disk", { kind: "encrypted" }, (kind) => kind.encrypted === true),
];

function recogniser(kind: string, outcome: Outcome, mine: (kind: UnopenedKind) => boolean): Opener {
  const kinds = UNOPENED.filter(mine);
  const byByte = askedBy(kinds);
  const isOne = (content: Blob): boolean =>
    mayKnow(byByte, byteOf(content)).some(({ fits }) => fits(headOf(content), content));
  return {
    kind,
    knownBy: kinds.flatMap(({ knownBy }) => knownBy),
    find: (content) => (isOne(content) ? [{ start: 0, end: content.size, sure: true }] : []),
    open: () => outcome,
  };
}

function at(offset: number, ...spelled: string[]): UnopenedKind {
  const fits = anyPattern(spelled, offset);
  return {
    knownBy: [byteAt(offset, ...spelled)],
    fits: (head) => fits(head) && !isText(head.subarray(0, TEXT_BYTES)),
  };
}

/** Some are known by a few letters, and so may a text begin. What is compressed has other bytes soon. */
const TEXT_BYTES = 256;
const IS_OLD_LOCKED_DMG = bytePattern("'cdsaencr'");

/** The size, how long the longest code is, and how many codes there are of each length: no more than there can be. */
function isPack(head: Buffer): boolean {
  if (head.length < 16 || head.readUInt16BE(0) !== 0x1f1e) return false;
  const levels = head.readUInt8(6);
  if (levels < 1 || levels > 24 || head.length < 7 + levels) return false;
  const counts = head.subarray(7, 7 + levels);
  return counts.every((count, index) => count <= 2 ** (index + 1)) && counts.some((count) => count > 0);
}

/** Blocks as in LZH: how long the words of the first code are, which must add up. */
function isScoLzh(head: Buffer): boolean {
  if (head.length < 16 || head.readUInt16BE(0) !== 0x1fa0 || head.readUInt16BE(2) === 0) return false;
  const bits = bitsOf(head.subarray(4, 16));
  const count = bits.take(5);
  if (count === 0) return bits.take(5) < LENGTH_CODES;
  let space = 2 ** LONGEST_LENGTH;
  for (let index = 0; index < count; index += 1) {
    let length = bits.take(3);
    if (length === 7) while (length < LONGEST_LENGTH && bits.take(1) === 1) length += 1;
    if (length > 0) space -= 2 ** (LONGEST_LENGTH - length);
    if (index === 2) index += bits.take(2);
  }
  return count <= LENGTH_CODES && space === 0;
}

const LENGTH_CODES = 19;
const LONGEST_LENGTH = 16;

/** How many words there are of each length up to six, in as many bits, and one that is always zero: no more than there can be. */
function isFrozen(head: Buffer): boolean {
  if (head.length < 8 || head.readUInt16BE(0) !== 0x1f9f) return false;
  const [first, sixth] = [head.readUInt16LE(2), head.readUInt8(4)];
  const counts = [first & 1, (first >> 1) & 3, (first >> 3) & 7, (first >> 6) & 15, (first >> 10) & 31, sixth];
  const words = counts.reduce((sum, count) => sum + count, 0);
  const space = counts.reduce((sum, count, index) => sum + count * 2 ** (7 - index), 0);
  return first < 0x8000 && sixth < 0x40 && words <= FROZEN_WORDS && space <= 256;
}

const FROZEN_WORDS = 62;

/** Where the directory is; it begins with its checksum, how many files there are, and a comment. Fonts begin like it. */
function isCompactPro(head: Buffer, content: Blob): boolean {
  if (head.length < 8 || head[0] !== 1 || (head[1] !== 0 && head[1] !== 1)) return false;
  const start = head.readUInt32BE(4);
  if (start < 8 || start + 16 > content.size) return false;
  const directory = content.bytes(start, COMPACT_PRO_DIRECTORY);
  let end = 7 + directory.readUInt8(6);
  for (let left = directory.readUInt16BE(4); left > 0; left -= 1) {
    const length = directory[end];
    if (length === undefined) return false;
    // A folder has nothing but a name and how much is in it.
    end += 1 + (length & 0x7f) + (length >= 0x80 ? 2 : 45);
  }
  return end <= directory.length && ~crc32(directory.subarray(4, end)) >>> 0 === directory.readUInt32BE(0);
}

/** Of ten thousand files. */
const COMPACT_PRO_DIRECTORY = 1024 * 1024;

function isAmigaDisk(head: Buffer, content: Blob): boolean {
  return AMIGA_DISK(head) && (content.size === DISK_BYTES || content.size === 2 * DISK_BYTES);
}

const AMIGA_DISK = bytePattern("'DOS' 00-07");
const DISK_BYTES = 901_120;

/** Two bytes and the name that the file had: squeezed, crunched by LZW, crunched by LZH. */
function isSqueezed(head: Buffer): boolean {
  if (head.length < 16 || head[0] !== 0x76 || ![0xff, 0xfe, 0xfd].includes(head.readUInt8(1))) return false;
  const start = head[1] === 0xff ? 4 : 2;
  const end = head.indexOf(0, start);
  return (
    end > start + 2 &&
    end <= start + 40 &&
    isName(head.subarray(start, end)) &&
    head.subarray(start, end).includes(0x2e)
  );
}

const ARC_HEADER = 29;
const ARC_OLD_HEADER = 25;

/** Headers one behind the other; in the last stands a zero for the method. PAK and Spark write the same. */
function isArc(head: Buffer, content: Blob): boolean {
  let position = 0;
  for (let members = 0; members < ARC_MEMBERS_SEEN; members += 1) {
    const header = content.bytes(position, ARC_HEADER);
    const method = (header[1] ?? 255) & 0x7f;
    if (header[0] !== 0x1a || method > ARC_METHODS) return false;
    if (method === 0) return members > 0;
    const end = header.indexOf(0, 2);
    if (header.length < ARC_HEADER || end < 3 || end > 15 || !isName(header.subarray(2, end))) return false;
    const oldest = method === 1 ? ARC_OLD_HEADER : ARC_HEADER;
    position += oldest + ((header[1] ?? 0) >= 0x80 ? 12 : 0) + header.readUInt32LE(15);
    if (position >= content.size) return members > 0 || position === content.size;
  }
  return head.length > 0;
}

const ARC_METHODS = 11;
const ARC_MEMBERS_SEEN = 4;

function isName(bytes: Buffer): boolean {
  return bytes.length > 0 && bytes.every((byte) => byte >= 0x20 && byte !== 0x7f);
}

/** Two bytes, and numbers of which one follows from the others: where the files' blocks begin. */
function isMinix(head: Buffer): boolean {
  if (head.length < 2048) return false;
  const little = [0x137f, 0x138f, 0x2468, 0x2478].includes(head.readUInt16LE(1040));
  const isThird = head.readUInt16LE(1048) === 0x4d5a;
  if (!little && !isThird) return false;
  const field = (offset: number): number => head.readUInt16LE(1024 + offset);
  const inodes = isThird ? head.readUInt32LE(1024) : field(0);
  const [inodeMap, zoneMap, first] = (isThird ? [6, 8, 10] : [4, 6, 8]).map(field) as [number, number, number];
  const blockBytes = isThird ? field(28) : 1024;
  const inodeBytes = isThird || field(16) >= 0x2000 ? 64 : 32;
  if (inodes === 0 || inodeMap === 0 || zoneMap === 0 || blockBytes < 1024) return false;
  return first === 2 + inodeMap + zoneMap + Math.ceil((inodes * inodeBytes) / blockBytes);
}

/** Nodes of a flash memory: a number, what kind of node it is, how long. */
function isJffs2(head: Buffer): boolean {
  if (head.length < 12) return false;
  const isLittle = head.readUInt16LE(0) === 0x1985;
  if (!isLittle && head.readUInt16BE(0) !== 0x1985) return false;
  const [type, length] = isLittle
    ? [head.readUInt16LE(2), head.readUInt32LE(4)]
    : [head.readUInt16BE(2), head.readUInt32BE(4)];
  return (
    [0xe001, 0xe002, 0x2003, 0x2004, 0x2006, 0xe008, 0xe009].includes(type) && length >= 12 && length <= NODE_BYTES
  );
}

const NODE_BYTES = 1024 * 1024;

/** What `dump` writes for `restore`: in each record of 1,024 bytes the numbers add up to one that is always the same. */
function isDump(head: Buffer): boolean {
  if (head.length < DUMP_RECORD) return false;
  const isLittle = DUMP_MAGIC.includes(head.readUInt32LE(24));
  if (!isLittle && !DUMP_MAGIC.includes(head.readUInt32BE(24))) return false;
  let sum = 0;
  for (let word = 0; word < DUMP_RECORD; word += 4) sum += isLittle ? head.readInt32LE(word) : head.readInt32BE(word);
  return (sum | 0) === DUMP_SUM;
}

const DUMP_RECORD = 1024;
const DUMP_MAGIC = [60_011, 60_012, 0x19540119];
const DUMP_SUM = 84_446;
