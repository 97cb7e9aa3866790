import assert from "node:assert/strict";
import { test } from "node:test";
import "../../../test/support/leftovers.ts";
import type { ApiRequest } from "../request-answer.ts";
import { isLoopbackName, type OriginOptions, ownOrigin } from "./origin.ts";

function allows(headers: Record<string, string>, options: Partial<OriginOptions> = {}, optional = false): boolean {
  const own = ownOrigin({ publicUrl: "", behindProxies: false, ...options });
  try {
    own.check({ headers } as unknown as ApiRequest, optional);
    return true;
  } catch {
    return false;
  }
}

test("a page is ours when its name is the one that was asked", () => {
  assert.ok(allows({ host: "127.0.0.1:8040", origin: "http://127.0.0.1:8040" }));
  assert.ok(allows({ host: "Scanner.example.com:443", origin: "https://scanner.example.com" }));
  for (const origin of [
    "http://127.0.0.1:8041",
    "http://127.0.0.1",
    "https://evil.example",
    "https://127.0.0.1:8040.evil.example",
    "http://127.0.0.1:8040@evil.example",
    "null",
    "",
    "file://127.0.0.1:8040",
    "javascript://127.0.0.1:8040",
  ])
    assert.equal(allows({ host: "127.0.0.1:8040", origin }), false, origin);
});

test("a page that does not say whose it is may log in, and do nothing else", () => {
  assert.equal(allows({ host: "a" }), false);
  assert.equal(allows({ host: "a" }, {}, true), true);
  assert.equal(allows({ host: "a", origin: "http://b" }, {}, true), false);
});

test("behind a proxy it is the name that an operator gave, or that a trusted proxy was asked by", () => {
  const headers = { host: "10.0.0.7:8040", origin: "https://scanner.example.com" };
  assert.equal(allows(headers), false);
  assert.ok(allows(headers, { publicUrl: "https://scanner.example.com/scan" }));
  assert.equal(allows(headers, { publicUrl: "http://scanner.example.com" }), false);
  const forwarded = { ...headers, "x-forwarded-host": "scanner.example.com, inner" };
  assert.equal(allows(forwarded), false);
  assert.ok(allows(forwarded, { behindProxies: true }));
});

test("names of the machine itself", () => {
  for (const name of ["localhost", "localhost:8040", "x.localhost", "127.0.0.1:1", "127.8.9.1", "[::1]:8040"])
    assert.equal(isLoopbackName(name), true, name);
  for (const name of ["", "localhost.example.com", "127.0.0.1.example.com", "10.0.0.1", "[::2]:8040", "notlocalhost"])
    assert.equal(isLoopbackName(name), false, name);
});
