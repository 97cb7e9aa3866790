import assert from "node:assert/strict";
import { test } from "node:test";
import { problemWithNames } from "./buckets.ts";

const bucket = "uploads";
const version = "0123456789abcdef0123456789abcdef";

test("keys that are a plain relative path are fine, whatever characters are in it", () => {
  for (const key of [
    "a",
    "a/b",
    "...",
    "..a",
    "a..",
    ".hidden",
    "a\\..\\b",
    "C:",
    "a\nb",
    "a%2f..",
    ".lazaret2",
    "a/.lazaret",
  ]) {
    assert.equal(problemWithNames({ bucket, key }), undefined, key);
    assert.equal(problemWithNames({ bucket, key, version }), undefined, key);
  }
});

test("path tricks are refused, each with its reason", () => {
  for (const [key, reason] of [
    ["", /empty/],
    ["/etc/passwd", /slash/],
    ["a/", /slash/],
    ["a//b", /slash/],
    ["/", /slash/],
    [".", /\. or \.\./],
    ["..", /\. or \.\./],
    ["../a", /\. or \.\./],
    ["a/../../b", /\. or \.\./],
    ["a/./b", /\. or \.\./],
    ["a/..", /\. or \.\./],
    ["a\0b", /NUL/],
    ["\ud800", /surrogate/],
    ["a/\udc00b", /surrogate/],
    ["x".repeat(256), /255 bytes/],
    [`a/${"ü".repeat(128)}/b`, /255 bytes/],
    ["x/".repeat(512).concat("x"), /1024 bytes/],
    [".lazaret", /for itself/],
    [".lazaret/tags/x", /for itself/],
    [".LAZARET/tags/x", /for itself/],
  ] as const) {
    assert.match(problemWithNames({ bucket, key }) ?? "no problem", reason, JSON.stringify(key));
  }
});

test("the longest names are fine", () => {
  assert.equal(problemWithNames({ bucket: "b".repeat(63), key: "x".repeat(255) }), undefined);
  assert.equal(problemWithNames({ bucket, key: `${"x/".repeat(511)}xx` }), undefined);
});

test("a bucket is one plain word", () => {
  for (const name of [
    "",
    ".",
    "..",
    ".lazaret",
    "a/b",
    "/a",
    "a\\b",
    "../uploads",
    "a\0",
    "a b",
    "ü",
    "-a",
    "b".repeat(64),
  ]) {
    assert.match(problemWithNames({ bucket: name, key: "a" }) ?? "no problem", /^bucket must be/, JSON.stringify(name));
  }
  for (const name of ["a", "A1", "my-bucket", "my.bucket", "my_bucket", "0"]) {
    assert.equal(problemWithNames({ bucket: name, key: "a" }), undefined, name);
  }
});

test("a version that this store never gives is refused", () => {
  for (const other of ["", "null", "../x", version.toUpperCase(), `${version}0`, `${version}\n`]) {
    assert.match(problemWithNames({ bucket, key: "a", version: other }) ?? "no problem", /version/, other);
  }
});
