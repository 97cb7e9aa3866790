import type { Blob } from "../look/blob.ts";
import { bytePattern } from "./byte-pattern.ts";
import { isMail } from "./documents/mail-parts.ts";
import { isPdf } from "./documents/pdf-streams.ts";

/** How one kind of archive is recognised by what it begins with. */
export interface KnownKind {
  /** 7-Zip's name of the format, or one of ours; none if nothing we have opens it. */
  type?: string;
  sure: boolean;
  fits(head: Buffer, content: Blob): boolean;
}

/** What 7-Zip does not open and we do. A zip archive that begins like one but has no end, and documents with parts. */
export const CUT_ZIP = "cut zip";
export const MAIL = "mail";
export const RTF = "rtf";
export const PDF = "pdf";

/** As much of a file as recognising it takes: the descriptors of a disc stand from 32 KiB on. */
export const HEAD_BYTES: number = 66 * 1024;

/** Those of 7-Zip's formats that are no programs or media; then others that it cannot open. */
export const KNOWN_KINDS: readonly KnownKind[] = [
  begins(CUT_ZIP, "'PK' 03 04", "'PK' 05 06", "'PK' 06 06", "'PK' 07 08 'PK'", "'PK00PK'"),
  begins("7z", "'7z' bc af 27 1c"),
  begins("Rar", "'Rar!' 1a 07 00"),
  begins("Rar5", "'Rar!' 1a 07 01 00"),
  begins("gzip", "1f 8b 08 00-1f"),
  begins("bzip2", "'BZh' 31-39 '1AY&SY'", "'BZh' 31-39 17 72 45 38 50 90"),
  begins("xz", "fd '7zXZ' 00"),
  begins("zstd", "28 b5 2f fd", "50-5f 2a 4d 18"),
  begins("Z", "1f 9d 09-10", "1f 9d 89-90"),
  begins("Lzh", "..*2 '-lh' 30-39 '-'", "..*2 '-lz' 30-39 '-'", "..*2 '-lh' 64 '-'", "..*2 '-lzs-'"),
  { type: "Arj", sure: true, fits: isArj },
  begins("Cab", "'MSCF' 00 00 00 00"),
  begins("Chm", "'ITSF' 03 00 00 00"),
  begins("Hxs", "'ITOLITLS' 01 00 00 00"),
  begins("Compound", "d0 cf 11 e0 a1 b1 1a e1"),
  { type: "Cpio", sure: true, fits: (head) => isTextCpio(head) || isBinaryCpio(head) },
  begins("Ar", "'!<arch>' 0a"),
  begins("Rpm", "ed ab ee db"),
  { type: "tar", sure: true, fits: isTar },
  has("Iso", 32769, "'CD001'"),
  { type: "Udf", sure: true, fits: hasUdfDescriptor },
  begins("wim", "'MSWIM' 00 00 00"),
  begins("Xar", "'xar!' 00"),
  begins("SquashFS", "'hsqs'", "'sqsh'"),
  has("CramFS", 16, "'Compressed ROMFS'"),
  begins("MsLZ", "'SZDD' 88 f0 27 33"),
  begins("SWFc", "'CWS' 05-40", "'ZWS' 0d-40"),
  begins("VHDX", "'vhdxfile'"),
  begins("VMDK", "'KDMV' 01-04 00 00 00"),
  begins("QCOW", "'QFI' fb 00 00 00 01-03"),
  has("VDI", 64, "7f 10 da be"),
  has("NTFS", 3, "'NTFS    ' 00"),
  has("APFS", 32, "'NXSB' 00"),
  has("GPT", 512, "'EFI PART' 00 00 01 00"),
  has("HFS", 1024, "'H+' 00 04", "'HX' 00 05"),
  begins("Sparse", "3a ff 26 ed 01 00"),
  ends("Dmg", "'koly' 00 00 00 04 00 00 02 00"),
  ends("VHD", "'conectix' 00 00"),
  unsure(has("Ext", 1080, "53 ef")),
  { type: "FAT", sure: false, fits: isFat },
  // No signature, only a likely header: the default properties, a round dictionary size, a length below 4 GiB or unknown.
  unsure(begins("lzma", "5d 00 00 00-80 00-08 ff*8 00", "5d 00 00 00-80 00-08 ..*4 00*4 00")),

  { type: MAIL, sure: true, fits: isMail },
  begins(RTF, "'{\\rt'"),
  { type: PDF, sure: true, fits: isPdf },

  // lzip, lz4, lzop, lrzip, rzip, snappy, zpaq.
  begins(undefined, "'LZIP' 00-01", "04 22 4d 18", "02 21 4c 18", "89 'LZO' 00 0d 0a 1a 0a", "'LRZI' 00"),
  begins(undefined, "'RZIP' 02", "ff 06 00 00 'sNaPpY'", "'7kSt' a0", "'zPQ' 01-02 01"),
  // Microsoft and InstallShield, StuffIt, ALZip, ACE, ZOO, BinHex.
  begins(undefined, "'KWAJ' 88 f0 27 d1", "'ISc('", "'StuffIt (c)'", "'SIT!' ..*6 'rLau'"),
  begins(undefined, "'ALZ' 01", "'EGGA' 00 01", "'(This file must be converted with BinHex'"),
  has(undefined, 7, "'**ACE**'"),
  has(undefined, 20, "dc a7 c4 fd"),
];

