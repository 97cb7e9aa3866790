type Headers = Readonly<Record<string, string>>;

/**
 * Headers that belong to the service, to how the body is written, or to the connection. A client's are passed over:
 * most were refused when the job came, but a job may be older than that rule.
 */
const reserved: ReadonlySet<string> = new Set([
  "content-type",
  "content-length",
  "content-encoding",
  "x-signature",
  "x-timestamp",
  "host",
  "connection",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
  "expect",
]);
const reservedPrefixes = ["x-delivery-", "proxy-"];

/**
 * The headers of one POST as undici takes them: name, value, name, value. Names are compared without regard to case,
 * so each is sent once. Those of the service stand above the client's, the client's above the defaults.
 */
export function mergeHeaders(headers: { defaults: Headers; client: Headers; service: Headers }): string[] {
  const merged = new Map<string, readonly [name: string, value: string]>();
  const put = ([name, value]: [string, string]): unknown => merged.set(name.toLowerCase(), [name, value]);
  Object.entries(headers.defaults).forEach(put);
  Object.entries(headers.client)
    .filter(([name]) => !isReserved(name.toLowerCase()))
    .forEach(put);
  Object.entries(headers.service).forEach(put);
  return [...merged.values()].flat();
}

function isReserved(name: string): boolean {
  return reserved.has(name) || reservedPrefixes.some((prefix) => name.startsWith(prefix));
}
