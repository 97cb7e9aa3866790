import { parseContentType, splitOutsideQuotes } from "./content-type.ts";

/** What the headers of one part of a form tell. The file's name is never used for anything. */
export type PartHeaders = { kind: "part"; isFile: boolean } | { kind: "malformed"; why: string };

const MAX_HEADERS = 100;
/** Encodings that leave the bytes as they are; another one would hide the file from the engine. */
const PLAIN_ENCODINGS = ["7bit", "8bit", "binary"];

export function parsePartHeaders(text: string): PartHeaders {
  const lines = text === "" ? [] : text.split("\r\n");
  if (lines.length > MAX_HEADERS) return { kind: "malformed", why: `a part has more than ${MAX_HEADERS} headers` };
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(0, colon)).toLowerCase();
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name)) return { kind: "malformed", why: "a part has a malformed header" };
    if (headers.has(name)) return { kind: "malformed", why: "a part has the same header twice" };
    headers.set(name, line.slice(colon + 1).trim());
  }
  const disposition = headers.get("content-disposition");
  if (!/^form-data(?:[\s;]|$)/i.test(disposition ?? "")) {
    return { kind: "malformed", why: "a part has no Content-Disposition: form-data" };
  }
  const encoding = headers.get("content-transfer-encoding")?.toLowerCase() ?? "binary";
  if (!PLAIN_ENCODINGS.includes(encoding) || headers.has("content-encoding")) {
    return { kind: "malformed", why: "a part is encoded" };
  }
  return { kind: "part", isFile: hasFilename(disposition ?? "") || hasBinaryType(headers.get("content-type")) };
}

function hasFilename(disposition: string): boolean {
  return splitOutsideQuotes(disposition).some((part) => /^\s*filename\*?\s*=/i.test(part));
}

/** A part without a file name is a field, unless it says to be more than text. */
function hasBinaryType(contentType: string | undefined): boolean {
  if (contentType === undefined) return false;
  return parseContentType(contentType)?.name !== "text/plain";
}
