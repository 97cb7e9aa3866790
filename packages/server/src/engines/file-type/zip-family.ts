import { constants, inflateRawSync } from "node:zlib";
import type { Kind } from "./kinds.ts";
import { bytesAt, type Sample } from "./sample.ts";

/** A member of a ZIP as its local header or the central directory tells it. */
interface ZipMember {
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
/** Enough to meet what gives a kind away; a ZIP of many small members is not read through. */
const MOST_MEMBERS = 300;
const LONGEST_NAME = 256;

/** The members whose headers are in the sample: at the start of the file, and in the directory at its end. */
function zipMembers(sample: Sample): readonly ZipMember[] {
  return [...localHeaders(sample), ...centralHeaders(sample)];
}

/** Where the packed bytes of a member are, as far as the sample has them. */
function packedBytes(sample: Sample, member: ZipMember): Uint8Array {
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
    // A size of 0 may mean "stated after the bytes": then the next header has to be looked for.
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
  const stated = end >= 0 && end + 20 <= tail.length ? tail.readUInt32LE(end + 16) : -1;
  const inTail = stated - (sample.sizeBytes - tail.length);
  let at = stated >= 0 && inTail >= 0 && inTail < tail.length ? inTail : tail.indexOf(CENTRAL, 0, "latin1");
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

const OASIS = "vnd.oasis.opendocument.";
const SUN = "vnd.sun.xml.";
/** What a member `mimetype`, or the list of an OpenDocument's files, says the whole is. */
const BY_MIMETYPE: Readonly<Record<string, Kind>> = {
  "epub+zip": "epub",
  [`${OASIS}text`]: "odt",
  [`${OASIS}text-master`]: "odm",
  [`${OASIS}text-web`]: "oth",
  [`${OASIS}spreadsheet`]: "ods",
  [`${OASIS}presentation`]: "odp",
  [`${OASIS}graphics`]: "odg",
  [`${OASIS}drawing`]: "odg",
  [`${OASIS}chart`]: "odc",
  [`${OASIS}image`]: "odi",
  [`${OASIS}formula`]: "odf",
  [`${OASIS}base`]: "odb",
  [`${OASIS}database`]: "odb",
  [`${OASIS}text-template`]: "ott",
  [`${OASIS}spreadsheet-template`]: "ots",
  [`${OASIS}presentation-template`]: "otp",
  [`${OASIS}graphics-template`]: "otg",
  [`${SUN}writer`]: "sxw",
  [`${SUN}writer.template`]: "sxw",
  [`${SUN}writer.global`]: "sxg",
  [`${SUN}calc`]: "sxc",
  [`${SUN}calc.template`]: "sxc",
  [`${SUN}impress`]: "sxi",
  [`${SUN}impress.template`]: "sxi",
  [`${SUN}draw`]: "sxd",
  [`${SUN}draw.template`]: "sxd",
  [`${SUN}math`]: "sxm",
  [`${SUN}base`]: "odb",
  "x-krita": "kra",
  "hwp+zip": "hwpx",
  "vnd.adobe.indesign-idml-package": "idml",
};

/** What the list of parts calls the main part of an Office document. */
const BY_MAIN_PART: readonly (readonly [string, Kind])[] = [
  ["wordprocessingml.document.main+xml", "docx"],
  ["wordprocessingml.template.main+xml", "dotx"],
  ["ms-word.document.macroEnabled.main+xml", "docm"],
  ["ms-word.template.macroEnabledTemplate.main+xml", "dotm"],
  ["spreadsheetml.sheet.main+xml", "xlsx"],
  ["spreadsheetml.template.main+xml", "xltx"],
  ["ms-excel.sheet.macroEnabled.main+xml", "xlsm"],
  ["ms-excel.template.macroEnabled.main+xml", "xltm"],
  ["ms-excel.addin.macroEnabled.main+xml", "xlam"],
  ["ms-excel.sheet.binary.macroEnabled.main", "xlsb"],
  ["presentationml.presentation.main+xml", "pptx"],
  ["presentationml.template.main+xml", "potx"],
  ["presentationml.slideshow.main+xml", "ppsx"],
  ["ms-powerpoint.presentation.macroEnabled.main+xml", "pptm"],
  ["ms-powerpoint.template.macroEnabled.main+xml", "potm"],
  ["ms-powerpoint.slideshow.macroEnabled.main+xml", "ppsm"],
  ["ms-powerpoint.addin.macroEnabled.main+xml", "ppam"],
  ["ms-visio.drawing.main+xml", "vsdx"],
  ["ms-visio.drawing.macroEnabled.main+xml", "vsdm"],
  ["ms-package.xps-fixeddocumentsequence+xml", "xps"],
];

/** Kinds that have no macros by their name, for documents that have some all the same. */
const WITH_MACROS: Partial<Record<Kind, Kind>> = {
  docx: "docm",
  dotx: "dotm",
  xlsx: "xlsm",
  xltx: "xltm",
  pptx: "pptm",
  potx: "potm",
  ppsx: "ppsm",
  vsdx: "vsdm",
};

/** Names of members that only one kind of ZIP has; each row needs all of its patterns. The first row that fits wins. */
const BY_NAMES: readonly (readonly [Kind, ...RegExp[]])[] = [
  ["xlsb", /^xl\/workbook\.bin$/],
  ["docx", /^word\//, /^(?:\[Content_Types\]\.xml|_rels\/\.rels)$/],
  ["xlsx", /^xl\//, /^(?:\[Content_Types\]\.xml|_rels\/\.rels)$/],
  ["pptx", /^ppt\//, /^(?:\[Content_Types\]\.xml|_rels\/\.rels)$/],
  ["vsdx", /^visio\//, /^\[Content_Types\]\.xml$/],
  ["3mf", /^3D\//, /^\[Content_Types\]\.xml$/],
  ["xps", /^(?:FixedDocSeq|FixedDocumentSequence)\.fdseq(?:\/|$)/i],
  ["appx", /^AppxManifest\.xml$/],
  ["vsix", /^extension\.vsixmanifest$/],
  ["nupkg", /^[^/]+\.nuspec$/],
  ["ooxml", /^\[Content_Types\]\.xml$/, /^_rels\/\.rels$/],
  ["apk", /^(?:AndroidManifest\.xml|classes\.dex)$/],
  ["aab", /^base\/manifest\/AndroidManifest\.xml$/],
  ["ipa", /^Payload\/[^/]+\.app\//],
  ["war", /^WEB-INF\//],
  ["xpi", /^(?:META-INF\/mozilla\.rsa|install\.rdf)$/],
  ["idml", /^designmap\.xml$/],
  ["epub", /^META-INF\/container\.xml$/],
  ["whl", /^[^/]+\.dist-info\/WHEEL$/],
  ["kmz", /^[^/]+\.kml$/],
  ["hwpx", /^Contents\/content\.hpf$/],
  ["key", /^(?:index|presentation)\.apxl(?:\.gz)?$/],
  ["key", /^Index\/(?:Master|Template)?Slide/],
  ["key", /^Data\/[ms]t\d+(?:@2x)?\.\w+$/, /^Index\.zip$/],
  ["iwork", /^(?:Index\/Document\.iwa|Index\.zip|index\.xml(?:\.gz)?)$/],
  ["jar", /^META-INF\/MANIFEST\.MF$/],
  ["ora", /^stack\.xml$/],
];

/** What kind of ZIP it is by what its members are called, and by what the few that describe the others say. */
export function zipKind(sample: Sample): Kind {
  const members = zipMembers(sample);
  const content = (name: string): string => {
    const named = members.filter((member) => member.name === name);
    return (
      named.map((member) => unpacked(packedBytes(sample, member), member.stored)).find((text) => text !== "") ?? ""
    );
  };
  const kind =
    byMimetype(content("mimetype")) ??
    BY_NAMES.find(([, ...wanted]) => wanted.every((pattern) => members.some(({ name }) => pattern.test(name))))?.[0];
  if (kind === "iwork") return iworkKind(content) ?? kind;
  if (members.some(({ name }) => name === "[Content_Types].xml")) {
    const list = content("[Content_Types].xml");
    const main = BY_MAIN_PART.find(([part]) => list.includes(part))?.[1] ?? kind ?? "zip";
    const macros =
      list.includes("ms-office.vbaProject") || members.some(({ name }) => name.endsWith("/vbaProject.bin"));
    return macros ? (WITH_MACROS[main] ?? main) : main;
  }
  if (kind) return kind;
  const listed = /full-path="\/"[^>]*media-type="([^"]*)"|media-type="([^"]*)"[^>]*full-path="\/"/.exec(
    content("META-INF/manifest.xml"),
  );
  return byMimetype(listed?.[1] ?? listed?.[2] ?? "") ?? "zip";
}

function byMimetype(content: string): Kind | undefined {
  const type = content.trim().replace(/^application\//, "");
  return Object.hasOwn(BY_MIMETYPE, type) ? BY_MIMETYPE[type] : undefined;
}

/** Pages and Numbers name their members alike. The first record of a Pages document has a number of its own, 10000. */
function iworkKind(content: (name: string) => string): Kind | undefined {
  const root = /<(?:sl|ls|key):(?:document|presentation)\b/.exec(content("index.xml"))?.[0] ?? "";
  if (root !== "") return root.startsWith("<sl") ? "pages" : root.startsWith("<ls") ? "numbers" : "key";
  const inner = content("Index.zip");
  const records = content("Index/Document.iwa").slice(0, 64) || inner;
  if (inner.includes("Slide")) return "key";
  return records === "" ? undefined : records.includes("\x08\x90\x4e") ? "pages" : "numbers";
}

/** No list that describes a document is larger. */
const MOST_PACKED_BYTES = 64 * 1024;
const MOST_BYTES = 512 * 1024;
const BEGINNING_BYTES = 256;

function unpacked(bytes: Uint8Array, stored: boolean): string {
  if (stored) return Buffer.from(bytes.subarray(0, MOST_PACKED_BYTES)).toString("latin1");
  // The end of the member may lie outside the sample: what is there is enough. So is its beginning, if there is too much.
  const options = { maxOutputLength: MOST_BYTES, finishFlush: constants.Z_SYNC_FLUSH };
  for (const most of [MOST_PACKED_BYTES, BEGINNING_BYTES]) {
    try {
      return inflateRawSync(bytes.subarray(0, most), options).toString("latin1");
    } catch {}
  }
  return "";
}

function readName(bytes: Buffer, start: number, end: number): string {
  return bytes.toString("latin1", start, Math.min(end, start + LONGEST_NAME, bytes.length));
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
