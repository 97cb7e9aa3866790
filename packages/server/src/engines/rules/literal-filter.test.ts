import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import fc from "fast-check";
import { randomContents, randomRules } from "../../../test/fixtures/random-rules.ts";
import { eicar } from "../../../test/support/eicar.ts";
import { yaraProgram } from "./compile-rules.ts";
import { loadYara, type Yara } from "./kept-wasm.ts";
import { type LiteralFilter, literalFilter } from "./literal-filter.ts";
import { type Needs, type Requirements, requiredLiterals } from "./required-literals.ts";
import { BUILT_IN_RULES, countRules, readRules } from "./rule-files.ts";

let yara: Yara;
before(async () => {
  yara = await loadYara(yaraProgram());
});

/** With SIMD and without: both look at the same places, if the content begins at an even address. */
function filterBy(requirements: Requirements): LiteralFilter {
  const [fast, plain] = [literalFilter(requirements), literalFilter(requirements, { simd: false })];
  return {
    mayMatch(content) {
      const answer = fast.mayMatch(content);
      assert.equal(plain.mayMatch(Uint8Array.from(content)), answer);
      return answer;
    },
  };
}

const filterOf = (text: string): LiteralFilter => filterBy(requiredLiterals([{ name: "a.yar", text }]));

/** Names of the rules that YARA reports, by content; nothing, if the rules do not compile. */
function matchedBy(text: string, contents: readonly Uint8Array[]): string[][] | undefined {
  const compiler = new yara.Compiler();
  try {
    compiler.addSource(text);
  } catch {
    compiler.free();
    return undefined;
  }
  const rules = compiler.build();
  compiler.free();
  const scanner = rules.scanner();
  const matched = contents.map((content) => {
    const { matches } = yara.scan(scanner, content) as { matches: { identifier: string; isPrivate: boolean }[] };
    return matches.filter(({ isPrivate }) => !isPrivate).map(({ identifier }) => identifier);
  });
  scanner.free();
  rules.free();
  return matched;
}

test("what YARA matches is never ruled out, whatever the rules and the contents", () => {
  const [matches, ruledOut] = [new Set<string>(), new Set<string>()];
  const rulesAndContents = randomRules(1).chain((rules) =>
    fc.tuple(fc.constant(rules), fc.array(randomContents(rules.samples), { minLength: 6, maxLength: 6 })),
  );
  fc.assert(
    fc.property(rulesAndContents, ([{ text }, contents]) => {
      const { mayMatch } = filterOf(text);
      for (const [index, names] of matchedBy(text, contents)?.entries() ?? []) {
        const content = contents[index] ?? new Uint8Array();
        const passes = mayMatch(content);
        if (names.length > 0) assert.ok(passes, `${names} is lost`);
        (names.length > 0 ? matches : ruledOut).add(passes ? text : `not ${text}`);
      }
    }),
    { numRuns: 80 },
  );
  // It has been tried: rules that match, and rules that were ruled out.
  assert.ok(matches.size > 5 && [...ruledOut].filter((text) => text.startsWith("not ")).length > 5);
});

