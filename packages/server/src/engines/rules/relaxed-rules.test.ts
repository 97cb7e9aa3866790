import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { relaxedCondition, relaxedRules } from "./relaxed-rules.ts";
import { BUILT_IN_RULES, readRules } from "./rule-files.ts";

describe("a condition that can be asked about many files at once", () => {
  const cases: [condition: string, relaxed: string][] = [
    ["$a", "$a"],
    ["all of them", "all of them"],
    ["filesize < 200KB and all of them", "all of them"],
    ["$a at 0 and $b", "$a and $b"],
    ["$a in (0..filesize)", "$a"],
    ["$php and any of ($run, $called)", "$php and any of ($run, $called)"],
    ["filesize < 4MB and (any of ($a, $b) or all of ($c_*))", "(any of ($a, $b) or all of ($c_*))"],
    ["$a or $b and $c", "$a or $b and $c"],
  ];
  for (const [condition, relaxed] of cases) {
    test(condition, () => assert.equal(relaxedCondition(condition), relaxed));
  }
});

describe("a condition that cannot", () => {
  const cases = [
    "not $a",
    "$a and not $b",
    "filesize < 100",
    "filesize < 100 or $a",
    "none of them",
    "0 of them",
    "#a < 3",
    "#a > 3",
    "$a and uint16(0) == 0x5a4d",
    "$a and pe.is_pe",
    "other_rule and $a",
    "for all of them : ( $ at 0 )",
    "$a at pe.entry_point or $b",
    "not ($a and $b)",
    "($a and filesize < 10)",
    "true",
  ];
  for (const condition of cases) test(condition, () => assert.equal(relaxedCondition(condition), undefined));
});

test("all built-in rules can be asked about many files at once", () => {
  const relaxed = relaxedRules(readRules(BUILT_IN_RULES));
  assert.ok(relaxed);
  for (const { text } of relaxed) assert.doesNotMatch(text, /filesize| at 0/);
});

describe("rules that are laid out differently are left alone", () => {
  const plain = 'rule a\n{\n    strings:\n        $a = "x"\n    condition:\n        $a\n}\n';
  const cases: [name: string, text: string][] = [
    ["on one line", 'rule a { strings: $a = "x" condition: $a }\n'],
    ["private", `private ${plain}`],
    ["an import", `import "pe"\n${plain}`],
    ["an include", `include "other.yar"\n${plain}`],
    ["no strings", "rule a\n{\n    condition:\n        filesize > 10\n}\n"],
    ["an anchored expression", plain.replace('"x"', "/^x/")],
    ["an expression bound to the end", plain.replace('"x"', "/x$/")],
    ["a comment in the condition", plain.replace("        $a\n}", "        $a // not $b\n}")],
    ["a second condition inside the strings", plain.replace('"x"\n', '"x"\n}\n    condition:\n        $a\n')],
  ];
  for (const [name, text] of cases) test(name, () => assert.equal(relaxedRules([{ name, text }]), undefined));

  test("but comments around a rule, tags and numbers are fine", () => {
    const text = `// one\n\n/* two\n   three */\n${plain.replace("rule a", "rule a : tag other")}`;
    assert.ok(relaxedRules([{ name: "a", text }]));
  });
});
