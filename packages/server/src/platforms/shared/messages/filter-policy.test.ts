import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { FindingsAttributes } from "@lazaret/contract";
import fc from "fast-check";
import { matches, parseFilterPolicy } from "./filter-policy.ts";

const finding: FindingsAttributes = {
  bucket: "uploads",
  key: "invoices/2026/q3.pdf",
  size: 4096,
  status: "infected",
  action: "tag",
  finding: "Win.Test",
};

function wants(json: unknown, attributes: FindingsAttributes = finding): boolean {
  const parsed = parseFilterPolicy(json);
  assert.ok("value" in parsed, JSON.stringify(parsed));
  return matches(parsed.value, attributes);
}

describe("a filter policy", () => {
  const table: readonly [policy: unknown, wanted: boolean][] = [
    [{}, true],
    [{ status: ["infected"] }, true],
    [{ status: ["clean", "infected"] }, true],
    [{ status: ["clean", "no"] }, false],
    [{ status: ["Infected"] }, false],
    [{ status: ["infected"], action: ["tag"] }, true],
    [{ status: ["infected"], action: ["delete"] }, false],
    [{ trace_id: ["order-1"] }, false],
    [{ size: [4096] }, true],
    [{ size: [4096.5, 1] }, false],
    [{ status: [{ "anything-but": "clean" }] }, true],
    [{ status: [{ "anything-but": ["clean", "infected"] }] }, false],
    [{ size: [{ "anything-but": 4096 }] }, false],
    [{ size: [{ "anything-but": [1, 2] }] }, true],
    [{ trace_id: [{ "anything-but": "x" }] }, false],
    [{ key: [{ "anything-but": { prefix: "invoices/" } }] }, false],
    [{ key: [{ "anything-but": { prefix: "tmp/" } }] }, true],
    [{ key: [{ prefix: "invoices/" }] }, true],
    [{ key: [{ prefix: "Invoices/" }] }, false],
    [{ trace_id: [{ prefix: "o" }] }, false],
    [{ size: [{ numeric: ["=", 4096] }] }, true],
    [{ size: [{ numeric: ["=", 4.096e3] }] }, true],
    [{ size: [{ numeric: [">", 4096] }] }, false],
    [{ size: [{ numeric: [">=", 4096] }] }, true],
    [{ size: [{ numeric: ["<", 4096] }] }, false],
    [{ size: [{ numeric: ["<=", 4096] }] }, true],
    [{ size: [{ numeric: [">", 0, "<=", 4096] }] }, true],
    [{ size: [{ numeric: [">=", 4097, "<", 1e12] }] }, false],
    [{ size: [{ numeric: ["<", 10] }, { numeric: [">", 4000] }] }, true],
    [{ finding: [{ exists: true }] }, true],
    [{ finding: [{ exists: false }] }, false],
    [{ version: [{ exists: true }] }, false],
    [{ version: [{ exists: false }] }, true],
    [{ version: ["3", { exists: false }] }, true],
  ];
  for (const [policy, wanted] of table) {
    it(`${JSON.stringify(policy)} ${wanted ? "lets the finding pass" : "holds it back"}`, () => {
      assert.equal(wants(policy), wanted);
    });
  }

  it("sees attributes, in which surrogates are #", () => {
    assert.equal(wants({ key: [{ prefix: "##/" }] }, { ...finding, key: "##/smile" }), true);
  });

  it("lets pass just what its conditions say, each for the values it was made from", () => {
    fc.assert(
      fc.property(policies, attributeSets, ({ json, accepts }, attributes) => {
        assert.equal(wants(json, attributes), accepts(attributes));
      }),
      { numRuns: 2000 },
    );
  });
});