function begins(type: string | undefined, ...spelled: string[]): KnownKind {
  return has(type, 0, ...spelled);
}

function has(type: string | undefined, offset: number, ...spelled: string[]): KnownKind {
  const patterns = spelled.map(bytePattern);
  return {
    ...(type === undefined ? {} : { type }),
    sure: true,
    fits: (head) => patterns.some((fits) => fits(head, offset)),
  };
}

/** Too little to go by: such a file is opened if it can be, and nothing is said if not. */
function unsure(kind: KnownKind): KnownKind {
  return { ...kind, sure: false };
}

/** Disk images have their signature in the last sector. */
function ends(type: string, spelled: string): KnownKind {
  const pattern = bytePattern(spelled);
  return {
    type,
    sure: true,
    fits: (_, content) => content.size >= SECTOR && pattern(content.bytes(content.size - SECTOR, SECTOR)),
  };
}

const SECTOR = 512;

function isArj(head: Buffer): boolean {
  if (head.length < 34 || head.readUInt16LE(0) !== 0xea60) return false;
  const [size, first] = [head.readUInt16LE(2), head.readUInt8(4)];
  return size >= 30 && size <= 2600 && first >= 30 && first <= size;
}

function isTextCpio(head: Buffer): boolean {
  return /^(07070[12][0-9a-f]{104}|070707[0-7]{70})/i.test(head.toString("latin1", 0, 110));
}

/** Two bytes, in either order; the rest of the header must make sense, or random bytes would fit. */
function isBinaryCpio(head: Buffer): boolean {
  if (head.length < 28) return false;
  const little = head.readUInt16LE(0) === 0o070707;
  if (!little && head.readUInt16BE(0) !== 0o070707) return false;
  const nameLength = little ? head.readUInt16LE(20) : head.readUInt16BE(20);
  return nameLength > 0 && nameLength <= 1024 && head[26 + nameLength - 1] === 0;
}

/** Any tar, those before "ustar" too: the first block says its own checksum. An empty tar has none, and nothing in it. */
function isTar(head: Buffer): boolean {
  if (head.length < 512) return false;
  const stated = head.toString("latin1", 148, 156).match(/^ *([0-7]+)[\0 ]/)?.[1];
  if (stated === undefined) return false;
  // The checksum's own eight bytes count as spaces.
  let sum = 8 * 0x20;
  for (let i = 0; i < 512; i += 1) if (i < 148 || i >= 156) sum += head.readUInt8(i);
  return sum === Number.parseInt(stated, 8);
}

/** UDF says so in one of the sectors after the sixteenth, beside what makes the disc an ISO 9660 one as well. */
function hasUdfDescriptor(head: Buffer): boolean {
  for (let at = 32769; at + 5 <= head.length; at += 2048) {
    if (/^NSR0[23]$/.test(head.toString("latin1", at, at + 5))) return true;
  }
  return false;
}

function isFat(head: Buffer): boolean {
  if (head.length < 512 || head.readUInt16BE(510) !== 0x55aa) return false;
  return /^FAT(12|16|) /.test(head.toString("latin1", 54, 62)) || head.toString("latin1", 82, 90) === "FAT32   ";
}
