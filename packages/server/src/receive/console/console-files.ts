import { hash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";
import { gzipSync } from "node:zlib";
import type { Log } from "../../log.ts";
import { Problem } from "../problem.ts";
import type { Answer, ApiRequest } from "../request-answer.ts";
import type { Endpoint, Handle } from "../route.ts";

/** On every answer under /console/, also on errors. */
const PAGE_HEADERS = {
  "Content-Security-Policy":
    "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "X-Frame-Options": "DENY",
};

/** Part of the service, not of its API: it is not described. */
export const consoleFilesEndpoint: Endpoint = { headers: PAGE_HEADERS };

const PREFIX = "/console/";
const INDEX = "index.html";
/** Names that a build gives to a content: another content has another name. */
const HASHED = /^assets\/.+[-.][\w-]{8}\.\w+$/;

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".json": "application/json; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".woff2": "font/woff2",
  ".txt": "text/plain; charset=utf-8",
};
const COMPRESSED = /^(?:text\/|application\/(?:json|manifest)|image\/svg)/;

interface KeptFile {
  type: string;
  tag: string;
  cache: string;
  plain: Buffer;
  gzip?: Buffer;
}

export interface ConsoleFilesOptions {
  /** What the build of packages/console made. */
  folder: string;
  /** Whether anybody may enter: else the page says how to get a key. */
  isOpen(): boolean;
  log: Log;
}

/** The console's files, read once and kept: they are few, and a name that is none of theirs is never looked up on disk. */
export function consoleFiles({ folder, isOpen, log }: ConsoleFilesOptions): Handle {
  let kept: ReadonlyMap<string, KeptFile> | undefined;

  async function files(): Promise<ReadonlyMap<string, KeptFile>> {
    if (kept) return kept;
    const read = await readFiles(folder);
    // One that is missing now may be built in a moment.
    if (read.has(INDEX)) kept = read;
    else log.error("console", { error: "the console is not built" });
    return read;
  }

  return async (request) => {
    if (!request.path.startsWith(PREFIX)) return { status: 308, headers: { Location: "console/" } };
    if (!isOpen()) return page(503, "No key opens the console yet", NO_KEYS);
    const all = await files();
    if (!all.has(INDEX)) return page(503, "The console is not built", NOT_BUILT);
    const name = request.path.slice(PREFIX.length) || INDEX;
    const file = all.get(name) ?? (extname(name) === "" ? all.get(INDEX) : undefined);
    if (file) return answerOf(file, request);
    throw new Problem(404, "not_found", { message: "the console has no such file" });
  };
}

function answerOf({ type, tag, cache, plain, gzip }: KeptFile, { headers }: ApiRequest): Answer {
  const always = { ETag: tag, "Cache-Control": cache, Vary: "Accept-Encoding" };
  if (headers["if-none-match"]?.split(",").some((each) => each.trim().replace(/^W\//, "") === tag))
    return { status: 304, headers: always };
  const zipped = gzip && /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$))/i.test(headers["accept-encoding"] ?? "");
  return {
    status: 200,
    headers: { ...always, ...(zipped && { "Content-Encoding": "gzip" }) },
    rendered: { type, content: zipped ? gzip : plain },
  };
}

async function readFiles(folder: string): Promise<ReadonlyMap<string, KeptFile>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const found = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(
    await Promise.all(
      found.map(async (path): Promise<[string, KeptFile]> => {
        const name = relative(folder, path).split(sep).join("/");
        return [name, kept(name, await readFile(path))];
      }),
    ),
  );
}

function kept(name: string, plain: Buffer): KeptFile {
  const type = types[extname(name)] ?? "application/octet-stream";
  return {
    type,
    // The same content has one tag, compressed or not: both are made of it here.
    tag: `"${hash("sha256", plain, "base64url").slice(0, 22)}"`,
    cache: HASHED.test(name) ? "public, max-age=31536000, immutable" : "no-cache",
    plain,
    ...(COMPRESSED.test(type) && { gzip: gzipSync(plain, { level: 9 }) }),
  };
}

const NO_KEYS = `<p>Make one and log in with it:</p>
<pre>lazaret keys create --name ops --scope admin</pre>
<p>or start the service with <code>LAZARET_ADMIN_KEYS</code> set to a secret of 16 characters at least, such as
<code>openssl rand -hex 24</code> makes; <code>LAZARET_VIEWER_KEYS</code> is for those who only look. Keys of <code>LAZARET_API_KEYS</code>
do not open the console. <code>LAZARET_CONSOLE=off</code> turns it off.</p>`;

const NOT_BUILT = `<p>Its files are made by the set-up of <code>npm start</code> and <code>npm test</code>. In a clone:</p>
<pre>npx vite build packages/console</pre>
<p>then load this page again. The API works without.</p>`;

function page(status: number, title: string, content: string): Answer {
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Lazaret: ${title}</title></head>
<body><main><h1>${title}</h1>
${content}</main></body></html>
`;
  return { status, headers: { "Cache-Control": "no-store" }, html };
}
