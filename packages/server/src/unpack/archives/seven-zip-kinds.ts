import { crc32 } from "node:zlib";
import { type Blob, joinedBlob, memoryBlob, type Range, watchedBlob } from "../blob.ts";
import type { Budget } from "../budget.ts";
import { anyPattern, type ByteAt, byteAt, bytePattern } from "../byte-pattern.ts";
import { looksCompressed } from "../documents/pdf-inflate.ts";
import { type Opener, type Outcome, type Tools, whole } from "../opener.ts";
import { unpack } from "../seven-zip.ts";
import { findAll, HEAD_BYTES, headOf, type Needle, openWithin, placesWithin } from "../signature-search.ts";
import { endsWithCode } from "./compress-end.ts";
import { isDisk } from "./partitions.ts";
import { viewsOf } from "./seven-zip-views.ts";

/** How one kind of archive is recognised by what it begins with. */
interface KnownKind {
  kind: string;
  /** 7-Zip's name of the format. */
  type: string;
  sure: boolean;
  knownBy: readonly ByteAt[];
  fits(head: Buffer, content: Blob): boolean;
}

const SECTOR = 512;
/** Where a disc may say that it is UDF, as far as its head reaches. */
const UDF_FIRST = 32_769;
const UDF_SECTORS = Array.from(
  { length: Math.ceil((HEAD_BYTES - UDF_FIRST) / 2048) },
  (_, index) => UDF_FIRST + index * 2048,
);

/** Those of 7-Zip's formats that are no programs or media and that we have no opener of our own for. */
const KNOWN_KINDS: readonly KnownKind[] = [
  begins("7z", "7z", "'7z' bc af 27 1c"),
  begins("rar", "Rar", "'Rar!' 1a 07 00"),
  begins("rar", "Rar5", "'Rar!' 1a 07 01 00"),
  begins("bzip2", "bzip2", "'BZh' 31-39 '1AY&SY'", "'BZh' 31-39 17 72 45 38 50 90"),
  begins("xz", "xz", "fd '7zXZ' 00"),
  { kind: "compress", type: "Z", sure: true, knownBy: [byteAt(0, "1f")], fits: isCompress },
  { kind: "arj", type: "Arj", sure: true, knownBy: [byteAt(0, "60")], fits: isArj },
  { kind: "cab", type: "Cab", sure: true, knownBy: [byteAt(0, "'M'")], fits: isCab },
  begins("chm", "Chm", "'ITSF' 02-04 00 00 00"),
  begins("hxs", "Hxs", "'ITOLITLS' 01 00 00 00"),
  {
    kind: "cpio",
    type: "Cpio",
    sure: true,
    knownBy: [byteAt(0, "'0'", "71", "c7")],
    fits: (head) => isTextCpio(head) || isBinaryCpio(head),
  },
  begins("ar", "Ar", "'!<arch>' 0a"),
  begins("rpm", "Rpm", "ed ab ee db"),
  {
    kind: "udf",
    type: "Udf",
    sure: true,
    knownBy: UDF_SECTORS.map((sector) => byteAt(sector, "'N'")),
    fits: hasUdfDescriptor,
  },
  begins("wim", "wim", "'MSWIM' 00 00 00"),
  begins("xar", "Xar", "'xar!' 00", "'xar!' .. .. 00 01"),
  begins("squashfs", "SquashFS", "'hsqs'", "'sqsh'", "'shsq'", "'qshs'"),
  has("cramfs", "CramFS", 16, "'Compressed ROMFS'"),
  begins("cramfs", "CramFS", "45 3d cd 28", "28 cd 3d 45"),
  begins("szdd", "MsLZ", "'SZDD' 88 f0 27 33"),
  { kind: "swf", type: "SWFc", sure: true, knownBy: [byteAt(0, "'C'", "'Z'")], fits: isFlash },
  begins("vhdx", "VHDX", "'vhdxfile'"),
  begins("vmdk", "VMDK", "'KDMV' 00-ff 00*3"),
  begins("qcow", "QCOW", "'QFI' fb 00*3 00-ff"),
  has("vdi", "VDI", 64, "7f 10 da be"),
  has("ntfs", "NTFS", 3, "'NTFS    '"),
  has("apfs", "APFS", 32, "'NXSB' 00"),
  has("gpt", "GPT", 512, "'EFI PART'"),
  has("gpt", "GPT", 4096, "'EFI PART'"),
  // A volume of HFS may be a shell around one of HFS+.
  has("hfs", "HFS", 1024, "'H+' 00 04-05", "'HX' 00 04-05", "'BD' ..*122 'H+'", "'BD' ..*122 'HX'"),
  has("apple-partitions", "APM", 512, "'PM' 00 00 00"),
  has("android-partitions", "LP", 4096, "'gDla4' 00*3"),
  begins("sparse-image", "Sparse", "3a ff 26 ed 01 00"),
  ends("dmg", "Dmg", "'koly' 00 00 00 04 00 00 02 00"),
  ends("vhd", "VHD", "'conectix'"),
  // The last sector of a growing disk stands in front as well, and may be missing behind.
  { ...begins("vhd", "VHD", "'conectix'"), fits: (head, content) => isVhdWithoutEnd(head, content) },
  { kind: "ext", type: "Ext", sure: true, knownBy: [byteAt(1080, "53")], fits: isExt },
  { kind: "disk", type: "MBR", sure: true, knownBy: [byteAt(510, "55")], fits: (_, content) => isDisk(content) },
];

