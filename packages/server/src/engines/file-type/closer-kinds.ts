import { constants, gunzipSync } from "node:zlib";
import { isTar } from "./checks.ts";
import type { Kind } from "./kinds.ts";
import { markupKind } from "./markup.ts";
import { bytesAt, id3End, pointsTo, type Sample, textOf, u16be, u16le, u32be, u32le } from "./sample.ts";

// Kinds that a signature tells in general, and a bounded look behind it in particular.

/** Films have a track of pictures; sound alone has none, whatever its brand. */
export function mp4Kind({ head, tail }: Sample): Kind {
  const ends = textOf(head, 0, head.length) + textOf(tail, 0, tail.length);
  return ends.includes("soun") && !ends.includes("vide") ? "m4a" : "mp4";
}

export function matroskaKind({ head }: Sample): Kind {
  return textOf(head, 0, 128).includes("webm") ? "webm" : "mkv";
}

/** Enough for the names in a gzip header and the beginning of what is packed. */
const PACKED_BYTES = 1024;
/** Deflate makes at most 1032 bytes of one. */
const MOST_BYTES = PACKED_BYTES * 1032;
const IN_GZIP: ReadonlySet<Kind | undefined> = new Set<Kind>(["gnumeric", "abw", "key", "pages", "numbers"]);

/** What kind of gzip it is by what is packed in it. */
export function gzipKind({ head }: Sample): Kind {
  try {
    const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MOST_BYTES };
    const start = gunzipSync(head.subarray(0, PACKED_BYTES), options).subarray(0, 4096);
    if (textOf(start, 257, 5) === "ustar" || isTar({ head: start, tail: start, sizeBytes: start.length }))
      return "tar.gz";
    const text = textOf(start, 0, start.length);
    if (text.startsWith("BLENDER")) return "blend";
    const kind = markupKind({ start: text, end: text, whole: false, encoding: "ascii" });
    return kind === "svg" ? "svgz" : kind && IN_GZIP.has(kind) ? kind : "gz";
  } catch {
    return "gz";
  }
}

const SOUNDS: ReadonlySet<Kind> = new Set<Kind>([
  "flac",
  "aac",
  "ape",
  "tta",
  "mpc",
  "wv",
  "ac3",
  "aif",
  "wav",
  "dsf",
  "tak",
  "ofr",
]);

/** What follows an ID3 tag, if that is in sight; mostly it is MP3. */
export function taggedKind(sample: Sample, kindOf: (sample: Sample) => Kind): Kind {
  const at = id3End(sample.head);
  const head = bytesAt(sample, at, 4096);
  // Tags behind tags, hundreds of them, are not worth a look each.
  if (head.length === 0 || u32be(head, 0) >>> 8 === ID3) return "mp3";
  const kind = kindOf({ head, tail: head, sizeBytes: sample.sizeBytes - at });
  return SOUNDS.has(kind) ? kind : "mp3";
}

const ID3 = 0x494433;

const MAKE = 271;
const SUB_DIRECTORIES = 330;
const DNG_VERSION = 50_706;
const MOST_ENTRIES = 100;
const RAW_BY_MAKE: readonly (readonly [RegExp, Kind])[] = [
  [/^NIKON/, "nef"],
  [/^SONY/, "arw"],
  [/^PENTAX|^RICOH/, "pef"],
];

/** Raw images of cameras are TIFFs by a maker who is known for it, with the raw picture in a directory below. */
export function tiffKind(sample: Sample): Kind {
  const little = sample.head[0] === 0x49;
  const [u16, u32] = little ? [u16le, u32le] : [u16be, u32be];
  if (u16(sample.head, 2) !== 42) return "tif";
  const start = u32(sample.head, 4);
  const directory = bytesAt(sample, start, 2 + 12 * MOST_ENTRIES);
  const tags = new Map<number, number>();
  for (let entry = 0; entry < Math.min(u16(directory, 0), MOST_ENTRIES); entry++) {
    tags.set(u16(directory, 2 + 12 * entry), u32(directory, 10 + 12 * entry));
  }
  if (tags.has(DNG_VERSION)) return "dng";
  const make = textOf(bytesAt(sample, tags.get(MAKE) ?? -1, 16), 0, 16);
  return (tags.has(SUB_DIRECTORIES) && RAW_BY_MAKE.find(([pattern]) => pattern.test(make))?.[1]) || "tif";
}

