import { crc32 } from "node:zlib";
import { type Blob, type Range, watchedBlob } from "../blob.ts";
import type { Budget } from "../budget.ts";
import { anyPattern, type ByteAt, byteAt, bytePattern } from "../byte-pattern.ts";
import { type Opener, type Outcome, type Tools, whole } from "../opener.ts";
import { unpack } from "../seven-zip.ts";
import { findAll, HEAD_BYTES, headOf, type Needle, openWithin, placesWithin } from "../signature-search.ts";

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
  begins("compress", "Z", "1f 9d 09-10", "1f 9d 89-90"),
  { kind: "arj", type: "Arj", sure: true, knownBy: [byteAt(0, "60")], fits: isArj },
  begins("cab", "Cab", "'MSCF' 00 00 00 00"),
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
  begins("xar", "Xar", "'xar!' 00"),
  begins("squashfs", "SquashFS", "'hsqs'", "'sqsh'", "'shsq'", "'qshs'"),
  has("cramfs", "CramFS", 16, "'Compressed ROMFS'"),
  begins("szdd", "MsLZ", "'SZDD' 88 f0 27 33"),
  begins("swf", "SWFc", "'CWS' 05-40", "'ZWS' 0d-40"),
  begins("vhdx", "VHDX", "'vhdxfile'"),
  begins("vmdk", "VMDK", "'KDMV' 01-04 00 00 00"),
  begins("qcow", "QCOW", "'QFI' fb 00 00 00 01-03"),
  has("vdi", "VDI", 64, "7f 10 da be"),
  has("ntfs", "NTFS", 3, "'NTFS    ' 00"),
  has("apfs", "APFS", 32, "'NXSB' 00"),
  has("gpt", "GPT", 512, "'EFI PART' 00 00 01 00"),
  // A volume of HFS may be a shell around one of HFS+.
  has("hfs", "HFS", 1024, "'H+' 00 04", "'HX' 00 05", "'BD' ..*122 'H+'", "'BD' ..*122 'HX'"),
  has("apple-partitions", "APM", 512, "'PM' 00 00 00"),
  has("android-partitions", "LP", 4096, "'gDla4' 00*3"),
  begins("sparse-image", "Sparse", "3a ff 26 ed 01 00"),
  ends("dmg", "Dmg", "'koly' 00 00 00 04 00 00 02 00"),
  ends("vhd", "VHD", "'conectix' 00 00"),
  { kind: "ext", type: "Ext", sure: true, knownBy: [byteAt(1080, "53")], fits: isExt },
  { kind: "fat", type: "FAT", sure: false, knownBy: [byteAt(510, "55")], fits: isFat },
  { kind: "disk", type: "MBR", sure: true, knownBy: [byteAt(510, "55")], fits: hasPartitions },
];

/** What 7-Zip opens, by what the content begins with. */
export const sevenZipKinds: readonly Opener[] = KNOWN_KINDS.map(({ kind, type, sure, knownBy, fits }) => ({
  kind,
  archive: true,
  knownBy,
  find: (content) => (fits(headOf(content), content) ? [{ start: 0, end: content.size, sure }] : []),
  open: (container, tools) => openBy7z(container, type, tools),
}));

interface EmbeddedKind {
  kind: string;
  type: string;
  needle: Needle;
  /** Where the archive begins, seen from the signature. */
  before: number;
  likely(from: Buffer): boolean;
}

const EMBEDDED_ARJ: EmbeddedKind = embedded("arj", "Arj", "arj", isWholeArj);

/** Zip, gzip and zstd have openers of their own, which look everywhere by themselves. */
const EMBEDDED_KINDS: readonly EmbeddedKind[] = [
  embedded("7z", "7z", "sevenZip", (from) => from.length > 32 && crc32(from.subarray(12, 32)) === from.readUInt32LE(8)),
  embedded("rar", "Rar", "rar", (from) => from[6] === 0 && from[9] === 0x73),
  embedded("rar", "Rar5", "rar", (from) => from[6] === 1 && from[7] === 0),
  embedded("cab", "Cab", "cab", (from) => from.length > 36 && from.readUInt16LE(24) === 0x0103),
  embedded("xz", "xz", "xz", (from) => from.length > 12 && crc32(from.subarray(6, 8)) === from.readUInt32LE(8)),
  EMBEDDED_ARJ,
  { ...embedded("nsis", "Nsis", "nsis", () => true), before: 8 },
  { ...embedded("bzip2", "bzip2", "bzip2Block", (from) => /^BZh[1-9]/.test(from.toString("latin1", 0, 4))), before: 4 },
];

