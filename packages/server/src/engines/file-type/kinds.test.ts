import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { CLAMAV_FILES, SAMPLE_FILES, TOOL_FILES } from "../../../test/fixtures/sample-files/sample-files.ts";
import { kinds, nameOf } from "./kinds.ts";

const doc = readFileSync(new URL("../../../../../docs/file-types.md", import.meta.url), "utf8");

test("every kind has a name of its own, short and printable", () => {
  const names = kinds.map(nameOf);
  assert.equal(new Set(names).size, names.length);
  for (const name of names) assert.match(name, /^[ -~]{4,64}$/);
});

test("docs/file-types.md lists the names as they are", () => {
  const rows = [...doc.matchAll(/^\| `([^`]+)` \| (.+) \|$/gm)].map(([, kind, name]) => `${kind}: ${name}`);
  assert.deepEqual(
    rows,
    kinds.map((kind) => `${kind}: ${nameOf(kind)}`),
  );
});

test("docs/file-types.md gives the score of the files that the tests look at", () => {
  for (const files of [SAMPLE_FILES, CLAMAV_FILES])
    assert.match(doc, new RegExp(`\\b${files.length} of ${files.length}\\b`));
  const toolFiles = TOOL_FILES.length + 1;
  assert.match(doc, new RegExp(`\\b${toolFiles} of ${toolFiles}\\b`));
});
