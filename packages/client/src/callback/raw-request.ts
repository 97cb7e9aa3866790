import { bytesIn } from "../http/read-bytes.ts";
import { CallbackRefusedError } from "./refused.ts";

/** As the platforms hand them over. */
export type HeadersInput =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** A callback as it came. */
export interface RawCallback {
  /** The very bytes, or their text; not what a parser made of them. */
  body: Uint8Array | ArrayBuffer | string;
  headers: HeadersInput;
  /** Handed to the `callbackUrl` function, if that is what you use. */
  url?: string | undefined;
}

/** What a `callbackUrl` function can decide by. */
export interface CallbackRequest {
  /** As the platform has it: the whole URL, or its path and query only. */
  url: string;
  header(name: string): string | undefined;
}

export function bytesOfBody(body: unknown): Uint8Array<ArrayBuffer> {
  if (typeof body === "string") return new TextEncoder().encode(body);
  const bytes = bytesIn(body);
  // Copied: what is verified must be what is parsed afterwards.
  if (bytes) return new Uint8Array(bytes);
  throw parsedBody(body === undefined || body === null ? "there is no raw body" : "the body is a parsed object");
}

export function parsedBody(what: string): CallbackRefusedError {
  return new CallbackRefusedError(
    "parsed_body",
    `${what}, and the signature is over the bytes as they came: let no body parser see this route first`,
  );
}

/** Names in whatever case. A header that came twice is joined, as HTTP says. */
export function headerIn(headers: HeadersInput, name: string): string | undefined {
  if (isLookup(headers)) return headers.get(name) ?? undefined;
  const wanted = name.toLowerCase();
  const values = Object.entries(headers).flatMap(([each, value]) =>
    each.toLowerCase() === wanted && value !== undefined ? value : [],
  );
  return values.length > 0 ? values.join(", ") : undefined;
}

function isLookup(headers: HeadersInput): headers is { get(name: string): string | null } {
  return typeof headers.get === "function";
}
