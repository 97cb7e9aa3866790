import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import * as conventions from "@opentelemetry/semantic-conventions/incubating";
import { parse } from "yaml";
import { spanTable } from "../../src/traces/spans.ts";
import { root } from "./place.ts";

const page = readFileSync(join(root, "docs/traces.md"), "utf8");

/** Of one span. */
function attributesOf({ attributes, fixed = {} }: { attributes: object; fixed?: object }): string[] {
  return [...new Set([...Object.values(attributes), ...Object.keys(fixed)])];
}

test("docs/traces.md has every span and attribute as it is, and no other", () => {
  const rows = Object.values(spanTable).map((row) => {
    const names = attributesOf(row).map((name) => `\`${name}\``);
    return `| \`${row.name}\` | ${row.kind} | ${row.doc} | ${names.join(", ")} |`;
  });
  const lines = page.split("\n");
  const first = lines.indexOf("| span | kind | what it is | attributes |") + 2;
  assert.deepEqual(lines.slice(first, lines.indexOf("", first)), rows);
});

test("attributes that are not ours are those of OpenTelemetry's conventions", () => {
  const known = new Set<unknown>(Object.values(conventions));
  const names = Object.values(spanTable).flatMap(attributesOf);
  assert.ok(names.length > 40 && known.size > 500);
  assert.deepEqual(
    names.filter((name) => !name.startsWith("lazaret.") && !known.has(name)),
    [],
  );
});

test("docs/traces.md has every variable that we read, and its collector's configuration is YAML that takes OTLP over HTTP", () => {
  const folder = join(root, "packages/server/src/traces");
  const sources = readdirSync(folder).filter((name) => !name.endsWith(".test.ts"));
  const read = sources.flatMap(
    (name) => readFileSync(join(folder, name), "utf8").match(/\bOTEL_[A-Z_]*[A-Z]\b/g) ?? [],
  );
  assert.ok(read.length > 15, `only ${read.length} variables`);
  assert.deepEqual(
    read.filter((name) => !page.includes(`\`${name}\``) && !/_(?:OTLP|TRACES)$/.test(name)),
    [],
  );
  const [, yaml = ""] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
  const { receivers, service } = parse(yaml);
  assert.match(receivers.otlp.protocols.http.endpoint, /:4318$/);
  assert.deepEqual(service.pipelines.traces.receivers, ["otlp"]);
});
