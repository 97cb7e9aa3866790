import type { Kind } from "../kinds.ts";
import { bytesAt, type Sample } from "../sample.ts";

/** A member of a ZIP as its local header or the central directory tells it. Nothing here is unpacked. */
export interface ZipMember {
  name: string;
  /** Offset of its local header in the file. */
  at: number;
  stored: boolean;
  packedBytes: number;
}

/** What headers start with, as bytes to look for and as the number they make. */
const LOCAL = "PK\x03\x04";
const CENTRAL = "PK\x01\x02";
const END = "PK\x05\x06";
const LOCAL_MARK = 0x04034b50;
const CENTRAL_MARK = 0x02014b50;
const END_MARK = 0x06054b50;
const SPLIT_MARK = 0x08074b50;
/** Enough to meet what gives a kind away; a ZIP of many small members is not read through. */
const MOST_MEMBERS = 300;
const LONGEST_NAME = 256;

/** What kind of ZIP it is by the names of its members, or nothing if it is no ZIP. */
export function zipKind(sample: Sample): Kind | undefined {
  const head = asBuffer(sample.head);
  if (head.length < 22) return undefined;
  const mark = head.readUInt32LE(0);
  if (mark === END_MARK) return "zip-empty";
  const first = mark === SPLIT_MARK ? head.readUInt32LE(4) : mark;
  if (first !== LOCAL_MARK) return undefined;
  const members = zipMembers(sample);
  const mimetype = members.find(({ name, stored }) => name === "mimetype" && stored);
  return (mimetype && byMimetype(sample, mimetype)) ?? byMarks(members) ?? "zip";
}

/** The members whose headers are in the sample: at the start of the file, and in the directory at its end. */
export function zipMembers(sample: Sample): readonly ZipMember[] {
  return [...localHeaders(sample), ...centralHeaders(sample)];
}

/** Where the packed bytes of a member are, as far as the sample has them. */
export function packedBytes(sample: Sample, member: ZipMember): Uint8Array {
  const header = Buffer.from(bytesAt(sample, member.at, 30));
  if (header.length < 30 || header.readUInt32LE(0) !== LOCAL_MARK) return new Uint8Array(0);
  const bytesStart = member.at + 30 + header.readUInt16LE(26) + header.readUInt16LE(28);
  return bytesAt(sample, bytesStart, member.packedBytes);
}

function* localHeaders(sample: Sample): Generator<ZipMember> {
  const head = asBuffer(sample.head);
  let at = head.indexOf(LOCAL, 0, "latin1");
  for (let count = 0; count < MOST_MEMBERS && at >= 0 && at + 30 <= head.length; count++) {
    if (head.readUInt32LE(at) !== LOCAL_MARK) return;
    const nameEnd = at + 30 + head.readUInt16LE(26 + at);
    const bytesStart = nameEnd + head.readUInt16LE(28 + at);
    const sizeKnown = head.readUInt32LE(18 + at);
    // A size of 0 may mean "told after the bytes": then the next header has to be looked for.
    const next = sizeKnown > 0 || (head.readUInt16LE(6 + at) & 8) === 0 ? bytesStart + sizeKnown : -1;
    const nextAt = next >= 0 ? next : head.indexOf(LOCAL, bytesStart, "latin1");
    yield {
      name: readName(head, at + 30, nameEnd),
      at,
      stored: head.readUInt16LE(8 + at) === 0,
      packedBytes: sizeKnown > 0 ? sizeKnown : Math.max(0, (nextAt < 0 ? head.length : nextAt) - bytesStart),
    };
    at = nextAt;
  }
}

function* centralHeaders(sample: Sample): Generator<ZipMember> {
  const tail = asBuffer(sample.tail);
  const end = tail.lastIndexOf(END, undefined, "latin1");
  const told = end >= 0 && end + 20 <= tail.length ? tail.readUInt32LE(end + 16) : -1;
  const inTail = told - (sample.sizeBytes - tail.length);
  let at = told >= 0 && inTail >= 0 && inTail < tail.length ? inTail : tail.indexOf(CENTRAL, 0, "latin1");
  for (let count = 0; count < MOST_MEMBERS && at >= 0 && at + 46 <= tail.length; count++) {
    if (tail.readUInt32LE(at) !== CENTRAL_MARK) return;
    const nameEnd = at + 46 + tail.readUInt16LE(28 + at);
    yield {
      name: readName(tail, at + 46, nameEnd),
      at: tail.readUInt32LE(42 + at),
      stored: tail.readUInt16LE(10 + at) === 0,
      packedBytes: tail.readUInt32LE(20 + at),
    };
    at = nameEnd + tail.readUInt16LE(30 + at) + tail.readUInt16LE(32 + at);
  }
}

