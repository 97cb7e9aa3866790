import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { binHexText } from "../../../test/fixtures/binhex-writer.ts";
import { openContainer } from "../../../test/support/open-container.ts";
import { memoryBlob } from "../blob.ts";
import { binHex } from "./binhex.ts";

const data = Buffer.from("MZ, as it were, and \x90 and \x90\x90 and aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "latin1");
const resources = Buffer.from([0, 0, 1, 0, 0x90, 7, 7, 7, 7, 7, 7, 7]);

describe("BinHex", () => {
  for (const runs of [false, true]) {
    test(`data and resources come out, ${runs ? "with" : "without"} runs`, async () => {
      const file = binHexText({ data, resources, runs });
      const result = await openContainer(binHex, Buffer.concat([file, Buffer.from("and so on, and so on, and on")]));
      assert.ok(result?.place.sure);
      assert.equal(result.outcome, "opened");
      const contents = result.members.filter(({ content }) => content.length > 0).map(({ content }) => content);
      assert.deepEqual(contents, [data, resources]);
      assert.equal(result.rest.length, 1, "what stands behind it is left over");
    });
  }

  test("it is found behind a letter, and two are found", () => {
    const file = binHexText({ data, resources });
    const letter = Buffer.from("Dear all,\r\n\r\nhere it is:\r\n\r\n");
    const places = binHex.find(memoryBlob(Buffer.concat([letter, file, letter, file])));
    assert.deepEqual(
      places.map(({ start, sure }) => ({ start, sure })),
      [
        { start: letter.length, sure: true },
        { start: 2 * letter.length + file.length, sure: true },
      ],
    );
  });

  test("one that is cut off, or whose header promises more, is unreadable, and what there is comes out", async () => {
    const file = binHexText({ data, resources: Buffer.alloc(0) });
    for (const cut of [file.subarray(0, file.length - 30), binHexText({ data, resources, promised: 1e6 })]) {
      const result = await openContainer(binHex, cut);
      assert.equal(result?.outcome, "unreadable");
      assert.ok(result?.members.some(({ content }) => content.length > 30));
    }
  });

  test("a text about it is not taken for certain", () => {
    const text = Buffer.from(
      "Such a file has a line\n(This file must be converted with BinHex 4.0)\nand a colon:\n: like this\n",
    );
    assert.deepEqual(
      binHex.find(memoryBlob(text)).map(({ sure }) => sure),
      [false],
    );
  });

  test("runs of runs are too large before they fill memory", async () => {
    const file = binHexText({ data: Buffer.alloc(200_000), resources, runs: true });
    assert.ok(file.length < 5000);
    assert.equal((await openContainer(binHex, file, { memberInMemoryBytes: 100_000 }))?.outcome, "too-large");
  });
});
