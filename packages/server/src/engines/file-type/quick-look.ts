import type { Kind } from "./kinds.ts";
import { compoundFileKind } from "./quick/compound-file.ts";
import { mediaKind, pdfKind, pngKind } from "./quick/containers.ts";
import { executableKind } from "./quick/executables.ts";
import { jsonKind } from "./quick/json-look.ts";
import { markupKind } from "./quick/markup.ts";
import { plainFormatKind, tableKind, yamlKind } from "./quick/plain-formats.ts";
import { bySignature } from "./quick/signatures.ts";
import { interpreterKind, sourceKind } from "./quick/source-code.ts";
import { firstLines, readText, type Text } from "./quick/text.ts";
import { zipKind } from "./quick/zip-family.ts";
import type { Sample } from "./sample.ts";

/** What a look at the first and last bytes tells, and whether a closer look could tell more. */
export interface QuickLook {
  kind: Kind;
  sure: boolean;
}

/** Kinds that have kinds of their own, which only unpacking or following a file's structure tells. */
const COARSE: ReadonlySet<Kind> = new Set<Kind>([
  "docx",
  "docm",
  "xlsx",
  "xlsm",
  "pptx",
  "pptm",
  "vsdx",
  "ooxml",
  "gz",
  "tif",
  "data",
] as const);

/**
 * The kind of file by magic numbers and the look of its text. Runs where the bytes arrive: it never unpacks, follows
 * no more than a bounded number of headers, and takes time in proportion to the sample at worst.
 */
export function quickLook(sample: Sample): QuickLook {
  const kind = sample.sizeBytes === 0 ? "empty" : (binaryKind(sample) ?? leadingTextKind(sample) ?? "data");
  return { kind, sure: !COARSE.has(kind) };
}

function binaryKind(sample: Sample): Kind | undefined {
  const structured = pdfKind(sample) ?? executableKind(sample) ?? zipKind(sample) ?? compoundFileKind(sample);
  if (structured) return structured;

  // Read once, and only if it is needed: the letters of a signature may be those of a text.
  let read: { text: Text | undefined } | undefined;
  const text = (): Text | undefined => {
    read ??= { text: readText(sample) };
    return read.text;
  };
  const signed = bySignature(sample, () => text() !== undefined) ?? mediaKind(sample);
  if (signed) return signed === "png" ? pngKind(sample.head) : signed;
  const written = text();
  return written && textKind(written);
}

function textKind(text: Text): Kind {
  const form = formKind(text) ?? jsonKind(text);
  if (form) return form;
  const lines = firstLines(text);
  // Text in one long line has no whole line to look at but its start.
  const written = lines.length > 0 ? lines : [text.start];
  return sourceKind(text.start, written) ?? tableKind(lines) ?? yamlKind(lines) ?? text.encoding;
}

/** Forms that a few lines prove. */
function formKind(text: Text): Kind | undefined {
  return interpreterKind(text.start) ?? markupKind(text) ?? plainFormatKind(text);
}

const LEADING_BYTES = 512;
const FEWEST_LEADING_BYTES = 8;

/** Scripts, pages and letters may carry a load of other bytes behind their text, and work all the same. */
function leadingTextKind(sample: Sample): Kind | undefined {
  const zero = sample.head.indexOf(0);
  const head = sample.head.subarray(0, Math.min(LEADING_BYTES, zero < 0 ? LEADING_BYTES : zero));
  if (head.length < Math.min(FEWEST_LEADING_BYTES, sample.sizeBytes)) return undefined;
  const text = readText({ head, tail: head, sizeBytes: head.length });
  return text && formKind(text);
}
