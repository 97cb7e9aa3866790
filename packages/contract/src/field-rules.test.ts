import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  customDataProblem,
  isPlainHttp,
  objectProblem,
  schemaProblem,
  traceIdProblem,
  urlProblem,
} from "./field-rules.ts";

test("a value is of its schema's type and size, and what is wrong with it is said in words", () => {
  const count = { type: "integer", minimum: 0 } as const;
  const word = { type: "string", enum: ["clean", "no"] } as const;
  const map = { type: "object", additionalProperties: { type: "string" }, maxProperties: 1 } as const;
  const fields = { type: "object", properties: { count }, required: [] } as const;
  for (const [value, schema] of [
    [0, count],
    [-1, { type: "integer" }],
    ["no", word],
    [{ a: "b" }, map],
    [{ count: 1, other: 2 }, fields],
  ] as const) {
    assert.equal(schemaProblem(value, schema), undefined);
  }
  assert.deepEqual(schemaProblem(0.5, count), { what: "is not a whole number" });
  assert.deepEqual(schemaProblem(-1, count), { what: "is less than 0" });
  assert.deepEqual(schemaProblem("infected", word), { what: "is not one of clean, no" });
  for (const schema of [map, fields]) {
    for (const value of ["{}", null, [], 1])
      assert.deepEqual(schemaProblem(value, schema), { what: "is not an object" });
  }
  assert.deepEqual(schemaProblem({ a: 1 }, map), { what: "has a value that is not a string" });
  assert.deepEqual(schemaProblem({ a: "", b: "" }, map), { what: "has over 1 entries", size: true });
});

test("a trace_id has 1 to 256 characters, whole ones, none of them a control character", () => {
  for (const good of ["a", "order 4711/ä?&#", "💾".repeat(256)]) assert.equal(traceIdProblem(good), undefined, good);
  const wrong: [value: unknown, problem: string][] = [
    [7, "is not a string"],
    ["", "is empty"],
    ["💾".repeat(257), "has over 256 characters"],
    ["a\ud800", "has half a character, which no URL can carry"],
    ...["a\nb", "\0", "\x7f", "\x80", "\x9f"].map((text): [string, string] => [text, "has a control character"]),
  ];
  for (const [value, problem] of wrong) assert.equal(traceIdProblem(value), problem, JSON.stringify(value));
  assert.equal(traceIdProblem("\xa0"), undefined);
});

test("custom_data is any string of at most 16,384 bytes of UTF-8, counted as Node writes them", () => {
  assert.equal(customDataProblem({}), "is not a string");
  for (const good of ["", "\0\n", "\ud800", "ü".repeat(8192), "💾".repeat(4096)]) {
    assert.equal(customDataProblem(good), undefined);
  }
  assert.equal(customDataProblem("x".repeat(16_385)), "has over 16384 characters");
  assert.equal(customDataProblem(`${"ü".repeat(8192)}x`), "has more than 16384 bytes of UTF-8");
  const unit = fc.constantFrom("a", "\x7f", "\x80", "߿", "ࠀ", "\uffff", "💾", "\ud800", "\udc00");
  fc.assert(
    fc.property(fc.array(unit, { minLength: 1, maxLength: 12 }), (units) => {
      const text = units.join("");
      const filled = text + "x".repeat(16_384 - Buffer.byteLength(text));
      assert.equal(customDataProblem(filled), undefined);
      assert.notEqual(customDataProblem(`${filled}x`), undefined);
    }),
  );
});

test("a URL has 1 to 2,048 characters, and plain http is told in any case", () => {
  assert.deepEqual(["", "x".repeat(2049), 1].map(urlProblem), [
    "is empty",
    "has over 2048 characters",
    "is not a string",
  ]);
  for (const good of ["x", "💾".repeat(2048)]) assert.equal(urlProblem(good), undefined);
  assert.deepEqual(["http://a", "HTTP:a", "https://a", "ahttp://"].map(isPlainHttp), [true, true, false, false]);
});

test("no name of an object has a NUL character, and a key no more than 1,024 bytes of UTF-8", () => {
  const object = { bucket: "b", key: "k" };
  assert.equal(objectProblem({ ...object, version: "v" }), undefined);
  for (const name of ["bucket", "key", "version"]) {
    assert.equal(objectProblem({ ...object, [name]: "a\0" }), `${name} has a NUL character`);
  }
  assert.equal(objectProblem({ ...object, key: "ü".repeat(512) }), undefined);
  assert.equal(objectProblem({ ...object, key: `k${"ü".repeat(512)}` }), "key has more than 1024 bytes of UTF-8");
});
