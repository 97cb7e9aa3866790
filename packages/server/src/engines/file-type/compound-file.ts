import type { Kind } from "./kinds.ts";
import { bytesAt, pointsTo, type Sample, u16le } from "./sample.ts";

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