/** What 7-Zip opens, by what the content begins with. */
export const sevenZipKinds: readonly Opener[] = KNOWN_KINDS.map(({ kind, type, sure, knownBy, fits }) => ({
  kind,
  archive: true,
  knownBy,
  find: (content) => (fits(headOf(content), content) ? [{ start: 0, end: content.size, sure }] : []),
  open: (container, tools) => (type === "Z" ? openCompress(container, tools) : openBy7z(container, type, tools)),
}));

interface EmbeddedKind {
  kind: string;
  type: string;
  needle: Needle;
  /** Where the archive begins, seen from the signature. */
  before: number;
  /** Whether the structure behind the signature says that it is one, as loosely as any reader: then a failure to open it counts. */
  isOne(from: Buffer, container: Blob, start: number): boolean;
  /** Whether it is worth a try all the same. */
  mayBe(from: Buffer): boolean;
}

const EMBEDDED_ARJ: EmbeddedKind = embedded("arj", "Arj", "arj", {
  // Each member has such a header too.
  isOne: (from) => from[10] === ARJ_MAIN && isWholeArj(from),
  mayBe: isWholeArj,
});

/** The type of the header that an archive begins with. */
export const ARJ_MAIN = 2;

/** Zip, gzip and zstd have openers of their own, which look everywhere by themselves. */
const EMBEDDED_KINDS: readonly EmbeddedKind[] = [
  embedded("7z", "7z", "sevenZip", { isOne: is7z }),
  embedded("rar", "Rar", "rar", { isOne: isRar4, mayBe: (from) => from[6] === 0 && from[9] === RAR4_MAIN }),
  embedded("rar", "Rar5", "rar", { isOne: isRar5, mayBe: (from) => from[6] === 1 && from[7] === 0 }),
  embedded("cab", "Cab", "cab", {
    isOne: isCabWithin,
    mayBe: (from) => isCab(from) && (from.readUInt16LE(24) === CAB_VERSION || hasCabNumbers(from)),
  }),
  embedded("xz", "xz", "xz", { isOne: isXz, mayBe: hasXzFlags }),
  EMBEDDED_ARJ,
  { ...embedded("nsis", "Nsis", "nsis", { isOne: isNsis, mayBe: isLikelyNsis }), before: 8 },
  {
    ...embedded("bzip2", "bzip2", "bzip2Block", {
      isOne: isBzip2,
      mayBe: (from) => /^BZh[1-9]/.test(from.toString("latin1", 0, 4)),
    }),
    before: 4,
  },
];

function embedded(
  kind: string,
  type: string,
  needle: Needle,
  { isOne = () => false, mayBe = () => false }: Partial<Pick<EmbeddedKind, "isOne" | "mayBe">>,
): EmbeddedKind {
  return { kind, type, needle, before: 0, isOne, mayBe };
}

