import { hash } from "node:crypto";
import { findings, type ObjectSchema, type Schema } from "@lazaret/contract";
import type { Answer } from "../request-answer.ts";
import type { DescribedEndpoint } from "../route.ts";

/**
 * The API's reference as one page with nothing to load, so that it works without internet. Other names of an endpoint are left
 * to the document for programs.
 */
export function docsPage(all: readonly DescribedEndpoint[], version: string): Answer {
  const routes = all.filter(({ aliasOf }) => aliasOf === undefined);
  const groups = Map.groupBy(routes, ({ doc }) => (doc.deprecated ? `${doc.group} (deprecated)` : doc.group));
  const sections = [...groups].map(
    ([group, members]) => `<h2 id="${anchor(group)}">${escaped(group)}</h2>${members.map(endpoint).join("")}`,
  );
  return {
    status: 200,
    headers: { "Content-Security-Policy": POLICY },
    html: `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Lazaret API</title><style>${STYLE}</style></head><body><main>
<h1>Lazaret API <small>${escaped(version)}</small></h1>
<p>Send a file, get <code>clean</code>, <code>infected</code> or <code>no</code> (not scanned, so do not
trust it). Every request carries <code>Authorization: Bearer &lt;API_KEY&gt;</code> unless it says otherwise.
The same as a document for programs: <a href="/openapi.json">/openapi.json</a>.</p>
${all.length > routes.length ? OTHER_NAMES : ""}<pre>export LAZARET_URL=<span class="address">http://127.0.0.1:8040</span> LAZARET_API_KEY=your-api-key</pre>
<nav><ul>${routes.map((route) => `<li><a href="#${anchor(route.path)}">${method(route)} ${escaped(route.path)}</a></li>`).join("")}</ul></nav>
${sections.join("")}
<h2 id="findings">Findings with status no</h2>
<p>The engine's own reason, such as <code>Heuristics.Encrypted.Zip</code>, or one of these:</p>
<ul>${Object.values(findings)
      .map((finding) => `<li><code>${finding}</code></li>`)
      .join("")}</ul>
<h2 id="errors">Errors</h2>
<p>Every answer that is not 2xx is JSON: <code>statusCode</code>, <code>error</code>, <code>code</code> (for programs),
<code>message</code> and <code>hint</code> (for people), <code>request_id</code> (also in the server's log).</p>
</main><script>${SCRIPT}</script></body></html>
`,
  };
}

function endpoint(route: DescribedEndpoint): string {
  const { doc } = route;
  const fields = doc.request && "schema" in doc.request ? fieldTable("Request", doc.request.schema) : "";
  const body = doc.request ? `<p>Body: <code>${doc.request.contentType}</code></p>${fields}` : "";
  const answer =
    doc.success.schema && "properties" in doc.success.schema ? fieldTable("Answer", doc.success.schema) : "";
  const errors = Object.entries(doc.errors).flatMap(([status, codes]) =>
    codes.map((code) => `<li>${status} <code>${escaped(code)}</code></li>`),
  );
  return `<section id="${anchor(route.path)}">
<h3>${method(route)} <code>${escaped(route.path)}</code></h3>
<p>${escaped(doc.summary)}.${doc.description ? ` ${prose(doc.description)}` : ""}${route.open ? " Needs no key." : ""}</p>
<pre>${command(doc.example)}</pre>${body}
<p>Answers <b>${doc.success.status}</b>: ${prose(doc.success.description)}${others(doc.also)}</p>${answer}
${errors.length > 0 ? `<details><summary>Errors</summary><ul>${errors.join("")}</ul></details>` : ""}
</section>`;
}

function others(also: Readonly<Record<number, string>> = {}): string {
  return Object.entries(also)
    .map(([status, description]) => ` <b>${status}</b>: ${prose(description)}`)
    .join("");
}

function fieldTable(title: string, schema: ObjectSchema): string {
  const rows = Object.entries(schema.properties).map(([name, field]: [string, Schema]) => {
    const required = schema.required.includes(name) ? "yes" : "no";
    return `<tr><td><code>${escaped(name)}</code></td><td>${field.type}</td><td>${required}</td><td>${prose(field.description ?? "")}</td></tr>`;
  });
  return `<table><caption>${title}</caption><tr><th>field</th><th>type</th><th>required</th><th>meaning</th></tr>${rows.join("")}</table>`;
}

function method(route: DescribedEndpoint): string {
  return `<b class="${route.method.toLowerCase()}">${route.method}</b>`;
}

function anchor(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}

/** A command to paste, in which the script can put the address that the page is read at. */
function command(example: string): string {
  return escaped(example).replaceAll("$LAZARET_URL", '<span class="address">$$LAZARET_URL</span>');
}

/** Text with `code` in it. */
function prose(text: string): string {
  return escaped(text).replace(/`([^`]*)`/g, "<code>$1</code>");
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const OTHER_NAMES = `<p>Every path that begins with <code>/api/v1</code> is also there with <code>/v1</code>, and <code>objstore</code> as
<code>s3</code>, for clients of the API's other dialect: <a href="/openapi.json">/openapi.json</a> lists them, and
docs/moving-to-lazaret.md explains them.</p>
`;

/** The address as the browser has it: no header of a request gets into the page, and nothing that a shell would not take as it is. */
const SCRIPT = `
if (/^https?:\\/\\/([\\w.-]+|\\[[0-9a-f:.]+\\])(:\\d+)?$/.test(location.origin))
  for (const each of document.querySelectorAll(".address")) each.textContent = location.origin;
`;

const POLICY = `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${hash("sha256", SCRIPT, "base64")}'; base-uri 'none'`;

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --code: #8881; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 1rem 4rem; }
main { max-width: 56rem; margin: auto; }
small { font-weight: normal; opacity: .6; }
nav ul { list-style: none; padding: 0; }
section { border-top: 1px solid var(--line); padding-top: .5rem; margin-top: 1.5rem; }
pre { background: var(--code); padding: .75rem; white-space: pre-wrap; overflow-wrap: anywhere; border-radius: 6px; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; font-weight: bold; padding: .5rem 0; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line); }
.post { color: #b7560b; } .get { color: #17794c; }
`;
