import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { deflated, encrypted, packedAs, stored, withDescriptor, zip } from "../../test/support/zip-writer.ts";
import { archiveLook, type Objection } from "./archive-look.ts";

const text = Buffer.from("brevity is the soul of wit\n".repeat(5));

function lookAt(file: Uint8Array, chunkBytes: readonly number[] = []): Objection | undefined {
  const look = archiveLook();
  let at = 0;
  for (const bytes of chunkBytes) {
    look.see(file.slice(at, at + bytes));
    at += bytes;
  }
  look.see(file.subarray(at));
  return look.finish();
}

/** Bytes in which the records of zip files are frequent, whole or broken. */
const signature = fc.constantFrom(
  "PK\x01\x02",
  "PK\x03\x04",
  "PK\x05\x06",
  "PK\x06\x06",
  "PK\x06\x07",
  "PK\x05\x05",
  "PK",
);
const zipLikeBytes = fc
  .array(
    fc.oneof(
      signature.map((mark) => Buffer.from(mark, "latin1")),
      fc.uint8Array({ maxLength: 60 }),
    ),
    { maxLength: 20 },
  )
  .map((pieces) => Buffer.concat(pieces));

const lengths = fc.tuple(fc.nat(200), fc.nat(200), fc.nat(200));
/** The header of a directory with lengths of its own choice: it ends somewhere ahead. */
const falseHeader = lengths.map(([name, extra, comment]) => {
  const header = Buffer.alloc(46);
  header.write("PK\x01\x02", "latin1");
  header.writeUInt16LE(name, 28);
  header.writeUInt16LE(extra, 30);
  header.writeUInt16LE(comment, 32);
  return header;
});

const honest = fc.constantFrom(
  deflated("a.txt", text),
  stored("b.txt", text),
  withDescriptor(deflated("c.txt", text)),
  stored("d/", Buffer.alloc(0)),
);
const odd = fc.constantFrom(
  encrypted("x", text, "secret"),
  packedAs(14, { name: "y", packed: text, content: text }),
  packedAs(98, { name: "z", packed: text, content: text }),
);
const archive = fc
  .tuple(fc.array(honest, { maxLength: 5 }), fc.option(odd))
  .map(([members, last]) => zip(last ? [...members, last] : members));

test("the answer does not depend on how the bytes are cut into chunks", () => {
  fc.assert(
    fc.property(
      fc.tuple(zipLikeBytes, archive, zipLikeBytes).map((parts) => Buffer.concat(parts)),
      fc.array(fc.oneof(fc.nat(3), fc.nat(100))),
      (file, chunkBytes) => assert.deepEqual(lookAt(file, chunkBytes), lookAt(file)),
    ),
    { numRuns: 2000 },
  );
});

test("no bytes make it throw", () => {
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array(), zipLikeBytes), (file) => {
      lookAt(file);
    }),
    { numRuns: 5000 },
  );
});

test("honest archives pass, whatever they hold", () => {
  fc.assert(
    fc.property(fc.array(honest, { minLength: 1, maxLength: 8 }), fc.array(falseHeader), (members, headers) => {
      const decoy = stored("decoy.bin", Buffer.concat(headers));
      assert.equal(lookAt(zip([...members, decoy])), undefined);
    }),
  );
});

test("an archive is judged whatever stands before it", () => {
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array(), zipLikeBytes), odd, (junk, member) => {
      const objection = lookAt(Buffer.concat([junk, zip([member])]));
      assert.ok(objection);
    }),
    { numRuns: 2000 },
  );
});

test("false directory headers, in members, names and comments, hide no true one", () => {
  const decoys = fc.array(falseHeader, { minLength: 1, maxLength: 12 }).map((headers) => Buffer.concat(headers));
  fc.assert(
    fc.property(decoys, decoys, odd, (before, within, member) => {
      const commented = { ...deflated("n", text), central: { comment: within } };
      const file = zip([stored("decoy.bin", before), commented, member], { beforeDirectory: before });
      assert.ok(lookAt(file));
    }),
    { numRuns: 2000 },
  );
});