describe("a filter policy that is wrong", () => {
  const attributes = "bucket, key, version, size, status, action, finding, trace_id";
  const table: readonly [policy: unknown, problem: string][] = [
    ["infected", "must be an object of attribute names and lists of values"],
    [[], "must be an object of attribute names and lists of values"],
    [null, "must be an object of attribute names and lists of values"],
    [{ custom_data: ["x"] }, `custom_data is no attribute of a finding; these are: ${attributes}`],
    [JSON.parse('{"__proto__":["x"]}'), `__proto__ is no attribute of a finding; these are: ${attributes}`],
    [{ toString: ["x"] }, `toString is no attribute of a finding; these are: ${attributes}`],
    [{ status: "infected" }, "status must have a list of one or more values"],
    [{ status: [] }, "status must have a list of one or more values"],
    [{ status: [1] }, "status 1: the attribute is a string, and so must be its values"],
    [{ status: [null] }, "status null: the attribute is a string, and so must be its values"],
    [{ status: [["a"]] }, 'status ["a"]: the attribute is a string, and so must be its values'],
    [{ size: ["4096"] }, 'size "4096": the attribute is a number, and so must be its values'],
    [{ status: [{}] }, "status {}: the operators are prefix, anything-but, numeric and exists"],
    [
      { status: [{ suffix: "x" }] },
      'status {"suffix":"x"}: the operators are prefix, anything-but, numeric and exists',
    ],
    [{ status: [{ prefix: "x", exists: true }] }, 'status {"prefix":"x","exists":true}: a condition has one operator'],
    [{ status: [{ exists: "yes" }] }, 'status {"exists":"yes"}: exists must be true or false'],
    [{ key: [{ prefix: "" }] }, 'key {"prefix":""}: prefix must be a string of one or more characters'],
    [{ size: [{ prefix: "4" }] }, 'size {"prefix":"4"}: prefix needs an attribute that is a string'],
    [{ key: [{ "anything-but": [] }] }, 'key {"anything-but":[]}: anything-but needs one or more values'],
    [
      { key: [{ "anything-but": ["a", 1] }] },
      'key {"anything-but":["a",1]}: the attribute is a string, and so must be its values',
    ],
    [
      { key: [{ "anything-but": { suffix: "a" } }] },
      'key {"anything-but":{"suffix":"a"}}: anything-but knows prefix only',
    ],
    [{ key: [{ numeric: ["=", 1] }] }, 'key {"numeric":["=",1]}: numeric needs an attribute that is a number'],
    [{ size: [{ numeric: [">", 5, "<", 5] }] }, 'size {"numeric":[">",5,"<",5]}: the range is empty'],
    [{ size: [{ numeric: [">", 6, "<", 5] }] }, 'size {"numeric":[">",6,"<",5]}: the range is empty'],
    [
      { size: [{ numeric: ["<", 5, ">", 1] }] },
      'size {"numeric":["<",5,">",1]}: a range is a lower bound and an upper one, such as [">", 0, "<=", 150]',
    ],
  ];
  for (const [policy, problem] of table) {
    it(`is refused: ${problem}`, () => {
      assert.deepEqual(parseFilterPolicy(policy), { problems: [problem] });
    });
  }

  for (const numeric of [[], ["="], [">", "1"], ["!=", 1], 5, ["=", 1, "=", 2, "=", 3], [">", 1, "<"]]) {
    it(`is refused: numeric ${JSON.stringify(numeric)}`, () => {
      const parsed = parseFilterPolicy({ size: [{ numeric }] });
      assert.match("problems" in parsed ? parsed.problems.join() : "", /numeric takes =, >, >=, < or <= and a number/);
    });
  }

  it("is told with all that is wrong at once", () => {
    const parsed = parseFilterPolicy({ status: [1, "clean", null], nothing: [], size: [{ numeric: [] }] });
    assert.equal("problems" in parsed && parsed.problems.length, 4);
  });

  it("never throws, whatever it is", () => {
    const json = fc.jsonValue({ maxDepth: 1 });
    const condition = fc.dictionary(operatorNames, json, { maxKeys: 2 });
    const odd = fc.dictionary(fc.constantFrom("size", "key"), fc.array(condition, { maxLength: 3 }));
    fc.assert(fc.property(fc.oneof(json, odd), (any) => void parseFilterPolicy(any)));
  });
});

const operatorNames = fc.constantFrom("prefix", "anything-but", "numeric", "exists");

/** Few values, so that they meet often. A missing attribute is undefined. */
const strings = ["", "a", "ab", "b", "B", "1"] as const;
const numbers = [-1, 0, 1, 1.5, 2] as const;
type Value = string | number | undefined;