/** unar compares no checksum, and takes the header from where it begins to its end. */
function is7z(from: Buffer, container: Blob): boolean {
  if (from.length <= SEVEN_ZIP_HEADER || from[6] !== 0) return false;
  if (crc32(from.subarray(12, SEVEN_ZIP_HEADER)) === from.readUInt32LE(8)) return true;
  const header = SEVEN_ZIP_HEADER + Number(from.readBigUInt64LE(12));
  if (header >= container.size) return false;
  const first = container.bytes(header, 1)[0];
  return first === 0x01 || first === 0x17;
}

const SEVEN_ZIP_HEADER = 32;

/** unar looks at neither the checksum nor the type of the main header: the block behind it must be one. */
function isRar4(from: Buffer): boolean {
  if (from.length < 14 || from[6] !== 0) return false;
  const size = from.readUInt16LE(12);
  const next = 7 + size;
  if (size < RAR4_BLOCK || next + RAR4_BLOCK > from.length) return false;
  const [type = 0, nextSize] = [from[next + 2], from.readUInt16LE(next + 5)];
  return type >= 0x72 && type <= 0x7b && nextSize >= RAR4_BLOCK;
}

const RAR4_BLOCK = 7;
const RAR4_MAIN = 0x73;

/** A main header or one of encryption behind its checksum and size, which is a number of one or two bytes. */
function isRar5(from: Buffer): boolean {
  if (from.length < 16 || from[6] !== 1 || from[7] !== 0) return false;
  const [low = 0, high = 0] = from.subarray(12);
  if (low < 0x80) return low >= 3 && isRar5Type(from[13]);
  return high > 0 && high < 0x80 && isRar5Type(from[14]);
}

const isRar5Type = (type: number | undefined): boolean => type === 1 || type === 4;

/** As much as cabextract compares before it opens one. */
function isCabWithin(from: Buffer, container: Blob): boolean {
  if (from.length < 36 || from.readUInt16LE(26) === 0 || from.readUInt16LE(28) === 0) return false;
  const [size, files] = [from.readUInt32LE(8), from.readUInt32LE(16)];
  if (files < 36 || files >= size) return false;
  // One that was cut off has everything else right.
  const isByTheBook = [4, 12, 20].every((reserved) => from.readUInt32LE(reserved) === 0);
  return size < container.size + CAB_MISSING_BYTES || (isByTheBook && from.readUInt16LE(24) === CAB_VERSION);
}

const CAB_VERSION = 0x0103;

/** cabextract lets so many bytes be missing at the end. */
const CAB_MISSING_BYTES = 32;

function hasXzFlags(from: Buffer): boolean {
  return from.length > 12 && crc32(from.subarray(6, 8)) === from.readUInt32LE(8);
}

/** The header of the first block has a checksum as well. */
function isXz(from: Buffer): boolean {
  if (!hasXzFlags(from)) return false;
  const end = 12 + (from.readUInt8(12) + 1) * 4;
  return end <= from.length && crc32(from.subarray(12, end - 4)) === from.readUInt32LE(end - 4);
}

/** Flags, a number that never changes, the signature, and two sizes: the archive is larger than this. */
function isLikelyNsis(from: Buffer): boolean {
  return from.length > NSIS_HEADER && from.readUInt32LE(4) === 0xdeadbeef && from.readUInt32LE(24) > NSIS_HEADER;
}

/** The program in front looks for it at whole sectors, and other flags than four there are not. */
function isNsis(from: Buffer, _: Blob, start: number): boolean {
  if (start % SECTOR !== 0 || !isLikelyNsis(from) || from.readUInt32LE(0) > NSIS_FLAGS) return false;
  return from.readUInt32LE(20) > 0 && from.readUInt32LE(20) < 2 ** 28 && from.readUInt32LE(24) < 2 ** 31;
}

const NSIS_HEADER = 28;
const NSIS_FLAGS = 0x0f;

