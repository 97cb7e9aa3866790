import assert from "node:assert/strict";
import { test } from "node:test";
import { inAnyCase } from "./source-code.ts";

test("a pattern in any case matches what the flag i would, and nothing else", () => {
  const patterns = [/@?echo (?:off|on)$/i, /\[Cmdlet\w+\(|\bset [^$@]/i, /[a-f-]x[^'"n-z]\d\S[\]a]/i];
  const texts = [
    "echo off",
    "@echo onn",
    "[cmdletBinding(",
    "set x",
    "xset x",
    "set $",
    "-xa1b]",
    "gxa1b]",
    "exn1ba",
    "bxa1 a",
  ];
  const matches = patterns.flatMap((pattern) => {
    const expanded = new RegExp(inAnyCase(pattern.source));
    return texts.flatMap((text) =>
      [text, text.toUpperCase(), text.toLowerCase()].map((each) => {
        assert.equal(expanded.test(each), pattern.test(each), `${pattern} on ${each}`);
        return pattern.test(each);
      }),
    );
  });
  assert.ok(matches.includes(true) && matches.includes(false));
});
