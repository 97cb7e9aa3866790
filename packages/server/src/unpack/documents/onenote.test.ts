import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { type Opened, openContainer } from "../../../test/support/open-container.ts";
import { memoryBlob } from "../blob.ts";
import { oneNote } from "./onenote.ts";

const hex = (digits: string): Buffer => Buffer.from(digits, "hex");
const SECTION = Buffer.concat([hex("e4525c7b8cd8a74daeb15378d02996d3"), randomBytes(1008)]);

/** A file as it stands in a section; `claimed` is the size that it says it has. */
function attached(content: Buffer, claimed = content.length): Buffer {
  const size = Buffer.alloc(20);
  size.writeBigUInt64LE(BigInt(claimed));
  const filling = Buffer.alloc(-content.length & 7);
  const [mark, end] = [hex("e716e3bd65261145a4c48d4d0b7a9eac"), hex("22a7fb71790f0b4abb13899256426b24")];
  return Buffer.concat([mark, size, content, filling, end]);
}

async function opened(...parts: Buffer[]): Promise<Opened> {
  const result = await openContainer(oneNote, Buffer.concat(parts));
  assert.ok(result?.place.sure, "no section was found");
  return result;
}

const contents = ({ members }: Opened): string[] => members.map(({ content }) => content.toString("latin1"));

describe("a section of OneNote", () => {
  const [one, other] = [randomBytes(3000), randomBytes(1000)];

  test("its files come out byte for byte, and its pages are left over", async () => {
    const page = randomBytes(48);
    const result = await opened(SECTION, attached(one), page, attached(other), page);
    assert.equal(result.outcome, "opened");
    assert.deepEqual(contents(result), [one.toString("latin1"), other.toString("latin1")]);
    const behind = SECTION.length + attached(one).length;
    const end = behind + page.length + attached(other).length;
    assert.deepEqual(result.rest, [
      { start: 16, end: SECTION.length },
      { start: behind, end: behind + page.length },
      { start: end, end: end + page.length },
    ]);
  });

  test("one without files has none", async () => assert.deepEqual((await opened(SECTION)).members, []));

  test("a mark that claims all that follows hides nothing", async () => {
    const liar = attached(Buffer.alloc(0), 4000);
    const result = await opened(SECTION, liar, attached(one), Buffer.alloc(2000));
    assert.ok(contents(result).includes(one.toString("latin1")));
  });

  test("one that claims more than there is: unreadable, and what there is comes out", async () => {
    const result = await opened(SECTION, attached(one, 2 ** 50), attached(other));
    assert.equal(result.outcome, "unreadable");
    assert.ok(contents(result).includes(other.toString("latin1")));
    assert.equal((await opened(SECTION, attached(one).subarray(0, 20))).outcome, "unreadable");
  });

  test("files in files without end are too much, and cost no more than a few times the file", async () => {
    const liars = Array.from({ length: 2000 }, () => attached(Buffer.alloc(0), 2 ** 40));
    const result = await opened(SECTION, ...liars);
    assert.equal(result.outcome, "too-large");
    assert.ok(result.work < 20 * 2000 * attached(Buffer.alloc(0)).length + 2 ** 21);
  });

  test("a section in a section is opened by itself, however much is in it", async () => {
    const inner = Buffer.concat([SECTION, ...Array.from({ length: 50 }, () => attached(other))]);
    const result = await opened(SECTION, attached(inner), attached(one));
    assert.equal(result.outcome, "opened");
    assert.deepEqual(contents(result), [inner.toString("latin1"), one.toString("latin1")]);
  });

  test("one as OneDrive writes it cannot be read", async () => {
    const file = Buffer.concat([SECTION, attached(one)]);
    hex("2fe98d63d4a6c14b9a36b3fc2511a5b7").copy(file, 48);
    assert.equal((await opened(file)).outcome, "unreadable");
  });

  test("anything else is none", () => {
    for (const bytes of [Buffer.alloc(0), SECTION.subarray(4), attached(one)])
      assert.deepEqual(oneNote.find(memoryBlob(bytes)), []);
  });
});