function embedded(kind: string, type: string, needle: Needle, likely: EmbeddedKind["likely"]): EmbeddedKind {
  return { kind, type, needle, before: 0, likely };
}

/** What 7-Zip opens anywhere inside a content that is no container itself: self-extracting archives, pictures with one behind. */
export const embeddedKinds: readonly Opener[] = EMBEDDED_KINDS.map(embeddedOpener);

/** Known by two bytes, which stand in every picture: only what they begin tells whether it is one. */
export const embeddedArj: Opener = embeddedOpener(EMBEDDED_ARJ);

function embeddedOpener({ kind, type, needle, before, likely }: EmbeddedKind): Opener {
  return {
    kind,
    archive: true,
    find: (content) =>
      placesWithin(content, needle, (position) => {
        const start = position - before;
        return start > 0 && likely(content.bytes(start, LIKELY_BYTES)) ? start : undefined;
      }),
    open: openWithin((container, tools) => openBy7z(container, type, tools)),
  };
}

const LIKELY_BYTES = 4096;
/** Of these 7-Zip reads exactly what belongs to the archive: what it did not read is something else. */
const READ_IN_FULL: readonly string[] = ["7z", "Cpio"];

/** Opens a container as what 7-Zip calls `type`. */
export async function openBy7z(container: Blob, type: string, tools: Tools): Promise<Outcome> {
  const { budget, sevenZip } = tools;
  const { blob, read } = watchedBlob(container);
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
    content.size >= SECTOR && pattern(content.bytes(content.size - SECTOR, SECTOR));
  return { kind, type, sure: true, knownBy: [byteAt(-SECTOR, spelled)], fits };
}

/** Two bytes stand anywhere; what the numbers around them say must make a file system. */
function isExt(head: Buffer): boolean {
  if (head.length < 1024 + 96 || head.readUInt16LE(1080) !== 0xef53) return false;
  const word = (offset: number): number => head.readUInt32LE(1024 + offset);
  const [inodes, blocks, blockSize, inBlocks, inInodes, revision] = [0, 4, 24, 32, 40, 76].map(word);
  return (
    [inodes, blocks, inBlocks, inInodes].every((count) => count !== 0) && (blockSize ?? 7) <= 6 && (revision ?? 2) <= 1
  );
}

function isArj(head: Buffer): boolean {
  if (head.length < 34 || head.readUInt16LE(0) !== 0xea60) return false;
  const [size, first] = [head.readUInt16LE(2), head.readUInt8(4)];
  return size >= 30 && size <= 2600 && first >= 30 && first <= size;
}

/** Two bytes stand anywhere: the checksum of the header has to be right. */
function isWholeArj(head: Buffer): boolean {
  if (!isArj(head)) return false;
  const end = 4 + head.readUInt16LE(2);
  return end + 4 <= head.length && crc32(head.subarray(4, end)) === head.readUInt32LE(end);
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

/** UDF says so in one of the sectors after the sixteenth, beside what makes the disc an ISO 9660 one as well. */
function hasUdfDescriptor(head: Buffer): boolean {
  return UDF_SECTORS.some((at) => /^NSR0[23]$/.test(head.toString("latin1", at, at + 5)));
}

/** The table of four partitions in the first sector of a disk: at least one of them is there, and begins inside. */
function hasPartitions(head: Buffer, content: Blob): boolean {
  if (head.length < 512 || head.readUInt16BE(510) !== 0x55aa || isFat(head)) return false;
  const entries = [446, 462, 478, 494].map((at) => head.subarray(at, at + 16));
  if (!entries.every((entry) => entry[0] === 0 || entry[0] === 0x80)) return false;
  return entries.some((entry) => {
    const [start, sectors] = [entry.readUInt32LE(8), entry.readUInt32LE(12)];
    return entry[4] !== 0 && start > 0 && sectors > 0 && start * SECTOR < content.size;
  });
}

function isFat(head: Buffer): boolean {
  if (head.length < 512 || head.readUInt16BE(510) !== 0x55aa) return false;
  return /^FAT(12|16|) /.test(head.toString("latin1", 54, 62)) || head.toString("latin1", 82, 90) === "FAT32   ";
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
