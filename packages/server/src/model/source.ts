/** Where the bytes of a file are. */
export type Source = UrlSource | ObjectSource | UploadSource;

export interface UrlSource {
  kind: "url";
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Names of headers that were deleted once they were not needed any more. */
  deletedHeaders?: readonly string[];
}

/** An object in a bucket: the version that is named, else the newest. */
export interface ObjectRef {
  bucket: string;
  key: string;
  version?: string;
}

export interface ObjectSource extends ObjectRef {
  kind: "object";
  /** Its link without the signature: download_url of a callback. */
  address?: string;
  /** Its tenant may not have this bucket scanned: found out at submission, and opened as one that is not there. */
  closed?: true;
}

/** An object as it was opened, so that whoever acts on it later can check that it is still the same. */
export interface SeenObject extends ObjectRef {
  /** Changes whenever the bytes do: an entity tag, a fingerprint. */
  mark: string;
  /** The store keeps no versions there: `version` is our own mark of the bytes, and nobody could ask for it later. */
  unversioned?: true;
}

/** Bytes that arrive with the request itself. They can be read once. */
export interface UploadSource extends OpenedSource {
  kind: "upload";
  /** As the client called it; of a form it is known once its bytes are read. */
  name?: string;
}

/** A source that answers: its bytes, to be read once, and how many there will be, if that is known. */
export interface OpenedSource {
  bytes: AsyncIterable<Uint8Array>;
  announcedBytes?: number;
  /** No more than these, where their number is not known: of a form. */
  atMostBytes?: number | undefined;
  /** Set for an object: which version of it these bytes are. */
  object?: SeenObject;
}

/** Why a source could not be read to its end: data, not a fault. */
export interface SourceFailure {
  /** What the report of such a file says. */
  finding: string;
  /** Node's error code, `HTTP_<status>` or `blocked_destination`. */
  code: string;
  /** For people; never holds a resolved address. */
  message: string;
  statusCode?: number;
  /** The length that was announced, where that alone made the file too big. */
  announcedBytes?: number;
  /** A later try may succeed (network error, 408, 425, 429, 5xx). */
  passing: boolean;
}

/** Thrown by a source's bytes, in mid-stream or before, so that whoever reads them stops; becomes a report. */
export class SourceFailed extends Error {
  readonly failure: SourceFailure;

  constructor(failure: SourceFailure, options?: ErrorOptions) {
    super(failure.message, options);
    this.name = "SourceFailed";
    this.failure = failure;
  }
}

/** The same, with a sign that there was a query. */
export function linkForPeople(url: string): string {
  if (PLAIN_LINK.test(url)) return url;
  const parsed = URL.parse(url);
  return `${originAndPath(parsed)}${parsed?.search ? "?…" : ""}`;
}

/** A URL for people's eyes: what follows the path may be a secret, and so may a user name, password or fragment. */
export function withoutQuery(url: string): string {
  return PLAIN_LINK.test(url) ? url : originAndPath(URL.parse(url));
}

/** Nothing in it is to be hidden, and `URL` would write it the same way: most links, for which there is no need to make one. */
const PLAIN_LINK = (() => {
  const octet = "(?:\\d|[1-9]\\d|1\\d\\d|2[0-4]\\d|25[0-5])";
  const address = `(?:${octet}\\.){3}${octet}`;
  // Two dashes may begin what is no name, and a number at the end an address.
  const name = "(?:[a-z0-9]+(?:-[a-z0-9]+)*\\.)*[a-z][a-z0-9]*";
  const port = "(?::[1-9]\\d{3}|:[1-5]\\d{4})?";
  // No part of it begins with a dot, which may mean another folder.
  const path = "(?:/(?:[\\w~=+-][\\w.~=+-]*)?)+";
  return new RegExp(`^https?://(?:${address}|${name})${port}${path}$`);
})();

function originAndPath(parsed: URL | null): string {
  return parsed ? `${parsed.protocol}//${parsed.host}${parsed.pathname}` : "(not a URL)";
}
