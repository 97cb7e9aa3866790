import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { shellWord } from "../src/text.ts";

test("whatever a file is called, it is one word for a shell, and nothing that a terminal obeys", () => {
  const names = [
    "plain.pdf",
    "it's $(id) `id`",
    "\u0003rm -rf x\r",
    "\u001b[201~id\n",
    "é\u009b2J'\\x41\u007f",
    "-n;|&<>*",
  ];
  for (const name of names) {
    const word = shellWord(name);
    assert.equal(execFileSync("bash", ["-c", `printf %s ${word}`]).toString(), name);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    assert.doesNotMatch(word, /[\u0000-\u001f\u007f-\u009f]/);
  }
});
