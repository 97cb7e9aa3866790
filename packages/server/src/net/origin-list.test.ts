import assert from "node:assert/strict";
import { test } from "node:test";
import { originList, originProblem } from "./origin-list.ts";

const on = (entry: string, url: string): boolean => originList([entry])(new URL(url));

test("an origin is its scheme, host and port; a star stands for names below a domain, or for all there is", () => {
  assert.ok(on("https://app.example.com", "https://app.example.com/scanned?x=1"));
  assert.ok(on("https://APP.example.com:443", "https://app.example.com/"));
  assert.ok(on("http://127.0.0.1:8080", "http://127.0.0.1:8080/a"));
  assert.ok(on("https://[::1]:8443", "https://[::1]:8443/"));
  assert.ok(on("https://*.example.com", "https://a.b.example.com/"));
  assert.ok(on("*", "http://anybody.example/"));
  assert.equal(originList([])(new URL("https://app.example.com")), false);
});

test("what is near is not on it", () => {
  const others = [
    "http://app.example.com/",
    "https://app.example.com:8443/",
    "https://example.com/",
    "https://app.example.com.evil.test/",
    "https://evilapp.example.com/",
    "https://x@evil.test/app.example.com",
  ];
  for (const url of others) assert.equal(on("https://app.example.com", url), false, url);
  for (const url of [
    "https://example.com/",
    "https://evilexample.com/",
    "http://a.example.com/",
    "https://a.example.com:1/",
  ])
    assert.equal(on("https://*.example.com", url), false, url);
});

test("an entry that is no origin is a problem", () => {
  for (const entry of [
    "app.example.com",
    "https://",
    "https://a/b",
    "https://a?b",
    "ftp://a",
    "https://u@a",
    "https://a.*",
    "**",
    "https://a:99999",
  ])
    assert.match(originProblem(entry) ?? "", /must be/, entry);
  for (const entry of ["*", "https://a", "http://a:1", "https://*.a.b", "https://[::1]:1"])
    assert.equal(originProblem(entry), undefined, entry);
});