const DLL_FLAG = 0x2000;
const CLR_DIRECTORY = 14;
const NATIVE_SUBSYSTEM = 1;
const UEFI_SUBSYSTEMS = [10, 11, 12, 13];

/** PE, and older programs of DOS and Windows. */
export function windowsKind(sample: Sample): Kind | undefined {
  const head = Buffer.from(sample.head.buffer, sample.head.byteOffset, sample.head.length);
  if (head.length < 28) return undefined;
  const newHeaderAt = head.length >= 64 ? head.readUInt32LE(60) : 0;
  const header = Buffer.from(bytesAt(sample, newHeaderAt, 256));
  const mark = header.toString("latin1", 0, 4);
  if (mark === "PE\0\0" && header.length >= 96) return peKind(header);
  if (mark.startsWith("NE") && newHeaderAt >= 64) return "ne";
  if (/^L[EX]/.test(mark) && newHeaderAt >= 64) return "le";

  // Bytes in the last page, pages, relocations, paragraphs of the header: in a program these agree.
  const lastPageBytes = head.readUInt16LE(2);
  const headerParagraphs = head.readUInt16LE(8);
  return lastPageBytes < 512 && headerParagraphs >= 1 && headerParagraphs < 0x1000 ? "dos" : undefined;
}

function peKind(header: Buffer): Kind {
  const wide = header.readUInt16LE(24) === 0x20b;
  const subsystem = header.readUInt16LE(24 + 68);
  if (UEFI_SUBSYSTEMS.includes(subsystem)) return "efi";
  if (subsystem === NATIVE_SUBSYSTEM) return "sys";
  const directories = 24 + (wide ? 112 : 96);
  const clrAt = directories + CLR_DIRECTORY * 8;
  const hasClr = clrAt + 8 <= header.length && header.readUInt32LE(directories - 4) > CLR_DIRECTORY;
  if (hasClr && header.readUInt32LE(clrAt) !== 0) return "dotnet";
  const library = (header.readUInt16LE(22) & DLL_FLAG) !== 0;
  if (library) return wide ? "dll64" : "dll";
  return wide ? "exe64" : "exe";
}

const PROGRAM_INTERPRETER = 3;
const MOST_PROGRAM_HEADERS = 64;

export function elfKind(sample: Sample): Kind {
  const head = Buffer.from(sample.head.buffer, sample.head.byteOffset, sample.head.length);
  if (head.length < 64) return "elf";
  const wide = head[4] === 2;
  const little = head[5] === 1;
  const short = (at: number): number => (little ? head.readUInt16LE(at) : head.readUInt16BE(at));
  const long = (at: number): number => (little ? head.readUInt32LE(at) : head.readUInt32BE(at));

  switch (short(16)) {
    case 1:
      return "elf-object";
    case 2:
      return "elf-executable";
    case 3:
      break;
    case 4:
      return "elf-core";
    default:
      return "elf";
  }
  // Position-independent programs are shared objects that name an interpreter.
  const tableAt = wide ? (little ? long(32) : long(36)) : long(28);
  const entryBytes = wide ? 56 : 32;
  const entries = Math.min(short(wide ? 56 : 44), MOST_PROGRAM_HEADERS);
  for (let entry = 0; entry < entries; entry++) {
    const at = tableAt + entry * entryBytes;
    if (at + 4 > head.length) break;
    if (long(at) === PROGRAM_INTERPRETER) return "elf-executable";
  }
  return "elf-shared";
}

const ENTRY_BYTES = 128;

