import type { ObjectSchema, Schema } from "@lazaret/contract";
import { STATUS_CODES } from "../../net/node-http.ts";
import type { DescribedEndpoint } from "../route.ts";
import { meaningOf } from "./error-meanings.ts";
import { addressed, EXAMPLE_ADDRESS, escaped, prose, table } from "./html.ts";
import { documentPath } from "./openapi.ts";
import { rulesOf, sampleOf, typeOf } from "./sample.ts";
import { snippetsOf } from "./snippets.ts";

/** One endpoint of the page, with its other names. */
export interface Entry {
  id: string;
  route: DescribedEndpoint;
  aliases: readonly DescribedEndpoint[];
}

export function entryHtml({ id, route, aliases }: Entry): string {
  const { doc } = route;
  const path = escaped(documentPath(route));
  const place = `data-method="${route.method.toLowerCase()}" data-path="${path}"${route.prefix ? " data-prefix" : ""}${keyMark(route)}`;
  return `<article class="entry" id="${id}" aria-labelledby="${id}-name" ${place} data-search="${escaped(searchText({ id, route, aliases }))}">
<h3 id="${id}-name">${methodHtml(route)} <code>${path}</code></h3>
<p class="summary">${prose(doc.summary)}${doc.deprecated ? ' <span class="mark">deprecated</span>' : ""}</p>
${doc.description ? `<p>${prose(doc.description)}</p>` : ""}
<dl class="facts"><dt>Key</dt><dd>${keyHtml(route)}</dd>${aliasHtml(aliases)}</dl>
<div class="sides"><div><h4>Request</h4>${requestHtml(id, route)}</div>
<div><h4>Answer</h4>${answerHtml(id, route)}</div></div>
</article>`;
}

export function methodHtml({ method }: Pick<DescribedEndpoint, "method">): string {
  return `<b class="method ${method.toLowerCase()}">${method}</b>`;
}

/** All that a search finds an endpoint by. */
function searchText({ route, aliases }: Entry): string {
  const { doc } = route;
  const fields = doc.request && "schema" in doc.request ? Object.keys(doc.request.schema.properties ?? {}) : [];
  const words = [
    route.method,
    ...[route, ...aliases].map(documentPath),
    doc.group,
    doc.summary,
    ...(doc.deprecated ? ["deprecated"] : []),
    ...fields,
    ...Object.keys(doc.query ?? {}),
    ...Object.entries(doc.errors).flat(2),
  ];
  return words.join(" ").toLowerCase();
}

/** Which key the script asks for. */
function keyMark({ open, console }: DescribedEndpoint): string {
  if (open) return "";
  return console ? ' data-key="admin"' : ' data-key="api"';
}

function keyHtml({ open, scopes, console }: DescribedEndpoint): string {
  if (open) return "none is needed";
  if (console)
    return console === "acts" ? "one of the console that may act: admin" : "one of the console: admin or viewer";
  if (!scopes) return "any API key";
  return `one with the scope ${scopes.map((scope) => `<code>${escaped(scope)}</code>`).join(" or ")}`;
}

function aliasHtml(aliases: readonly DescribedEndpoint[]): string {
  if (aliases.length === 0) return "";
  const paths = aliases.map(({ path }) => `<li><code>${escaped(path)}</code></li>`);
  return `<dt>Other names</dt><dd><ul class="aliases">${paths.join("")}</ul></dd>`;
}

function requestHtml(id: string, route: DescribedEndpoint): string {
  const { query = {}, request } = route.doc;
  const parameters = Object.entries(query).map(([name, { schema, required, description }]) =>
    fieldRow(name, { ...schema, description }, required === true),
  );
  const snippets = snippetsOf(route).map(
    ({ name, text }, index) =>
      `<details name="${id}-call"${index === 0 ? " open" : ""}><summary>${name}</summary><pre>${addressed(text, name === "curl" ? "$LAZARET_URL" : EXAMPLE_ADDRESS)}</pre></details>`,
  );
  const fields = request && "schema" in request ? fieldTable("Fields of the body", request.schema) : "";
  return [
    ...snippets,
    ...(request ? [`<p>Body: <code>${request.contentType}</code></p>`] : []),
    table("Parameters of the query", FIELD_HEADS, parameters),
    fields,
  ].join("");
}

function answerHtml(id: string, { doc }: DescribedEndpoint): string {
  const { success, successHeaders = {}, also = {}, errors } = doc;
  const { schema } = success;
  const headers = Object.entries(successHeaders).map(([name, text]) => [`<code>${escaped(name)}</code>`, prose(text)]);
  const sample = success.example ?? (schema && sampleOf(schema));
  const good = [
    `<p>${prose(success.description)}</p>`,
    ...(success.contentType ? [`<p>Body: <code>${escaped(success.contentType)}</code></p>`] : []),
    ...(sample === undefined || isEmpty(sample) ? [] : [`<pre>${escaped(JSON.stringify(sample, null, 2))}</pre>`]),
    table("Headers of the answer", ["header", "meaning"], headers),
    schema && "properties" in schema ? fieldTable("Fields of the answer", schema) : "",
  ];
  const statuses: [status: string, html: string][] = [
    [String(success.status), good.join("")],
    ...Object.entries(also).map(([status, text]): [string, string] => [status, `<p>${prose(text)}</p>`]),
    ...Object.entries(errors).map(([status, codes]): [string, string] => [status, codesHtml(codes)]),
  ];
  return statuses
    .map(
      ([status, html], index) =>
        `<details name="${id}-answer" class="s${status[0]}"${index === 0 ? " open" : ""}><summary><b>${status}</b> ${STATUS_CODES[status] ?? ""}${codesHint(errors[Number(status)])}</summary>${html}</details>`,
    )
    .join("");
}

/** The code beside its status, where there is one only. */
function codesHint(codes: readonly string[] = []): string {
  const [code, ...more] = codes;
  return code !== undefined && more.length === 0 ? ` <code>${escaped(code)}</code>` : "";
}

function codesHtml(codes: readonly string[]): string {
  const each = codes.map((code) => `<dt><code>${escaped(code)}</code></dt><dd>${prose(meaningOf(code) ?? "")}</dd>`);
  return `<dl class="codes">${each.join("")}</dl><p><a href="#errors">How errors look</a></p>`;
}

const FIELD_HEADS = ["field", "type", "meaning"];

function fieldTable(title: string, schema: ObjectSchema): string {
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) =>
    fieldRow(name, field, schema.required?.includes(name) === true),
  );
  return `${table(title, FIELD_HEADS, rows)}${schema.description ? `<p>${prose(schema.description)}</p>` : ""}`;
}

function fieldRow(name: string, field: Schema, required: boolean): string[] {
  const rules = rulesOf(field);
  const code = field["x-code"] ?? field["x-size-code"];
  return [
    `<code>${escaped(name)}</code>${required ? '<br><span class="required">required</span>' : ""}`,
    typeOf(field),
    [
      ...(field.description ? [prose(field.description)] : []),
      ...(rules ? [`<span class="rules">${prose(sentence(rules))}</span>`] : []),
      ...(code ? [`<span class="rules">Else <code>${escaped(code)}</code>.</span>`] : []),
    ].join(" "),
  ];
}

function sentence(words: string): string {
  return `${words[0]?.toUpperCase()}${words.slice(1)}.`;
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
