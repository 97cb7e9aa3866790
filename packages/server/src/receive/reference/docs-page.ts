import { findings } from "@lazaret/contract";
import type { Answer } from "../request-answer.ts";
import type { DescribedEndpoint } from "../route.ts";
import { type Entry, entryHtml, methodHtml } from "./entry.ts";
import { meaningOf } from "./error-meanings.ts";
import { addressed, anchor, EXAMPLE_ADDRESS, escaped, prose, table } from "./html.ts";
import { documentPath } from "./openapi.ts";

export interface DocsPageOptions {
  version: string;
  /** Of script and style, relative to the page. */
  folder: string;
}

/**
 * The API's reference, made of the same endpoints as the OpenAPI document. All of it can be read without its script, which adds search,
 * *try it*, copying and the choice of colours. Nothing is loaded from elsewhere, so that it works without internet.
 */
export function docsPage(all: readonly DescribedEndpoint[], { version, folder }: DocsPageOptions): Answer {
  const entries = entriesOf(all);
  const groups = [...Map.groupBy(entries, ({ route }) => groupName(route))].sort(
    ([one], [other]) => Number(one === CONSOLE) - Number(other === CONSOLE),
  );
  const withNames = entries.some(({ aliases }) => aliases.length > 0);
  return {
    status: 200,
    headers: { "Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer" },
    html: `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Lazaret API</title><link rel="icon" href="data:,"><link rel="stylesheet" href="${folder}/reference.css">
<script type="module" src="${folder}/reference.js"></script></head><body>
<a class="skip" href="#reference">Skip to the reference</a>
<header><a class="name" href="#reference">Lazaret API</a> <small>${escaped(version)}</small><span class="space"></span>
<a href="openapi.json">openapi.json</a></header>
<div class="page"><nav aria-label="Endpoints"><details id="contents" class="contents" open><summary>Contents</summary>
${groups.map(([group, members]) => contentsOf(group, members)).join("")}
<p class="title">More</p><ul class="more"><li><a href="#findings">Findings with status no</a></li><li><a href="#errors">Errors</a></li></ul>
</details></nav>
<main id="reference" tabindex="-1">
<h1>Lazaret API</h1>
<p>Send a file, get <code>clean</code>, <code>infected</code> or <code>no</code> (not scanned, so do not trust it). Every
request carries <code>Authorization: Bearer &lt;API_KEY&gt;</code> unless it says otherwise. The same as a document for
programs: <a href="openapi.json">openapi.json</a>.</p>
${withNames ? OTHER_NAMES : ""}<pre>${addressed("export LAZARET_URL=$LAZARET_URL LAZARET_API_KEY=your-api-key", EXAMPLE_ADDRESS)}</pre>
${groups.map(([group, members]) => groupHtml(group, members)).join("")}
<section class="group" aria-labelledby="findings"><h2 id="findings">Findings with status no</h2>
<p>The engine's own reason, such as <code>Heuristics.Encrypted.Zip</code>, or one of these:</p>
${table("Findings of files that were not scanned", ["finding", "why"], Object.values(findings).map(findingRow))}</section>
<section class="group" aria-labelledby="errors"><h2 id="errors">Errors</h2>
<p>Every answer that is not 2xx is JSON: <code>statusCode</code>, <code>error</code>, <code>code</code> (for programs),
<code>message</code> and <code>hint</code> (for people), <code>request_id</code> (also in the server's log).</p>
<pre>${escaped(JSON.stringify(ERROR, null, 2))}</pre>
${table("Codes", ["status", "code", "meaning"], codeRows(entries))}</section>
</main></div></body></html>
`,
  };
}

/** Those of the console come last, and folded: most readers want the others. */
const CONSOLE = "Console";

/** Two methods of one path are two entries. */
function entriesOf(all: readonly DescribedEndpoint[]): Entry[] {
  const named = Map.groupBy(all, ({ aliasOf, method }) => `${method} ${aliasOf}`);
  const taken = new Set<string>();
  return all
    .filter(({ aliasOf }) => aliasOf === undefined)
    .map((route) => {
      const plain = anchor(route.path);
      const id = taken.has(plain) ? `${plain}-${route.method.toLowerCase()}` : plain;
      taken.add(id);
      return { id, route, aliases: named.get(`${route.method} ${route.path}`) ?? [] };
    });
}

function groupName({ doc }: DescribedEndpoint): string {
  return doc.deprecated ? `${doc.group} (deprecated)` : doc.group;
}

function contentsOf(group: string, members: readonly Entry[]): string {
  const links = members.map(
    ({ id, route }) => `<li><a href="#${id}">${methodHtml(route)} ${escaped(documentPath(route))}</a></li>`,
  );
  const list = `<ul>${links.join("")}</ul>`;
  if (group !== CONSOLE) return `<p class="title">${escaped(group)}</p>${list}`;
  return `<details class="folded"><summary>${escaped(group)}</summary>${list}</details>`;
}

function groupHtml(group: string, members: readonly Entry[]): string {
  const id = anchor(group);
  const heading = `<h2 id="${id}">${escaped(group)}</h2>`;
  const entries = members.map(entryHtml).join("");
  if (group !== CONSOLE) return `<section class="group" aria-labelledby="${id}">${heading}${entries}</section>`;
  return `<section class="group" aria-labelledby="${id}"><details class="folded"><summary>${heading}</summary>
<p>Everything that the console does, for scripts: send an admin or viewer key as the bearer (<code>$ADMIN_KEY</code> below). Where
<code>LAZARET_ADMIN_LISTEN</code> is set, these paths are at that address and not at this one.</p>${entries}</details></section>`;
}

function findingRow(finding: string): string[] {
  return [`<code>${finding}</code>`, prose(FINDINGS[finding] ?? "")];
}

function codeRows(entries: readonly Entry[]): string[][] {
  const codes = entries.flatMap(({ route }) =>
    Object.entries(route.doc.errors).flatMap(([status, each]) => each.map((code) => `${status} ${code}`)),
  );
  return [...new Set(codes)].sort().map((line) => {
    const [status = "", code = ""] = line.split(" ");
    return [status, `<code>${escaped(code)}</code>`, prose(meaningOf(code) ?? "")];
  });
}

const FINDINGS: Readonly<Record<string, string>> = {
  [findings.tooBig]: "A file over the limit of size.",
  [findings.downloadFailed]: "No answer, not 2xx, a blocked address, or a body that was cut.",
  [findings.callbackFailed]: "The callback was refused for good; it stands in events, not in answers.",
  [findings.encrypted]: "An archive or document that needs a password.",
  [findings.limitsExceeded]: "Too many, too large or too deeply nested members.",
  [findings.unsupportedArchive]: "A container that is damaged, or that nothing here opens.",
  [findings.timeout]: "The scan took too long for this file.",
  [findings.engineError]: "The engine broke on this file.",
  [findings.objectNotFound]: "There is no such object.",
  [findings.objectAccessDenied]: "The object may not be read.",
};

const ERROR = {
  statusCode: 401,
  error: "Unauthorized",
  code: "invalid_api_key",
  message: "the Authorization header is missing",
  hint: "send the header Authorization: Bearer <API_KEY>",
  request_id: "0b6f1c0e-3f0a-4c0f-9a53-3f3c9d0a7c11",
};

const OTHER_NAMES = `<p>Every path that begins with <code>/api/v1</code> is also there with <code>/v1</code>, and <code>objstore</code> as
<code>s3</code>, for clients of the API's other dialect: each endpoint lists its other names.</p>
`;

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; form-action 'none'";
