import type { Kind } from "../kinds.ts";
import { bytesAt, type Sample } from "../sample.ts";

const MAGIC = Buffer.from("d0cf11e0a1b11ae1", "hex");
const ENTRY_BYTES = 128;

/** Class of the root storage, as it stands in the file, and the kind of document it means. */
const ROOT_CLASSES: Readonly<Record<string, Kind>> = {
  "0609020000000000c000000000000046": "doc",
  "0009020000000000c000000000000046": "doc",
  "2008020000000000c000000000000046": "xls",
  "1008020000000000c000000000000046": "xls",
  "108d81649b4fcf1186ea00aa00b929e8": "ppt",
  "141a020000000000c000000000000046": "vsd",
  "0112020000000000c000000000000046": "pub",
  "0b0d020000000000c000000000000046": "msg",
  "84100c0000000000c000000000000046": "msi",
};

/** Streams that only one kind of document has. A document may hold others inside it: the outermost come first. */
const STREAMS: readonly (readonly [string, Kind])[] = [
  ["EncryptedPackage", "ooxml-encrypted"],
  ["__properties_version1.0", "msg"],
  ["HwpSummaryInformation", "hwp"],
  ["VisioDocument", "vsd"],
  ["Quill", "pub"],
  ["PowerPoint Document", "ppt"],
  ["WordDocument", "doc"],
  ["Workbook", "xls"],
  ["Book", "xls"],
];

/** Old Office documents and their relatives: compound files, told apart by their directory where the sample has it. */
export function compoundFileKind(sample: Sample): Kind | undefined {
  const head = Buffer.from(sample.head.buffer, sample.head.byteOffset, sample.head.length);
  if (head.length < 52 || !head.subarray(0, 8).equals(MAGIC)) return undefined;

  const sectorBytes = 2 ** Math.min(head.readUInt16LE(30), 16);
  const directoryAt = (head.readUInt32LE(48) + 1) * sectorBytes;
  const root = Buffer.from(bytesAt(sample, directoryAt, ENTRY_BYTES));
  const byClass = ROOT_CLASSES[root.toString("hex", 80, 96)];
  if (byClass) return byClass;

  const tailStart = sample.sizeBytes - sample.tail.length;
  const names = new Set([...entryNames(head, 0), ...entryNames(Buffer.from(sample.tail), tailStart)]);
  return STREAMS.find(([name]) => names.has(name))?.[1] ?? "cfb";
}

/** Names in whatever looks like a directory entry: 128 aligned bytes, the name first, its length and type at 64. */
function* entryNames(bytes: Buffer, start: number): Generator<string> {
  const misaligned = start % ENTRY_BYTES;
  const first = misaligned === 0 ? 0 : ENTRY_BYTES - misaligned;
  for (let at = first; at + ENTRY_BYTES <= bytes.length; at += ENTRY_BYTES) {
    const nameBytes = bytes.readUInt16LE(at + 64);
    const type = bytes[at + 66] ?? 0;
    if (nameBytes < 4 || nameBytes > 64 || type === 0 || type > 5) continue;
    yield bytes.toString("utf16le", at, at + nameBytes - 2);
  }
}
