import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { deflateSync } from "node:zlib";
import { openContainer } from "../../../test/support/open-container.ts";
import { memoryBlob } from "../blob.ts";
import { activeMime } from "./activemime.ts";

/** A header of so many bytes, which says where the stream begins if `says` is given. */
function header(bytes: number, says?: number): Buffer {
  const head = Buffer.alloc(bytes);
  head.write("ActiveMime");
  if (says !== undefined) head.writeUInt16LE(says - 46, 0x1e);
  return head;
}

describe("ActiveMime", () => {
  const object = createHash("shake256", { outputLength: 2000 }).update("object").digest();
  const stream = deflateSync(object);
  const files: Record<string, Buffer> = {
    "where Word begins": Buffer.concat([header(0x32), stream]),
    "where Excel begins": Buffer.concat([header(0x22a), stream]),
    "where the header says": Buffer.concat([header(777, 777), stream]),
    "where nobody says": Buffer.concat([header(1234), stream]),
  };
  for (const [name, file] of Object.entries(files)) {
    test(`its object comes out: it begins ${name}`, async () => {
      const result = await openContainer(activeMime, Buffer.concat([file, Buffer.from("and more")]));
      assert.ok(result?.place.sure);
      assert.equal(result.outcome, "opened");
      assert.ok(result.members.length === 1 && result.members[0]?.content.equals(object));
      assert.deepEqual(result.rest, [{ start: file.length, end: file.length + 8 }]);
    });
  }

  test("two streams both come out", async () => {
    const first = Buffer.concat([header(0x32), deflateSync(Buffer.from("a decoy"))]);
    const file = Buffer.concat([first, Buffer.alloc(0x22a - first.length), stream]);
    const result = await openContainer(activeMime, file);
    assert.ok(result?.members.some(({ content }) => content.equals(object)));
  });

  test("a stream that breaks off gives what there is, and is unreadable", async () => {
    const result = await openContainer(activeMime, Buffer.concat([header(0x32), stream.subarray(0, 1000)]));
    assert.equal(result?.outcome, "unreadable");
    const { content } = result?.members[0] ?? { content: Buffer.alloc(0) };
    assert.ok(content.length > 900 && object.subarray(0, content.length).equals(content));
  });

  test("more than memory is given is too large", async () => {
    const file = Buffer.concat([header(0x32), deflateSync(Buffer.alloc(100_000))]);
    assert.equal((await openContainer(activeMime, file, { memberInMemoryBytes: 50_000 }))?.outcome, "too-large");
  });

  test("a text about it is not taken for certain", () => {
    assert.deepEqual(activeMime.find(memoryBlob(Buffer.from("ActiveMime is a format of Office"))), [
      { start: 0, end: 32, sure: false },
    ]);
    assert.deepEqual(activeMime.find(memoryBlob(Buffer.from("Active"))), []);
  });
});
