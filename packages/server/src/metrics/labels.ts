/** What a field of the log becomes as a label: one of a few words, whatever a client or a receiver sent. */

const METHODS: readonly unknown[] = ["GET", "HEAD", "POST"];

export function methodLabel(method: unknown): string {
  return METHODS.includes(method) ? String(method) : "other";
}

/** `2xx` for all that went well; of what was never answered, `none`. */
export function statusClass(status: unknown): string {
  const first = Math.floor(Number(status) / 100);
  return first >= 1 && first <= 5 ? (CLASSES[first] ?? "none") : "none";
}

const CLASSES = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"];

/** The endpoints that scan or take jobs by their names, the others in groups. */
export function endpointLabel(endpoint: unknown): string {
  let label = labels.get(endpoint);
  if (label === undefined) {
    label = groupOf(typeof endpoint === "string" ? endpoint : "");
    labels.set(endpoint, label);
  }
  return label;
}

/** By the names of endpoints, of which there are so many as routes.ts has. */
const labels = new Map<unknown, string>();

function groupOf(endpoint: string): string {
  if (/^a?sync[A-Z]/.test(endpoint)) return endpoint;
  if (/^(?:admin|console)/.test(endpoint)) return "console";
  if (/^(?:healthz|livez|readyz)$/.test(endpoint)) return "health";
  return /^(?:metrics|tenantMetrics)$/.test(endpoint) ? "metrics" : "other";
}

/** Why no answer came from a receiver; what it answered is its status. */
const CODES: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "headers_timeout",
  "bad_response",
  "blocked_destination",
  "aborted",
]);

export function callbackCode(code: unknown): string {
  if (code === undefined || /^HTTP_/.test(String(code))) return "none";
  return CODES.has(code) ? String(code) : "other";
}

/** How a run of a job ends, as its line in the log says. */
export const SETTLEMENTS: readonly string[] = ["done", "again", "buried", "put back", "lease lost", "fault"];

/** Answers that are counted from 0 on, so that the first of a kind is seen as a rise. */
export const KNOWN_REQUESTS: readonly (readonly [string, number])[] = [
  ...[200, 204, 400, 401, 404, 500, 503].map((status) => ["GET", status] as const),
  ...[200, 201, 204, 400, 401, 403, 408, 413, 415, 429, 499, 500, 503, 504].map((status) => ["POST", status] as const),
];

/** The same for the time of answers that went well. */
export const KNOWN_ENDPOINTS: readonly (readonly [string, string])[] = [
  "syncBinary",
  "syncForm",
  "syncDownload",
  "syncObject",
  "asyncDownload",
  "asyncObject",
  "asyncResult",
].map((endpoint) => [endpoint, "2xx"] as const);
