import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { openContainer } from "../../../test/support/open-container.ts";
import { numberLists } from "./number-lists.ts";

const payload = randomBytes(200);
const numbers = [...payload].map(String);

const contents = async (text: string): Promise<Buffer[]> =>
  ((await openContainer(numberLists, Buffer.from(text)))?.members ?? []).map(({ content }) => content);

describe("bytes written as numbers come out", () => {
  const texts: Record<string, string> = {
    "an array of JavaScript": `var a = [${numbers.join(", ")}];\nrun(a);`,
    "one on each line": `data\n${numbers.join("\n")}\n`,
    "letters of Visual Basic": `s = ${numbers.map((number) => `Chr(${number})`).join(" & ")}`,
    "letters of Visual Basic, however they are spelled": numbers
      .map((number, index) => `${["Chr", "chr", "CHR", "cHR", "ChrW", "chrw", "CHRW"][index % 7]}(${number})`)
      .join("&"),
    "casts of PowerShell": `$a = ${numbers.map((number) => `[char]${number}`).join("+")}`,
    "lines that go on": `a = Array(${numbers.map((number, index) => (index % 10 === 9 ? `${number}, _\n    ` : `${number}, `)).join("")}0)`,
    "signed bytes of Java": `byte[] a = {${[...payload].map((byte) => (byte > 127 ? byte - 256 : byte)).join(",")}};`,
  };
  for (const [name, text] of Object.entries(texts)) {
    test(name, async () => assert.ok((await contents(text)).some((content) => content.includes(payload))));
  }

  test("and nothing else with them", async () => {
    assert.deepEqual(await contents(`let part1 = 2; let a7 = [${numbers.join(",")}]; part1 = 3;`), [payload]);
  });
});

test("a few numbers, large ones and noise are no list", async () => {
  assert.deepEqual(await contents("In 1999 there were 12 of 40, and 7 more.\n".repeat(3)), []);
  assert.deepEqual(await contents(Array.from({ length: 100 }, (_, index) => index * 1000).join(", ")), []);
  assert.equal(await openContainer(numberLists, Buffer.concat([Buffer.alloc(600), randomBytes(9000)])), undefined);
});

test("every byte is passed over once", async () => {
  const text = Buffer.from("12, 13, 9999, ".repeat(50_000));
  const opened = await openContainer(numberLists, Buffer.concat([Buffer.from(numbers.join(",")), text]));
  assert.ok(opened && opened.work < 3 * text.length);
});