const OASIS = "application/vnd.oasis.opendocument.";
const BY_MIMETYPE: Readonly<Record<string, Kind>> = {
  "application/epub+zip": "epub",
  [`${OASIS}text`]: "odt",
  [`${OASIS}spreadsheet`]: "ods",
  [`${OASIS}presentation`]: "odp",
  [`${OASIS}graphics`]: "odg",
  [`${OASIS}formula`]: "odf",
  [`${OASIS}base`]: "odb",
  [`${OASIS}text-template`]: "ott",
  [`${OASIS}spreadsheet-template`]: "ots",
  [`${OASIS}presentation-template`]: "otp",
  [`${OASIS}graphics-template`]: "otg",
};

function byMimetype(sample: Sample, member: ZipMember): Kind | undefined {
  const content = Buffer.from(packedBytes(sample, member).subarray(0, 128)).toString("latin1").trim();
  return Object.hasOwn(BY_MIMETYPE, content) ? BY_MIMETYPE[content] : undefined;
}

/** Marks that only one kind of ZIP has; each row needs all of its marks. The first row that fits wins. */
const BY_MARKS: readonly (readonly [Kind, ...string[]])[] = [
  ["xlsb", "xl/workbook.bin"],
  ["docm", "word/", "vbaProject.bin"],
  ["xlsm", "xl/", "vbaProject.bin"],
  ["pptm", "ppt/", "vbaProject.bin"],
  ["docx", "word/", "[Content_Types].xml"],
  ["docx", "word/", "_rels/.rels"],
  ["xlsx", "xl/", "[Content_Types].xml"],
  ["xlsx", "xl/", "_rels/.rels"],
  ["pptx", "ppt/", "[Content_Types].xml"],
  ["pptx", "ppt/", "_rels/.rels"],
  ["vsdx", "visio/", "[Content_Types].xml"],
  ["3mf", "3D/", "[Content_Types].xml"],
  ["xps", "FixedDocSeq.fdseq"],
  ["xps", "FixedDocumentSequence.fdseq"],
  ["appx", "AppxManifest.xml"],
  ["vsix", "extension.vsixmanifest"],
  ["nupkg", ".nuspec", "[Content_Types].xml"],
  ["ooxml", "[Content_Types].xml", "_rels/.rels"],
  ["apk", "AndroidManifest.xml"],
  ["apk", "classes.dex"],
  ["aab", "base/manifest/AndroidManifest.xml"],
  ["ipa", "Payload/", ".app/"],
  ["war", "WEB-INF/"],
  ["xpi", "META-INF/mozilla.rsa"],
  ["xpi", "install.rdf"],
  ["epub", "META-INF/container.xml"],
  ["jar", "META-INF/MANIFEST.MF"],
  ["whl", ".dist-info/WHEEL"],
  ["kmz", "doc.kml"],
  ["key", "Index/Slide.iwa"],
  ["numbers", "Index/CalculationEngine.iwa", "Index/Tables/"],
  ["pages", "Index/Document.iwa"],
];
const MARKS: ReadonlySet<string> = new Set(BY_MARKS.flatMap(([, ...marks]) => marks));
const ENDINGS = ["vbaProject.bin", ".nuspec", ".dist-info/WHEEL"] as const;

function byMarks(members: readonly ZipMember[]): Kind | undefined {
  const found = new Set<string>();
  for (const { name } of members) {
    if (MARKS.has(name)) found.add(name);
    const folder = name.slice(0, name.indexOf("/") + 1);
    if (MARKS.has(folder)) found.add(folder);
    for (const ending of ENDINGS) if (name.endsWith(ending)) found.add(ending);
    if (name.startsWith("Payload/") && name.includes(".app/")) found.add(".app/");
    if (name.startsWith("Index/Tables/")) found.add("Index/Tables/");
    if (name.startsWith("Index/Slide")) found.add("Index/Slide.iwa");
  }
  return BY_MARKS.find(([, ...marks]) => marks.every((mark) => found.has(mark)))?.[0];
}

function readName(bytes: Buffer, start: number, end: number): string {
  return bytes.toString("latin1", start, Math.min(end, start + LONGEST_NAME, bytes.length));
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
