import assert from "node:assert/strict";
import { test } from "node:test";
import { linkFields, traceHeaders } from "./spans.ts";

test("a client's own trace headers stand, and ours are not put beside them", () => {
  const headers = { traceparent: "ours", tracestate: "ours" };
  assert.deepEqual(traceHeaders({ headers }, { "X-Tenant": "7", "X-Traceparent": "no" }), headers);
  for (const name of ["traceparent", "TraceParent", "tracestate", "TRACESTATE"])
    assert.deepEqual(traceHeaders({ headers }, { [name]: "the client's" }), {}, name);
});

test("of a link nothing is said that may be a secret", () => {
  const link = "https://user:word@files.example:8443/a/b.pdf?signature=s#part";
  assert.deepEqual(linkFields(link), { url: "https://files.example:8443/a/b.pdf", host: "files.example", port: 8443 });
  assert.deepEqual(linkFields("http://files.example/"), {
    url: "http://files.example/",
    host: "files.example",
    port: 80,
  });
  assert.deepEqual(linkFields("nothing"), {});
});
