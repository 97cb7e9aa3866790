import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isWhole, wholeBytes } from "../../flow/whole-bytes.ts";
import { Problem } from "../problem.ts";
import { onlyFile } from "./multipart.ts";

const FILE = 'Content-Disposition: form-data; name="a"; filename="b"\r\n\r\n';
/** What forms are made of, and what looks like it. */
const words = fc.constantFrom(
  ...["--x\r\n", "\r\n--x\r\n", "\r\n--x--", "\r\n--x--\r\n", "\r\n--xy", "\r\n", "\r", "--", "-", " ", "\t", "text"],
  ...[
    FILE,
    `--x\r\n${FILE}`,
    'Content-Disposition: form-data; name="a"\r\n\r\n',
    "Content-Transfer-Encoding: base64\r\n",
  ],
);
const forms = fc.oneof(
  fc.array(words, { maxLength: 8 }).map((all) => all.join("")),
  fc
    .tuple(fc.array(words, { maxLength: 4 }), words)
    .map(([all, end]) => `--x\r\n${FILE}${all.join("")}\r\n--x--${end}`),
  fc.string({ unit: "binary", maxLength: 200 }).map((text) => `--x\r\n${FILE}${text}\r\n--x--\r\n`),
);

test("a form that is all here gives the same file, or the same problem, as one that comes in any pieces", async () => {
  let files = 0;
  const property = fc.asyncProperty(
    forms,
    fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
    async (text, cuts) => {
      const form = Buffer.from(text);
      const whole = onlyFile(wholeBytes(form), "x");
      assert.ok(isWhole(whole));
      const expected = outcomeOf(() => whole.takeAll());
      if (typeof expected !== "string") files += 1;
      const read: Uint8Array[] = [];
      const pieces = await (async () => {
        for await (const piece of onlyFile(inPieces(form, cuts), "x")) read.push(piece);
      })().then(
        () => Buffer.concat(read),
        (error) =>
          outcomeOf(() => {
            throw error;
          }),
      );
      assert.deepEqual(pieces, expected);
    },
  );
  await fc.assert(property, { numRuns: 300 });
  assert.ok(files > 0, "no form was as it should be");
});

test("blanks without end after a form are refused while they come", async () => {
  const form = `--x\r\n${FILE}text\r\n--x--`;
  async function* endless(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(form);
    for (let blanks = 0; blanks < 100; blanks += 1) yield Buffer.alloc(1000, " ");
    assert.fail("nobody stopped");
  }
  await assert.rejects(async () => {
    for await (const piece of onlyFile(endless(), "x")) assert.equal(String(piece), "text");
  }, /something stands after its end/);
});

function outcomeOf(read: () => Uint8Array): Buffer | string {
  try {
    return Buffer.from(read());
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return `${error.code}: ${error.message}`;
  }
}

async function* inPieces(form: Buffer, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let at = 0, index = 0; at < form.length; index += 1) {
    const length = cuts[index % cuts.length] as number;
    yield form.subarray(at, at + length);
    at += length;
  }
}