/**
 * Behind the mark of a block: its checksum, a flag, where the first byte is, which bytes there are, how many tables and how many times
 * one is chosen, which one, and in each how long the codes are.
 */
function isBzip2(from: Buffer): boolean {
  if (!/^BZh[1-9]1AY&SY/.test(from.toString("latin1", 0, 10))) return false;
  let at = 14 * 8;
  const next = (count: number): number => {
    let value = 0;
    for (const end = at + count; at < end; at += 1) value = value * 2 + (((from[at >> 3] ?? 0) >> (7 - (at & 7))) & 1);
    return value;
  };
  next(1);
  if (next(24) > ((from[3] ?? 0) - 0x30) * 100_000) return false;
  let symbols = 2;
  for (let left = bitsIn(next(16)); left > 0; left -= 1) symbols += bitsIn(next(16));
  const [tables, choices] = [next(3), next(15)];
  if (symbols < 3 || tables < 2 || tables > 6 || choices < 1) return false;
  for (let left = choices; left > 0 && at < from.length * 8; left -= 1) {
    let choice = 0;
    while (next(1) === 1) choice += 1;
    if (choice >= tables) return false;
  }
  for (let left = tables; left > 0 && at < from.length * 8; left -= 1) {
    let length = next(5);
    for (let symbol = 0; symbol < symbols && at < from.length * 8; symbol += 1) {
      while (length >= 1 && length <= 20 && next(1) === 1) length += next(1) === 1 ? -1 : 1;
      if (length < 1 || length > 20) return false;
    }
  }
  return true;
}

function bitsIn(value: number): number {
  let count = 0;
  for (let left = value; left > 0; left >>= 1) count += left & 1;
  return count;
}

/** What 7-Zip opens anywhere inside a content that is no container itself: self-extracting archives, pictures with one behind. */
export const embeddedKinds: readonly Opener[] = EMBEDDED_KINDS.map(embeddedOpener);

/** Known by two bytes, which stand in every picture: only what they begin tells whether it is one. */
export const embeddedArj: Opener = embeddedOpener(EMBEDDED_ARJ);

function embeddedOpener({ kind, type, needle, before, isOne, mayBe }: EmbeddedKind): Opener {
  const isSure = (content: Blob, start: number): boolean =>
    isOne(content.bytes(start, LIKELY_BYTES), content.slice(start, content.size), start);
  return {
    kind,
    archive: true,
    find: (content) =>
      placesWithin(
        content,
        needle,
        (position) => {
          const start = position - before;
          if (start <= 0) return undefined;
          return mayBe(content.bytes(start, LIKELY_BYTES)) || isSure(content, start) ? start : undefined;
        },
        GUESSES + Math.floor(content.size / BYTES_PER_GUESS),
      ).map((place) => ({ ...place, sure: place.sure || isSure(content, place.start) })),
    open: openWithin((container, tools) => openBy7z(container, type, tools)),
  };
}

const LIKELY_BYTES = 4096;
/** Each start of 7-Zip costs as much as a pass over some megabytes, so that a small content may have fewer places than others. */
const GUESSES = 24;
const BYTES_PER_GUESS = 4096;
/** Of these 7-Zip reads exactly what belongs to the archive: what it did not read is something else. */
const READ_IN_FULL: readonly string[] = ["7z", "Cpio"];

/** Opens a container as what 7-Zip calls `type`. */
export async function openBy7z(container: Blob, type: string, tools: Tools): Promise<Outcome> {
  const [first = container, ...others] = viewsOf(container, type, tools.budget);
  const outcome = await openView(first, type, tools);
  for (const view of others) {
    const more = await openView(view, type, tools);
    if (outcome.kind === "opened" && more.kind !== "opened") return more;
  }
  return outcome;
}

async function openView(container: Blob, type: string, tools: Tools): Promise<Outcome> {
  const { budget, sevenZip } = tools;
  budget.addUnpackerStart();
  const { blob, read } = watchedBlob(type === "Cab" ? withoutReserved(container) : container);
  const outcome = await unpack(blob, tools.sink, { program: sevenZip, type, memoryBytes: budget.limits.unpackerBytes });
  budget.addWork(read().reduce((sum, { start, end }) => sum + end - start, 0));
  if (outcome.kind !== "unpacked") return outcome;
  if (outcome.dataAfterEnd) {
    const end = streamEnd(container, type, budget);
    return end === undefined ? { kind: "unreadable" } : { kind: "opened", covered: [{ start: 0, end }] };
  }
  return { kind: "opened", covered: coveredBy(container, type, { tailBytes: outcome.tailBytes, read: read() }) };
}