/** Class of the root storage, as it stands in the file, and the kind of document it means. */
const ROOT_CLASSES: Readonly<Record<string, Kind>> = {
  "0609020000000000c000000000000046": "doc",
  "0009020000000000c000000000000046": "doc",
  "2008020000000000c000000000000046": "xls",
  "2108020000000000c000000000000046": "xls",
  "1008020000000000c000000000000046": "xls",
  "108d81649b4fcf1186ea00aa00b929e8": "ppt",
  "70ae7bea3bfbcd11a90300aa00510ea3": "ppt",
  "141a020000000000c000000000000046": "vsd",
  "131a020000000000c000000000000046": "vsd",
  "111a020000000000c000000000000046": "vsd",
  "0112020000000000c000000000000046": "pub",
  "0b0d020000000000c000000000000046": "msg",
  "46f0060000000000c000000000000046": "oft",
  "84100c0000000000c000000000000046": "msi",
  "86100c0000000000c000000000000046": "msp",
  "82100c0000000000c000000000000046": "mst",
  "3a8fb774c8c8d111be1100c04fb6faf1": "mpp",
  c2dbcd28e20ace11a29a00aa004a1a72: "works-ole",
  a005892ebd85d11189d0008029e4b0b1: "sda",
  e0aa10af6db31b10996104021c007002: "sda",
};

/** Streams that only one kind of document has. A document may hold others inside it: the outermost come first. */
const STREAMS: readonly (readonly [RegExp, Kind])[] = [
  [/^EncryptedPackage$/, "ooxml-encrypted"],
  [/^__(?:properties_version1|nameid_version1|recip_version1)/, "msg"],
  [/^.?HwpSummaryInformation$/, "hwp"],
  [/^VisioDocument$/, "vsd"],
  [/^Quill$/, "pub"],
  [/^Props(?:9|12|14)?$|^ {3}1\d\d$/, "mpp"],
  [/^StarWriterDocument$/, "sdw"],
  [/^StarCalcDocument$/, "sdc"],
  [/^StarDrawDocument3?$/, "sdd"],
  [/^StarMathDocument$/, "smf"],
  [/^StarChartDocument$/, "sds"],
  [/^(?:WksSSWorkBook|MatOST|MatadorObject|MM|MN0)$/, "works-ole"],
  [/^(?:NativeContent_MAIN|PerfectOffice_OBJECTS_QP)$/, "qpw"],
  [/^SlideShow$/, "shw"],
  [/^PerfectOffice_MAIN$/, "wordperfect-ole"],
  [/^(?:123W|WK4)$/, "lotus-ole"],
  [/^SwDocContentMgr$/, "sldworks"],
  [/^ClassDirectory\d$/, "max"],
  [/^Page \d+$/, "fla"],
  [/^(?:PowerPoint Document|PP40|PP97_DUALSTORAGE)$/, "ppt"],
  [/^WordDocument$/, "doc"],
  [/^(?:Workbook|Book|WORKBOOK|BOOK)$/, "xls"],
  [/^\u4840\u3f7f|^\u4840/, "msi"],
  [/^Catalog$/, "thumbs"],
  [/^(?:CONTENTS|SPELLING)$/, "works-ole"],
];

/** Old Office documents and their relatives: compound files, told apart by their directory where the sample has it. */
export function compoundFileKind(sample: Sample): Kind {
  const root = Buffer.from(bytesAt(sample, pointsTo(sample.head), ENTRY_BYTES));
  const byClass = ROOT_CLASSES[root.toString("hex", 80, 96)];
  if (byClass) return byClass;

  const pieces = [
    sample.middle,
    { at: 0, bytes: sample.head },
    { at: sample.sizeBytes - sample.tail.length, bytes: sample.tail },
  ];
  const names = new Set(pieces.flatMap((piece) => (piece ? [...entryNames(piece.bytes, piece.at)] : [])));
  return STREAMS.find(([pattern]) => [...names].some((name) => pattern.test(name)))?.[1] ?? "cfb";
}

/** Names in whatever looks like a directory entry: 128 aligned bytes, the name first, its length and type at 64. */
function* entryNames(bytes: Uint8Array, start: number): Generator<string> {
  const letters = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const misaligned = start % ENTRY_BYTES;
  for (let at = misaligned && ENTRY_BYTES - misaligned; at + ENTRY_BYTES <= bytes.length; at += ENTRY_BYTES) {
    const nameBytes = u16le(bytes, at + 64);
    const type = bytes[at + 66] ?? 0;
    if (nameBytes < 4 || nameBytes > 64 || type === 0 || type > 5 || u16le(bytes, at + nameBytes - 2) !== 0) continue;
    yield letters.toString("utf16le", at, at + nameBytes - 2);
  }
}
