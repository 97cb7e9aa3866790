import assert from "node:assert/strict";
import { test } from "node:test";
import { csvLine } from "./csv.ts";

test("a cell that a spreadsheet would run is text", () => {
  for (const formula of ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"]) {
    assert.ok(csvLine([formula]).replace(/^"/, "").startsWith("'"), JSON.stringify(formula));
  }
  assert.equal(csvLine(["a\n=1\r\n+2;-3\t@4|＝5"]), "\"a\n'=1\r\n'+2;'-3\t'@4|'＝5\"\r\n");
  assert.equal(csvLine([-1, true, undefined, "a=b"]), "-1,true,,a=b\r\n");
});

test("quotes, commas and line breaks stay inside their cell", () => {
  assert.equal(csvLine(['a"b', "c,d", "e\nf"]), '"a""b","c,d","e\nf"\r\n');
});