function coveredBy(
  container: Blob,
  type: string,
  { tailBytes, read }: { tailBytes: number; read: readonly Range[] },
): readonly Range[] {
  const end = container.size - tailBytes;
  if (READ_IN_FULL.includes(type)) return read.map((range) => ({ start: range.start, end: Math.min(range.end, end) }));
  return tailBytes === 0 ? whole(container) : [{ start: 0, end }];
}

function begins(kind: string, type: string, ...spelled: string[]): KnownKind {
  return has(kind, type, 0, ...spelled);
}

function has(kind: string, type: string, offset: number, ...spelled: string[]): KnownKind {
  return { kind, type, sure: true, knownBy: [byteAt(offset, ...spelled)], fits: anyPattern(spelled, offset) };
}

/** Disk images have their signature in the last sector. */
function ends(kind: string, type: string, spelled: string): KnownKind {
  const pattern = bytePattern(spelled);
  const fits = (_: Buffer, content: Blob): boolean =>
    content.size > SECTOR && pattern(content.bytes(content.size - SECTOR, SECTOR));
  return { kind, type, sure: true, knownBy: [byteAt(-SECTOR, spelled)], fits };
}

const VHD = bytePattern("'conectix'");

function isVhdWithoutEnd(head: Buffer, content: Blob): boolean {
  return VHD(head) && content.size > SECTOR && !VHD(content.bytes(content.size - SECTOR, SECTOR));
}

/** Two bytes stand anywhere; what the numbers around them say must make a file system. 7-Zip opens any revision. */
function isExt(head: Buffer): boolean {
  if (head.length < 1024 + 96 || head.readUInt16LE(1080) !== 0xef53) return false;
  const word = (offset: number): number => head.readUInt32LE(1024 + offset);
  return [0, 4, 32, 40].every((count) => word(count) !== 0) && word(24) <= 6;
}

const FLASH = anyPattern(["'CWS' 05-40", "'ZWS' 0d-40"], 0);

/** Readers do not look at the version. Where it makes no sense, what the compressed data begins with has to. */
function isFlash(head: Buffer): boolean {
  if (FLASH(head)) return true;
  const mark = head.toString("latin1", 0, 3);
  if (mark === "CWS") return head.length > 10 && looksCompressed(head.subarray(8));
  return mark === "ZWS" && head.length > 17 && head.readUInt8(12) < LZMA_PROPERTIES && head[17] === 0;
}

const LZMA_PROPERTIES = 9 * 5 * 5;

function isArj(head: Buffer): boolean {
  if (head.length < 34 || head.readUInt16LE(0) !== 0xea60) return false;
  const [size, first] = [head.readUInt16LE(2), head.readUInt8(4)];
  return size >= 30 && size <= 2600 && first >= 30 && first <= size;
}

/** As long as a header may be, with its mark, size and checksum. */
export const ARJ_HEADER_BYTES: number = 2600 + 8;

/** Two bytes stand anywhere: the checksum of the header has to be right. */
export function isWholeArj(head: Buffer): boolean {
  if (!isArj(head)) return false;
  const end = 4 + head.readUInt16LE(2);
  return end + 4 <= head.length && crc32(head.subarray(4, end)) === head.readUInt32LE(end);
}

/**
 * unar opens a header with letters that are no digits: a few are allowed. Readers of C skip spaces, signs and prefixes of numbers. A
 * header that consists of these is one if a zero ends the name.
 */
