import { HEADERS_MAX_BYTES, HEADERS_MAX_COUNT } from "./limits.ts";

/** Which header map of a submission it is. */
export type HeaderMap = "download_headers" | "callback_headers";

export type CheckedHeaders =
  | { kind: "ok"; headers: Record<string, string> }
  | { kind: "invalid"; message: string; hint?: string };

/** Headers that decide about the connection or the framing: never a client's. */
const refused: ReadonlyMap<string, string> = new Map([
  ["connection", "it belongs to the connection, which the service makes"],
  ["keep-alive", "it belongs to the connection, which the service makes"],
  ["te", "it belongs to the connection, which the service makes"],
  ["trailer", "it belongs to the framing, which the service chooses"],
  ["transfer-encoding", "it belongs to the framing, which the service chooses"],
  ["content-length", "it belongs to the framing, which the service chooses"],
  ["upgrade", "the service speaks HTTP/1.1 and nothing else"],
  ["http2-settings", "the service speaks HTTP/1.1 and nothing else"],
  ["expect", "the service does not wait for 100 Continue"],
  ["host", "it is taken from the URL"],
]);

/** A download must be the whole file. On a callback they mean nothing to us, and are sent. */
const refusedOnDownloads: ReadonlySet<string> = new Set(["range", "if-range"]);

/**
 * Set by the service on every callback, or left out by it: a client's value is passed over. Whether callbacks are signed
 * makes no difference: a client must not be able to make one up that looks signed.
 */
const setOnCallbacks: ReadonlySet<string> = new Set([
  "content-type",
  "content-length",
  "content-encoding",
  "x-signature",
  "x-timestamp",
]);

/**
 * The rules for headers that a client wants sent. Names are kept as they were written. A value never gets into a
 * message: it may be a credential.
 */
export function checkHeaders(headers: Readonly<Record<string, unknown>>, where: HeaderMap): CheckedHeaders {
  const entries = Object.entries(headers);
  if (entries.length > HEADERS_MAX_COUNT) return invalid(`${where} has over ${HEADERS_MAX_COUNT} names`);

  const seen = new Set<string>();
  const kept: [name: string, value: string][] = [];
  let bytes = 0;
  for (const [name, value] of entries) {
    const key = name.toLowerCase();
    if (!isToken(name)) return invalid(`${where} has a name that is not a valid header name`);
    if (seen.has(key)) return invalid(`${where} has ${name} twice, in different cases`);
    seen.add(key);
    if (typeof value !== "string") return invalid(`${name} in ${where} is not a string`);
    if (!isFieldValue(value)) return invalid(`${name} in ${where} has characters that a header cannot hold`);
    bytes += name.length + value.length;
    if (bytes > HEADERS_MAX_BYTES) return invalid(`${where} has over ${HEADERS_MAX_BYTES} bytes`);
    if (isPassedOver(key, where)) continue;
    const reason = refusalOf(key, where);
    if (reason !== undefined) return invalid(`${name} is not allowed in ${where}`, reason);
    kept.push([name, value]);
  }
  return { kind: "ok", headers: Object.fromEntries(kept) };
}

/** RFC 9110, 5.1. `__proto__` would be one; no server asks for it, and no object should be given it. */
function isToken(name: string): boolean {
  return /^[\w!#$%&'*+\-.^`|~]+$/.test(name) && name !== "__proto__";
}

/** RFC 9110, 5.5: visible characters, space and tab, and the upper half of latin1. */
function isFieldValue(value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
}

function isPassedOver(key: string, where: HeaderMap): boolean {
  // We always ask for the bytes as they are: an encoded body would be counted and scanned as something else.
  if (where === "download_headers") return key === "accept-encoding";
  return setOnCallbacks.has(key) || key.startsWith("x-delivery-");
}

function refusalOf(key: string, where: HeaderMap): string | undefined {
  if (where === "download_headers" && refusedOnDownloads.has(key)) return "the whole file is always scanned";
  return key.startsWith("proxy-") ? "it is for proxies, and the service uses none" : refused.get(key);
}

function invalid(message: string, hint?: string): CheckedHeaders {
  return { kind: "invalid", message, ...(hint !== undefined && { hint }) };
}