/** A condition as it is written, and the values it accepts, which were listed one by one while it was made. */
interface Made {
  json: unknown;
  accepted: ReadonlySet<Value>;
}

function made(json: unknown, universe: readonly Value[], accepts: (value: NonNullable<Value>) => boolean): Made {
  return { json, accepted: new Set(universe.filter((value) => value !== undefined && accepts(value))) };
}

const existence = (universe: readonly Value[]): fc.Arbitrary<Made> =>
  fc.boolean().map((exists) => ({ json: { exists }, accepted: new Set(exists ? universe : [undefined]) }));

const stringConditions: fc.Arbitrary<Made> = fc.oneof(
  existence(strings),
  fc.constantFrom(...strings).map((text) => made(text, strings, (value) => value === text)),
  fc.constantFrom("a", "ab", "b").map((prefix) => made({ prefix }, strings, (value) => startsWith(value, prefix))),
  fc
    .constantFrom("a", "ab", "b")
    .map((prefix) => made({ "anything-but": { prefix } }, strings, (value) => !startsWith(value, prefix))),
  fc.constantFrom(...strings).map((text) => made({ "anything-but": text }, strings, (value) => value !== text)),
  fc
    .subarray([...strings], { minLength: 1 })
    .map((texts) => made({ "anything-but": texts }, strings, (value) => texts.every((text) => text !== value))),
);

const numberConditions: fc.Arbitrary<Made> = fc.oneof(
  existence(numbers),
  fc.constantFrom(...numbers).map((size) => made(size, numbers, (value) => value === size)),
  fc
    .subarray([...numbers], { minLength: 1 })
    .map((sizes) => made({ "anything-but": sizes }, numbers, (value) => sizes.every((size) => size !== value))),
  fc.tuple(fc.constantFrom("=", ">", ">=", "<", "<="), fc.constantFrom(...numbers)).map(([operator, bound]) => {
    // By their places in the list, not by comparing.
    const at = numbers.indexOf(bound);
    const parts = { below: numbers.slice(0, at), equal: [bound], above: numbers.slice(at + 1) };
    const accepted: readonly Value[] = {
      "=": parts.equal,
      ">": parts.above,
      ">=": [...parts.equal, ...parts.above],
      "<": parts.below,
      "<=": [...parts.below, ...parts.equal],
    }[operator] as readonly Value[];
    return { json: { numeric: [operator, bound] }, accepted: new Set(accepted) };
  }),
  fc
    .tuple(fc.constantFrom(0, 1, 2, 3), fc.constantFrom(1, 2, 3, 4), fc.boolean(), fc.boolean())
    .filter(([from, to]) => from < to)
    .map(([from, to, closedBelow, closedAbove]) => ({
      json: { numeric: [closedBelow ? ">=" : ">", numbers[from], closedAbove ? "<=" : "<", numbers[to]] },
      accepted: new Set<Value>(numbers.slice(closedBelow ? from : from + 1, closedAbove ? to + 1 : to)),
    })),
);

function startsWith(value: NonNullable<Value>, prefix: string): boolean {
  return String(value).slice(0, prefix.length) === prefix;
}

const some = (conditions: fc.Arbitrary<Made>): fc.Arbitrary<Made[]> =>
  fc.array(conditions, { minLength: 1, maxLength: 3 });

const policies = fc
  .record(
    { key: some(stringConditions), finding: some(stringConditions), size: some(numberConditions) },
    { requiredKeys: [] },
  )
  .map((policy) => {
    const named = Object.entries(policy) as ["key" | "finding" | "size", Made[]][];
    return {
      json: Object.fromEntries(named.map(([name, conditions]) => [name, conditions.map(({ json }) => json)])),
      accepts: (attributes: FindingsAttributes): boolean =>
        named.every(([name, conditions]) => conditions.some(({ accepted }) => accepted.has(attributes[name]))),
    };
  });

const attributeSets: fc.Arbitrary<FindingsAttributes> = fc
  .record(
    { key: fc.constantFrom(...strings), size: fc.constantFrom(...numbers), finding: fc.constantFrom(...strings) },
    { requiredKeys: ["key", "size"] },
  )
  .map((attributes) => ({ bucket: "b", status: "no", action: "no", ...attributes }));