function isTextCpio(head: Buffer): boolean {
  const text = head.toString("latin1", 0, 110);
  const [fields = ""] = text.match(/(?<=^07070[12]).{104}|(?<=^070707).{70}/s) ?? [];
  if (fields !== "" && (fields.match(/[^0-9a-f]/gi)?.length ?? 0) <= CPIO_ODD_LETTERS) return true;
  const isNew = /^07070[12][0-9a-fx+ \t\0]{104}/i.test(text);
  if (!isNew && !/^070707[0-7 \t\0]{70}/.test(text)) return false;
  const [start, nameBytes] = isNew
    ? [110, Number.parseInt(text.slice(94, 102), 16)]
    : [76, Number.parseInt(text.slice(59, 65), 8)];
  return nameBytes > 0 && head[start + nameBytes - 1] === 0;
}

const CPIO_ODD_LETTERS = 4;

/** The reserved fields of a cabinet are looked at by 7-Zip, not by cabextract: else the numbers that both use have to make sense. */
function isCab(head: Buffer): boolean {
  if (head.length < 36 || head.readUInt32BE(0) !== 0x4d534346) return false;
  return head.readUInt32LE(4) === 0 || hasCabNumbers(head);
}

/** Where the list of files begins, and how many folders and files there are. */
function hasCabNumbers(head: Buffer): boolean {
  const files = head.readUInt32LE(16);
  return files >= 36 && files < 2 ** 24 && head.readUInt16LE(26) > 0 && head.readUInt16LE(28) > 0;
}

const CAB_MAGIC = Buffer.from("MSCF\0\0\0\0", "latin1");

function withoutReserved(container: Blob): Blob {
  if (container.bytes(0, CAB_MAGIC.length).equals(CAB_MAGIC)) return container;
  return joinedBlob([memoryBlob(CAB_MAGIC), container.slice(CAB_MAGIC.length, container.size)]);
}

/** Two bytes, in either order; the rest of the header must make sense, or random bytes would fit. */
function isBinaryCpio(head: Buffer): boolean {
  if (head.length < 28) return false;
  const little = head.readUInt16LE(0) === 0o070707;
  if (!little && head.readUInt16BE(0) !== 0o070707) return false;
  const nameLength = little ? head.readUInt16LE(20) : head.readUInt16BE(20);
  return nameLength > 0 && head[26 + nameLength - 1] === 0;
}

/** Codes of nine bits, none of which refers to one that was not there yet. */
function isCompress(head: Buffer): boolean {
  const longest = (head[2] ?? 0) & COMPRESS_BITS;
  if (head.length < 5 || head.readUInt16BE(0) !== 0x1f9d || longest < 9 || longest > 16) return false;
  const first = (head[2] ?? 0) >= 0x80 ? CLEARING + 1 : CLEARING;
  let known = 0;
  for (let bit = 24, seen = 0; bit + 9 <= head.length * 8 && seen < COMPRESS_CODES_SEEN; bit += 9, seen += 1) {
    const code = ((((head[(bit >> 3) + 1] ?? 0) << 8) | (head[bit >> 3] ?? 0)) >> (bit & 7)) & 0x1ff;
    if (code === CLEARING && first > CLEARING && seen > 0) {
      // Skips the rest of the eight codes that are written together.
      bit += 9 * (7 - (((bit - 24) / 9) & 7));
      known = 0;
      continue;
    }
    if (code >= (known === 0 ? CLEARING : first + known)) return false;
    known += 1;
  }
  return true;
}

const CLEARING = 256;
const COMPRESS_BITS = 0x1f;
const COMPRESS_CODES_SEEN = 32;

async function openCompress(container: Blob, tools: Tools): Promise<Outcome> {
  const outcome = await openBy7z(withPlainFlags(container, tools), "Z", tools);
  return outcome.kind !== "opened" || endsWithCode(container, tools.budget) ? outcome : { kind: "unreadable" };
}

/** busybox passes over the flags that are reserved: 7-Zip does not. */
function withPlainFlags(container: Blob, { budget }: Tools): Blob {
  const flags = container.bytes(2, 1)[0] ?? 0;
  const plain = flags & (0x80 | COMPRESS_BITS);
  if (plain === flags) return container;
  const bytes = Buffer.from(container.bytes(0, budget.limits.memberInMemoryBytes));
  bytes[2] = plain;
  return memoryBlob(bytes);
}

