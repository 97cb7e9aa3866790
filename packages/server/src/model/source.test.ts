import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { linkForPeople, withoutQuery } from "./source.ts";

test("a link for people has neither query nor fragment, name nor password, and says that there was a query", () => {
  const cases: [given: string, shown: string][] = [
    ["https://example.com/a/b.pdf", "https://example.com/a/b.pdf"],
    ["https://example.com/a?token=1", "https://example.com/a?…"],
    ["https://me:word@example.com/a#part", "https://example.com/a"],
    ["https://example.com", "https://example.com/"],
    ["HTTPS://EXAMPLE.com:443/a/../b", "https://example.com/b"],
    ["http://0x7f.1:8080/a", "http://127.0.0.1:8080/a"],
    ["nothing", "(not a URL)"],
  ];
  for (const [given, shown] of cases) assert.equal(linkForPeople(given), shown, given);
});

test("whatever a link looks like, what is shown of it is what URL makes of it", () => {
  const host = fc.oneof(
    fc.stringMatching(/^[a-z0-9.-]{1,20}$/),
    fc.stringMatching(/^\d{1,3}(\.\d{1,3}){3}$/),
    fc.constantFrom("localhost", "a.b-c.example", "xn--a.example", "1.2.3", "a.0x1", "1.1.1.08", "256.1.1.1"),
  );
  const port = fc.oneof(fc.constant(""), fc.stringMatching(/^:\d{0,6}$/));
  const path = fc.stringMatching(/^[/\w.~=+%@?#:;&\\ -]{0,20}$/);
  const link = fc.tuple(fc.constantFrom("http://", "https://"), host, port, fc.constantFrom("", "/"), path);
  const property = fc.property(link, (parts) => {
    const url = parts.join("");
    const parsed = URL.parse(url);
    const shown = parsed ? `${parsed.origin}${parsed.pathname}` : "(not a URL)";
    assert.equal(withoutQuery(url), shown);
    assert.equal(linkForPeople(url), `${shown}${parsed?.search ? "?…" : ""}`);
  });
  fc.assert(property, { numRuns: 2000 });
});
