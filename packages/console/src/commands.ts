import type { AdminSource } from "@lazaret/contract/admin";
import { shellWord } from "./text.ts";
import { session } from "./wire/api.ts";

/** Commands and code to copy, with this server's address. The key is never in them: the reader has it in LAZARET_API_KEY. */

const AUTH = `-H "Authorization: Bearer $LAZARET_API_KEY"`;

function api(path: string): string {
  return `${(session.value?.api_url ?? location.origin).replace(/\/$/, "")}${path}`;
}

export function curlFile(name: string): string {
  // A file name that begins with a dash or an @ is still a file name.
  const file = shellWord(`@./${name}`);
  const type = `-H "Content-Type: application/octet-stream"`;
  return `curl ${AUTH} ${type} --data-binary ${file} ${shellWord(api("/api/v1/scan/sync/binary"))}`;
}

export function curlSource(source: AdminSource): string {
  if (source.kind === "upload") return curlFile(lastPart(source.name ?? "report.pdf"));
  if (source.kind === "url") return curlJson("/api/v1/scan/sync/download", { download_url: source.url });
  const { bucket, key, version } = source;
  return curlJson("/api/v1/scan/sync/objstore", { bucket, key, ...(version !== undefined && { version }) });
}

export function curlJob(): string {
  return curlJson("/api/v1/scan/async/download", { download_url: "https://example.com/", trace_id: "my-first-job" });
}

function curlJson(path: string, body: object): string {
  return `curl ${AUTH} -H "Content-Type: application/json" -d ${shellWord(JSON.stringify(body))} ${shellWord(api(path))}`;
}

export function clientCode(source: AdminSource): string {
  const what =
    source.kind === "url" ? { url: source.url } : source.kind === "object" ? objectOf(source) : fileOf(source);
  return `import { isClean, Lazaret } from "@lazaret/client";

const lazaret = new Lazaret({ baseUrl: ${JSON.stringify(api(""))}, apiKey: process.env.LAZARET_API_KEY });
const result = await lazaret.scan(${JSON.stringify(what)});
if (!isClean(result)) throw new Error(\`refused: \${result.status} \${result.finding ?? ""}\`);
`;
}

function objectOf({ bucket, key, version }: Extract<AdminSource, { kind: "object" }>): object {
  return { bucket, key, ...(version !== undefined && { version }) };
}

function fileOf(source: Extract<AdminSource, { kind: "upload" }>): object {
  return { file: lastPart(source.name ?? "report.pdf") };
}

/** Of a folder that was dropped the reader's shell knows nothing. */
function lastPart(path: string): string {
  return path.split("/").at(-1) || "report.pdf";
}

export function verifySnippet(): string {
  return `import { createCallbackVerifier } from "@lazaret/client";

const verifier = createCallbackVerifier({
  keyUrl: ${JSON.stringify(api("/.well-known/lazaret/callback-key.pem"))},
  callbackUrl: "https://you.example.com/scanned",
});
`;
}

export function callbackKeyCurl(): string {
  return `curl ${shellWord(api("/.well-known/lazaret/callback-key.pem"))}`;
}
