import { constants, inflateRawSync } from "node:zlib";
import type { Kind } from "../kinds.ts";
import { packedBytes, zipMembers } from "../quick/zip-family.ts";
import type { Sample } from "../sample.ts";

/** What the list of parts calls the main part of a document, and the kind this makes it. */
const MAIN_PARTS: readonly (readonly [string, Kind])[] = [
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

const MOST_BYTES = 1024 * 1024;

/** The kind of Office document by its list of content types. The macros' part may have any name, but not any type. */
export function contentTypesKind(sample: Sample): Kind | undefined {
  const members = zipMembers(sample);
  const candidates = members.filter(({ name }) => name === "[Content_Types].xml");
  const list = candidates.map((member) => unpack(packedBytes(sample, member), member.stored)).find((xml) => xml !== "");
  if (list === undefined) return undefined;
  const kind = MAIN_PARTS.find(([part]) => list.includes(part))?.[1];
  const macros = list.includes("ms-office.vbaProject") || members.some(({ name }) => name.endsWith("/vbaProject.bin"));
  return kind && macros ? (WITH_MACROS[kind] ?? kind) : kind;
}

function unpack(bytes: Uint8Array, stored: boolean): string {
  if (stored) return Buffer.from(bytes).toString("latin1");
  try {
    // The end of the member may lie outside the sample: what is there is enough.
    const options = { maxOutputLength: MOST_BYTES, finishFlush: constants.Z_SYNC_FLUSH };
    return inflateRawSync(bytes, options).toString("latin1");
  } catch {
    return "";
  }
}