describe("the built-in rules", () => {
  const sources = readRules(BUILT_IN_RULES);
  const requirements = requiredLiterals(sources);

  test("all need literals", () => {
    assert.ok(requirements.kind === "known");
    assert.equal(requirements.rules.length, countRules(sources));
    for (const { needs } of requirements.rules) assert.notEqual(spoken(needs).search(/"/), -1);
  });

  test("do not have YARA asked about ordinary files", () => {
    const { mayMatch } = filterBy(requirements);
    const text = "The quick brown fox jumps over the lazy dog, requests a page and downloads a shell. ".repeat(50);
    assert.equal(mayMatch(Buffer.from(text)), false);
    assert.equal(mayMatch(Buffer.from(`${text}${eicar().toString()}`)), true);
  });
});

/** `"abc" | "def"` for one of several literals, `2 of (…)` for several parts. */
function spoken(needs: Needs): string {
  if (needs.kind === "literals") return needs.literals.map((literal) => JSON.stringify(literal)).join(" | ");
  if (needs.kind === "size") return `${needs.least} to ${needs.most} bytes`;
  return needs.kind === "some" ? `${needs.count} of (${needs.of.map(spoken).join(", ")})` : "anything";
}

function needsOf(condition: string, strings = '$a1 = "first" $a2 = "second" $b = "third"'): string {
  const requirements = requiredLiterals([
    { name: "a.yar", text: `rule Some { strings: ${strings} condition: ${condition} }` },
  ]);
  return requirements.kind === "known" ? requirements.rules.map(({ needs }) => spoken(needs)).join() : "anything";
}

describe("a condition needs", () => {
  const cases: [condition: string, needs: string][] = [
    ["$a1", '"first"'],
    ["$a1 at 0", '"first"'],
    ["$a1 in (0..filesize - 4)", '"first"'],
    ["$a1 or $b", '1 of ("first", "third")'],
    ["$a1 or $a2 and $b", '1 of ("first", 2 of ("second", "third"))'],
    ["($a1 or $a2) and $b", '2 of (1 of ("first", "second"), "third")'],
    ["any of them", '1 of ("first", "second", "third")'],
    ["all of ($a*)", '2 of ("first", "second")'],
    ["2 of ($a1, $b) in (0..100)", '2 of ("first", "third")'],
    ["for any of ($a*) : ( $ at 0 )", '1 of ("first", "second")'],
    ["for any i in (0..3) : ( $b at i )", '"third"'],
    ["#a1 > 2 and not $b", '"first"'],
    ["#b in (0..100) >= 1", '"third"'],
    ["filesize < 2KB and $a1", '2 of (0 to 2047 bytes, "first")'],
    ["filesize < 10", "0 to 9 bytes"],
    ["uint16(0) == 0x5a4d and $a1", '"first"'],
    ["pe.is_pe and other and any of ($a*)", '1 of ("first", "second")'],
  ];
  for (const [condition, needs] of cases) test(condition, () => assert.equal(needsOf(condition), needs));
});

describe("a condition of which nothing is known:", () => {
  const cases = [
    ["not $a1", "$a1 or not $a2", "$a1 or filesize != 3", "$a1 or true", "none of them", "0 of them", "50% of them"],
    ["#a1 == 0", "#a1 < 3", "#a1 > #b", "#a1 >= 0", "defined $a1", "$a1 or other", "any of (other, $a1)", "#a1"],
    ["for all i in (1..0) : ( $a1 )", "for any of them : ( not $ )", "for none of them : ( $ )", "all of (other)"],
    ["filesize - 5 < 10", "with i = 1 : ( $a1 )", "$a1 at 0 == false", "($a1) == false", "#a1 > 0 == false"],
  ];
  for (const condition of cases.flat()) test(condition, () => assert.equal(needsOf(condition), "anything"));
});

describe("a string needs", () => {
  const cases: [string: string, needs: string][] = [
    ['"Power\\x41Shell\\n"', '"powerashell\\n"'],
    ['"abcd" wide', '"a\\u0000b\\u0000c\\u0000d"'],
    ['"abcd" ascii wide nocase', '"abcd" | "a\\u0000b\\u0000c\\u0000d"'],
    ["{ 41 42 43 44 ?? 45 46 47 [2-3] 48 }", '"abcd"'],
    ["{ 41 42 ( 43 | 44 ) 45 }", '"abce" | "abde"'],
    ["/abcd+efgh/", '2 of ("abcd", "efgh")'],
    ["/ab(c|d)?ef/", '"abcef" | "abdef" | "abef"'],
    ["/abcd|efgh[^x]*ijklm/", '"abcd" | "ijklm"'],
    ["/\\b[a]bc{2}\\.x/i", '"abcc.x"'],
  ];
  for (const [string, needs] of cases) test(string, () => assert.equal(needsOf("$a", `$a = ${string}`), needs));
});

/** Each is a match that a careless reading of the rules would lose. */
describe("is not ruled out:", () => {
  const strings: [string: string, content: string][] = [
    ['"abcd" nocase', "aBCd"],
    ["/abcd/ nocase", "aBCd"],
    ["/abcd/i", "aBCd"],
    ["/(?i)abcd/", "aBCd"],
    ['"abcd" wide', "a\0b\0c\0d\0"],
    ["/ab?cd/ wide", "a\0c\0d\0"],
    ['"abcd" wide ascii', "abcd"],
    ['"abcd" xor(1-3)', "`cbe"],
    ['"abcdefghi" base64', "YWJjZGVmZ2hp"],
    ['"abcdefghi" base64wide', [..."YWJjZGVmZ2hp"].join("\0").concat("\0")],
    ['"abcdé"', "abcd\xc3\xa9"],
    ['"ab\\"cd"', 'ab"cd'],
    ['"//ab"', "//ab"],
    ["{ 41 42 /* 43 44 */ 45 46 }", "ABEF"],
    ["{ 41 42 // 43 44\n 45 46 }", "ABEF"],
    ["{ 61 62 6? 64 65 }", "abcde"],
    ["{ 61 62 ~64 64 65 }", "abcde"],
    ["{ 61 62 [0-1] 64 65 }", "abde"],
    ["{ 61 62 63 ( 64 65 66 | 67 ) }", "abcg"],
    ["/abc?d/", "abd"],
    ["/abc*d/", "abd"],
    ["/abc+d/", "abccd"],
    ["/abc{0,1}d/", "abd"],
    ["/abc{,2}d/", "abd"],
    ["/abc{2,}d/", "abcccd"],
    ["/abc{1,2}d/", "abccd"],
    ["/abc{6}d/", "abccccccd"],
    ["/a(bc|)de/", "ade"],
    ["/a(bc|xy)de/", "axyde"],
    ["/abcd|xyz1/", "xyz1"],
    ["/ab[cd]ef/", "abdef"],
    ["/ab[c-e]fg/", "abdfg"],
    ["/ab[^c]de/", "abxde"],
    ["/ab[]c]de/", "ab]de"],
    ["/ab[\\]c]de/", "ab]de"],
    ["/ab[c-]de/", "ab-de"],
    ["/ab[a-e&&c-x]de/", "abdde"],
    ["/ab[[:digit:]x]de/", "ab7de"],
    ["/ab\\<cd/", "ab<cd"],
    ["/ab\\x{63}d/", "abcd"],
    ["/ab\\sde/", "ab\nde"],
    ["/ab\\dde/", "ab7de"],
    ["/ab\\wde/", "abcde"],
    ["/ab.de/s", "ab\nde"],
    ["/^abcd$/", "abcd"],
    ["/a\\/bcd/", "a/bcd"],
    ["/\\\\abcd/", "\\abcd"],
    ["/(abc){2}d/", "abcabcd"],
    ["/(abc)*defg/", "defg"],
    ["/abc(defg.*|.)xyz/", "abcQxyz"],
    ["/(?x)ab cd/", "abcd"],
  ];
  for (const [string, content] of strings) {
    test(`${string} in ${JSON.stringify(content)}`, () => {
      const text = `rule Some { strings: $a = ${string} condition: $a }`;
      for (const [before, after] of BEFORE_AND_AFTER) {
        const bytes = Buffer.from(`${before}${content}${after}`, "latin1");
        if (/\^/.test(string) && before.length + after.length > 0 && !string.includes("[^")) continue;
        assert.deepEqual(matchedBy(text, [bytes]), [["Some"]], "YARA matches it");
        assert.equal(filterOf(text).mayMatch(bytes), true);
      }
    });
  }

  const files: [name: string, text: string, content: string][] = [
    ["a global rule", "global rule A { condition: filesize > 0 }", "x"],
    [
      "a rule behind a private one",
      'private rule A { condition: true } rule B { strings: $b = "abcd" condition: $b and A }',
      "abcd",
    ],
    [
      "a rule that needs another not to match",
      'rule A { strings: $a = "abcd" condition: $a } rule B { condition: not A }',
      "x",
    ],
    ["a string with a brace", 'rule A { meta: m = "}" strings: $a = "ab}cd" condition: $a }', "ab}cd"],
    [
      "a comment with a condition",
      'rule A { strings: $a = "abcd" $b = "wxyz" condition: /* $a and */ $b or $a }',
      "wxyz",
    ],
    [
      "an expression that ends later than it looks",
      "rule A { strings: $a = /\\\\/ $b = /xyz/ condition: any of them }",
      "\\/ $b = ",
    ],
    [
      "a condition over several lines",
      'rule A { strings: $a = "abcd" $b = "wxyz"\n condition: $a // and $b\n or\n $b }',
      "wxyz",
    ],
    ["an anonymous string", 'rule A { strings: $ = "abcd" $ = "wxyz" condition: any of them }', "wxyz"],
    ["a string by its beginning", 'rule A { strings: $ab = "abcd" $ac = "wxyz" condition: any of ($a*) }', "wxyz"],
    ["two of three", 'rule A { strings: $a = "abcd" $b = "wxyz" $c = "hijk" condition: 2 of them }', "wxyz hijk"],
    ["a rule with tags", 'rule A : one two { strings: $a = "abcd" condition: $a }', "abcd"],
    ["a small file", 'rule A { strings: $a = "abcd" condition: filesize < 5 and $a }', "abcd"],
    ["a large file", 'rule A { strings: $a = "abcd" condition: filesize > 7 and $a }', "abcdefgh"],
  ];
  for (const [name, text, content] of files) {
    test(name, () => {
      const bytes = Buffer.from(content, "latin1");
      const matched = matchedBy(text, [bytes]);
      if (matched) assert.notDeepEqual(matched, [[]], "YARA matches it");
      assert.equal(filterOf(text).mayMatch(bytes), true);
    });
  }
});

const BEFORE_AND_AFTER = ["", " ", "  ", "   ", "    "].flatMap((before) => [
  [before, ""] as const,
  [before, " "] as const,
]);

describe("a file that is not understood for certain says nothing:", () => {
  const plain = 'rule A { strings: $a = "abcd" condition: $a }';
  const cases: [name: string, text: string][] = [
    ["an include", `include "other.yar"\n${plain}`],
    ["a character that has no business there", `${plain}\u00a0`],
    ["a line that ends like on old computers", `${plain}\r`],
    ["a text in three quotes", plain.replace('"abcd"', '"""abcd"""')],
    ["an expression whose end is in doubt", plain.replace('"abcd"', "/\\\\abcd/ // or / here\n")],
    ["an unknown modifier", plain.replace('"abcd"', '"abcd" backwards')],
    ["an unknown flag", plain.replace('"abcd"', "/abcd/x")],
    ["a block that is not closed", plain.slice(0, -1)],
    ["a comment that is not closed", `${plain} /*`],
    ["a comment whose end is in doubt", plain.replace('"abcd"', "{ 41 /* 42 **/ 43 44 45 /* 46 */ 47 }")],
    ["braces in a condition", plain.replace("condition: $a", "condition: { $a }")],
  ];
  for (const [name, text] of cases) {
    test(name, () => assert.equal(requiredLiterals([{ name: "a.yar", text }]).kind, "unknown"));
  }
  test("nor do the files beside it", () => {
    assert.equal(requiredLiterals([{ name: "a.yar", text: plain }]).kind, "known");
    const both = [plain, "include"].map((text) => ({ name: "a.yar", text }));
    assert.deepEqual(requiredLiterals(both), { kind: "unknown", why: "a.yar is not understood" });
  });
});

test("literals are found wherever they stand, at any address, and where there are none nothing is", () => {
  const literal = fc.string({ unit: fc.constantFrom("a", "b", "z", "\x01"), minLength: 3, maxLength: 7 });
  const literals = fc.oneof(fc.array(literal, { minLength: 1, maxLength: 5 }), fc.constant(["abzz", "zzb\x01a"]));
  const content = fc.string({ unit: fc.constantFrom("a", "B", "z", "Z", "\x01", "-"), minLength: 20, maxLength: 60 });
  let found = 0;
  fc.assert(
    fc.property(literals, content, fc.nat(3), fc.nat(90), (others, text, offset, at) => {
      const taken = text.slice(at, at + 5).toLowerCase();
      const wanted = taken.length >= 3 ? [...others, taken] : others;
      const { mayMatch } = filterBy({
        kind: "known",
        rules: [{ name: "a", needs: { kind: "literals", literals: wanted } }],
      });
      const spread = Buffer.from("-".repeat(offset) + text);
      const bytes = Uint8Array.from(spread).subarray(offset);
      const isThere = wanted.some((one) => text.toLowerCase().includes(one));
      assert.equal(mayMatch(bytes), isThere);
      if (isThere) found += 1;
    }),
    { numRuns: 3000 },
  );
  assert.ok(found > 100 && found < 2900);
});

test("a content made of beginnings of literals is given to YARA rather than searched for long", () => {
  // The rare letter is what they are searched by.
  const endings = Array.from({ length: 256 }, (_, index) => index.toString(4).padStart(4, "0"));
  const literals = endings.map(
    (ending, index) => `$s${index} = "zzzz${ending.replace(/\d/g, (digit) => "etao"[Number(digit)] ?? "")}"`,
  );
  const { mayMatch } = filterOf(`rule A { strings: ${literals.join(" ")} condition: any of them }`);
  assert.equal(mayMatch(Buffer.alloc(100_000, "z")), true);
  assert.equal(mayMatch(Buffer.alloc(100_000, "y")), false);
});
