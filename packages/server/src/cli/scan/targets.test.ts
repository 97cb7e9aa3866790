import assert from "node:assert/strict";
import { test } from "node:test";
import { glob } from "./targets.ts";

const paths = ["a.pdf", "b/a.pdf", "b/c/report [1].docx", ".git/HEAD", "b/.hidden", "x-1.txt", "x^1.txt", "ü😀.bin"];
const matches = (pattern: string): string[] => paths.filter(glob(pattern));

test("a pattern without a slash is for names at any depth, one with a slash for the path", () => {
  assert.deepEqual(matches("*.pdf"), ["a.pdf", "b/a.pdf"]);
  assert.deepEqual(matches("b/*.pdf"), ["b/a.pdf"]);
  assert.deepEqual(matches("./b/*"), ["b/a.pdf", "b/.hidden"]);
  assert.deepEqual(matches("/a.pdf"), ["a.pdf"]);
  assert.deepEqual(matches("b/**"), ["b/a.pdf", "b/c/report [1].docx", "b/.hidden"]);
  assert.deepEqual(matches("**/c/*"), ["b/c/report [1].docx"]);
  assert.deepEqual(matches("**"), paths);
});

test("characters mean themselves unless the pattern language gives them a meaning", () => {
  assert.deepEqual(matches("*.{docx,bin}"), ["b/c/report [1].docx", "ü😀.bin"]);
  assert.deepEqual(matches("report [[]1].docx"), ["b/c/report [1].docx"]);
  assert.deepEqual(matches("x[-^]1.txt"), ["x-1.txt", "x^1.txt"]);
  assert.deepEqual(matches("x[!-]1.txt"), ["x^1.txt"]);
  assert.deepEqual(matches("a?pdf"), ["a.pdf", "b/a.pdf"]);
  assert.deepEqual(matches("??.bin"), ["ü😀.bin"]);
  assert.deepEqual(matches("a.p"), []);
  assert.deepEqual(matches("a+pdf"), []);
});

test("a folder's name is matched with and without a slash at its end", () => {
  assert.ok(glob(".git/")(".git"));
  assert.ok(glob("node_modules")("packages/x/node_modules"));
});
