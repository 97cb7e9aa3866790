import { Problem } from "../problem.ts";
import type { ApiRequest } from "../request-answer.ts";

export interface ContentType {
  /** In lower case, without parameters. */
  name: string;
  parameters: ReadonlyMap<string, string>;
}

/** Undefined for what is not a media type. Parameter values may be quoted. */
export function parseContentType(header: string | undefined): ContentType | undefined {
  const [first = "", ...rest] = splitOutsideQuotes(header ?? "");
  const name = first.trim().toLowerCase();
  if (!/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/.test(name)) return undefined;
  const parameters = new Map<string, string>();
  for (const part of rest) {
    const [, key, value] = /^([\w!#$&^.+-]+)=(.*)$/s.exec(part.trim()) ?? [];
    if (key === undefined || value === undefined || parameters.has(key.toLowerCase())) continue;
    parameters.set(key.toLowerCase(), value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/gs, "$1") : value);
  }
  return { name, parameters };
}

/** Splits at semicolons that are not inside a quoted string, in one pass over hostile text. */
export function splitOutsideQuotes(header: string): string[] {
  const parts: string[] = [];
  let start = 0;
  let quoted = false;
  for (let at = 0; at < header.length; at += 1) {
    const character = header[at];
    if (quoted && character === "\\") at += 1;
    else if (character === '"') quoted = !quoted;
    else if (character === ";" && !quoted) {
      parts.push(header.slice(start, at));
      start = at + 1;
    }
  }
  parts.push(header.slice(start));
  return parts;
}

/** One after the other sends the same. */
let last: { header: string | undefined; type: ContentType | undefined } = { header: undefined, type: undefined };

export function requireContentType(request: ApiRequest, expected: string): ContentType {
  const header = request.headers["content-type"];
  if (header !== last.header) last = { header, type: parseContentType(header) };
  const { type } = last;
  const charset = type?.parameters.get("charset")?.toLowerCase() ?? "utf-8";
  if (type?.name === expected && (charset === "utf-8" || charset === "utf8" || expected !== "application/json")) {
    return type;
  }
  throw new Problem(415, "unsupported_media_type", {
    message: type ? `the content type is ${type.name}` : "the content type is missing or malformed",
    hint: `send Content-Type: ${expected}`,
  });
}

/** An encoded body would be scanned in its encoded form, which proves nothing about what is in it. */
export function requireIdentityEncoding(request: ApiRequest): void {
  const encoding = request.headers["content-encoding"]?.trim().toLowerCase() ?? "";
  // Node takes off the chunks only: after `deflate, chunked` the bytes would not be the file's.
  const framing = request.headers["transfer-encoding"]?.trim().toLowerCase() ?? "chunked";
  if ((encoding === "" || encoding === "identity") && framing === "chunked") return;
  throw new Problem(415, "unsupported_encoding", {
    message:
      framing === "chunked" ? "the body has a Content-Encoding" : "the body has a Transfer-Encoding besides chunked",
    hint: "send the file as it is, without Content-Encoding and with no Transfer-Encoding but chunked",
    // Where such a body ends, others may see differently.
    ...(framing !== "chunked" && { headers: { Connection: "close" } }),
  });
}
