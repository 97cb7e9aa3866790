import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { specMap, specRows, specTags, withTests } from "./spec-map.ts";

const page = readFileSync(specMap, "utf8");
const rows = specRows(page);
const tags = specTags();

test("every row of the specification has an id of its own, and a tagged test, a decision or a reason", () => {
  assert.ok(rows.length > 80, `only ${rows.length} rows`);
  assert.equal(page.match(/^\| (?!id )/gm)?.length, rows.length, "a row without an id");
  assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length, "an id is there twice");
  const untested = rows.filter(({ id, says }) => !tags.has(id) && !/\(decisions\/|nothing to show:/.test(says));
  assert.deepEqual(untested, []);
});

test("every tag of a test is a row of the specification", () => {
  assert.deepEqual(
    [...tags].filter(([id]) => !rows.some((row) => row.id === id)),
    [],
  );
});

test("docs/spec-map.md names the files that test each row: npm run spec-map", () => {
  assert.equal(page, withTests(page, tags));
});
