import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { describe, test } from "node:test";
import type { Verdict } from "../model/verdict.ts";
import type { Content, Edition } from "./verdict-cache.ts";
import { contentOf as contentOfBytes, verdictCache } from "./verdict-cache.ts";

const contentOf = (text: string): Content => ({ digest: hash("sha256", text, "binary"), sizeBytes: text.length });
const edition: Edition = { ours: {}, other: {} };
const clean: Verdict = { kind: "clean", fileType: "txt" };
const infected: Verdict = { kind: "infected", finding: "Known", member: "a.zip/b", fileType: "zip" };

describe("the verdict cache", () => {
  test("knows what was said of a content, with all that was said", () => {
    const cache = verdictCache(10);
    cache.keep(contentOf("a"), edition, { verdict: clean });
    cache.keep(contentOf("b"), edition, { verdict: infected });
    assert.deepEqual(cache.find(contentOf("a"), edition), { verdict: { ...clean, cached: true } });
    assert.deepEqual(cache.find(contentOf("b"), edition), { verdict: { ...infected, cached: true } });
    assert.equal(cache.find(contentOf("c"), edition), undefined);
    assert.equal(cache.find({ ...contentOf("a"), sizeBytes: 2 }, edition), undefined);
    assert.deepEqual(cache.counts(), { hits: 2, partHits: 0, misses: 2, entries: 2 });
  });

  test("gives nothing out to another edition, nor to one that is not certain", () => {
    const cache = verdictCache(10);
    cache.keep(contentOf("a"), edition, { verdict: clean });
    for (const other of [
      { ...edition, ours: {} },
      { ...edition, other: {} },
      { ...edition, other: undefined },
    ]) {
      assert.equal(cache.find(contentOf("a"), other), undefined);
    }
    const uncertain = { ...edition, other: undefined };
    cache.keep(contentOf("b"), uncertain, { verdict: clean });
    assert.equal(cache.find(contentOf("b"), uncertain), undefined);
    assert.equal(cache.find(contentOf("b"), edition), undefined);
  });

  test("keeps our part where the other engine's is not certain", () => {
    const cache = verdictCache(10);
    cache.keep(contentOf("a"), { ...edition, other: undefined }, { verdict: clean, cleanIfOpened: "zip tar" });
    assert.deepEqual(cache.find(contentOf("a"), { ...edition, other: {} }), { cleanIfOpened: "zip tar" });
    assert.equal(cache.find(contentOf("a"), { ours: {}, other: undefined }), undefined);
    assert.deepEqual(cache.counts(), { hits: 0, partHits: 1, misses: 1, entries: 1 });
  });

  test("never keeps what could not be scanned, nor names without end", () => {
    const cache = verdictCache(10);
    cache.keep(contentOf("a"), edition, { verdict: { kind: "unscannable", finding: "scanner:timeout" } });
    cache.keep(contentOf("b"), edition, { verdict: { ...infected, member: "x".repeat(10_000) } });
    assert.equal(cache.find(contentOf("a"), edition), undefined);
    assert.equal(cache.find(contentOf("b"), edition), undefined);
    assert.equal(cache.counts().entries, 0);
  });

  test("holds so many and no more, and forgets first what nobody asked for", () => {
    const cache = verdictCache(100);
    for (let index = 0; index < 100; index += 1) cache.keep(contentOf(`${index}`), edition, { verdict: clean });
    assert.ok(cache.find(contentOf("0"), edition));
    for (let index = 100; index < 199; index += 1) cache.keep(contentOf(`${index}`), edition, { verdict: clean });
    assert.equal(cache.counts().entries, 100);
    assert.ok(cache.find(contentOf("0"), edition));
    assert.equal(cache.find(contentOf("1"), edition), undefined);
    // The same again takes no second place.
    for (let count = 0; count < 50; count += 1) cache.keep(contentOf("0"), edition, { verdict: infected });
    assert.equal(cache.counts().entries, 100);
    assert.ok(cache.find(contentOf("198"), edition));
    assert.equal(cache.find(contentOf("0"), edition)?.verdict?.kind, "infected");
  });
});

test("a content is known by its SHA-256 and its length", () => {
  const bytes = Buffer.alloc(100_000, "large");
  assert.deepEqual(contentOfBytes(bytes), { digest: hash("sha256", bytes, "binary"), sizeBytes: bytes.length });
});