/** UDF says so in one of the sectors after the sixteenth, beside what makes the disc an ISO 9660 one as well. */
function hasUdfDescriptor(head: Buffer): boolean {
  return UDF_SECTORS.some((at) => /^NSR0\d$/.test(head.toString("latin1", at, at + 5)));
}

/**
 * Where the compressed streams of a container end that has something else behind them: 7-Zip says that there is something,
 * not where. Nothing if that cannot be told.
 */
function streamEnd(container: Blob, type: string, budget: Budget): number | undefined {
  if (type === "xz") return endOfXz(container, budget);
  return type === "bzip2" ? endOfBzip2(container, budget) : undefined;
}

const XZ_FOOTER_END = Buffer.from("YZ");
const XZ_FOOTER_BYTES = 12;

/** The footer carries a checksum of its own. Streams follow each other with nothing but zeros in between. */
function endOfXz(container: Blob, budget: Budget): number | undefined {
  let end: number | undefined;
  for (const at of findAll(container, XZ_FOOTER_END, budget)) {
    const footer = container.bytes(at + XZ_FOOTER_END.length - XZ_FOOTER_BYTES, XZ_FOOTER_BYTES);
    if (footer.length < XZ_FOOTER_BYTES || at + 2 < XZ_FOOTER_BYTES) continue;
    if (crc32(footer.subarray(4, 10)) !== footer.readUInt32LE(0)) continue;
    if (end !== undefined && !isXzAfter(container, end)) break;
    end = at + XZ_FOOTER_END.length;
  }
  return end;
}

function isXzAfter(container: Blob, position: number): boolean {
  const next = container.bytes(position, XZ_PADDING_BYTES);
  const start = next.findIndex((byte) => byte !== 0);
  return start >= 0 && next.toString("latin1", start, start + XZ_HEADER.length) === XZ_HEADER;
}

const XZ_HEADER = "\xfd7zXZ\0";
const XZ_PADDING_BYTES = 64 * 1024;

/** What stands at the end of a bzip2 stream, in front of its checksum, at any bit. */
const BZIP2_END = 0x177245385090n;
const BZIP2_END_BITS = 48;
const BZIP2_CRC_BITS = 32;

function endOfBzip2(container: Blob, budget: Budget): number | undefined {
  let end: number | undefined;
  for (const next of endsOfBzip2Streams(container, budget)) {
    if (!/^BZh[1-9]/.test(container.bytes(end ?? 0, 4).toString("latin1"))) break;
    end = next;
  }
  return end;
}

function endsOfBzip2Streams(container: Blob, budget: Budget): number[] {
  const ends: number[] = [];
  for (let shift = 0; shift < 8; shift += 1) {
    // The mark, moved by some bits, begins and ends in the middle of a byte: only the bytes between are known.
    const bytes = BZIP2_END_BITS / 8 + (shift > 0 ? 1 : 0);
    const moved = BZIP2_END << BigInt(bytes * 8 - BZIP2_END_BITS - shift);
    const pattern = Buffer.from(moved.toString(16).padStart(bytes * 2, "0"), "hex");
    const known = shift > 0 ? pattern.subarray(1, -1) : pattern;
    for (const at of findAll(container, known, budget)) {
      const start = shift > 0 ? at - 1 : at;
      if (start < 0 || !matches(container.bytes(start, bytes), pattern, shift)) continue;
      ends.push(start + Math.ceil((shift + BZIP2_END_BITS + BZIP2_CRC_BITS) / 8));
    }
  }
  return ends.sort((a, b) => a - b);
}

function matches(bytes: Buffer, pattern: Buffer, shift: number): boolean {
  if (bytes.length < pattern.length) return false;
  if (shift === 0) return bytes.equals(pattern);
  const [first, last] = [0xff >> shift, (0xff << (8 - shift)) & 0xff];
  const at = pattern.length - 1;
  return (
    ((bytes[0] ?? 0) & first) === ((pattern[0] ?? 0) & first) &&
    ((bytes[at] ?? 0) & last) === ((pattern[at] ?? 0) & last)
  );
}
