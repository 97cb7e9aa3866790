import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { deflateRawSync, deflateSync } from "node:zlib";
import { packedBy7z } from "../../../test/fixtures/archives.ts";
import { type Opened, openContainer } from "../../../test/support/open-container.ts";
import { memoryBlob } from "../blob.ts";
import { encodedRuns } from "../encodings/encoded-runs.ts";
import { openPgp } from "./openpgp.ts";
import { signedText } from "./openpgp-text.ts";

const message = Buffer.from(Array.from({ length: 8 }, (_, line) => `message ${line * 7919} of the sample\n`).join(""));
const decoded = (...parts: string[]): Buffer => Buffer.from(parts.join(""), "base64");

/** `gpg --sign --compress-algo none`. */
const SIGNED = decoded(
  "kA0DAAgWLxzsj21yUtsBrOZiBW0udHh0avmvQm1lc3NhZ2UgMCBvZiB0aGUgc2FtcGxlCm1lc3NhZ2UgNzkxOSBvZiB0aGUgc2FtcGxlCm1l",
  "c3NhZ2UgMTU4Mzggb2YgdGhlIHNhbXBsZQptZXNzYWdlIDIzNzU3IG9mIHRoZSBzYW1wbGUKbWVzc2FnZSAzMTY3NiBvZiB0aGUgc2FtcGxl",
  "Cm1lc3NhZ2UgMzk1OTUgb2YgdGhlIHNhbXBsZQptZXNzYWdlIDQ3NTE0IG9mIHRoZSBzYW1wbGUKbWVzc2FnZSA1NTQzMyBvZiB0aGUgc2Ft",
  "cGxlCoh8BAAWCAAkFiEEV18THoI0jtdw49DVLxzsj21yUtsFAmr5r0IGHGVAeC55AAoJEC8c7I9tclLb1zkA/3b7B6P5vAWVac0iZz1ncTby",
  "Nv6hQXiJWPYcjyvAMmdgAQDokokfbMh76ksQvAoekeB3M3bxj/fh8NMtLldvAQeOBQ==",
);
/** `gpg --sign`. */
const SIGNED_AND_PACKED = decoded(
  "owGbwMvMwCGmL/OmP7co6DbjmmdJrLl6JRUlWT/XO+WmFhcnpqcqGCjkpymUZKQqFCfmFuSkcsHEzS0NLXFIGZpaGFvgkDMyNjc1xyFnbGhm",
  "boZLztLU0hSHnIm5qaEJDjlTUxNjYzS5jhoWBjEOBhUxRZbweGG5JpO+6wWPL1yFhQMrE8j/bDKpDhV6lQxcnAIwieuWDP/LfrMv/rmHdWrm",
  "WaV02/RCs09m/xY6VnRGfJPp1z5glJ7AyPBiUqd8zonqV94Ce7jkJj4oNy772P/94YfLunrh+YzsfawA",
);
/** `gpg --encrypt`. */
const FOR_SOMEBODY = decoded(
  "hF4D9xonlVqyaVASAQdAWijg0QyXrW8dqEL4hPMMwwBT4Ul4puamiGkDOTsw8UEwMKMwUhG6fcK7zIBZZdnGDF5cO8ct09PRICyAJouAvCOv",
  "CRahqxtf2KECy6PML/Jf0ooBw/fe3IJ40dCU/xK3Nrv3LAzrxNAiLyhkZTfV8akv0r1uHMBVUMXTbxqB83xeWEKdMONpVJGv+ot7wTRA9zxF",
  "0HEUiTjbcjifeCGe7kHZWcscDJVi9xtU4uaz5HbyYqFNcDbms3jcJ6oaVX6FRLEOZhlw4OWWMakfnjSsj0X97dEIYQYHeAYhDJA=",
);
/** `gpg --symmetric`. */
const WITH_PASSPHRASE = decoded(
  "jA0ECQMCJFW/3UHEWez/0oQBT/XmdoUO4pi1J9xFawPzcVBN+TxsPU7Z74px0nzA6Ot8TuDvg7U8FMtDcUvZHrZTeKD8tZYZgYQDeUwmzerG",
  "2Ic09PX9Ce2yW7DeVjUGKCUg7AXNhomcEga3p/ugPUyEXnpxamrj3vThUCeaYvtLOlXNb+wOTD2qiJYS7DDWshwvE9g=",
);
/** `gpg --detach-sign`. */
const SIGNATURE = decoded(
  "iHwEABYIACQWIQRXXxMegjSO13Dj0NUvHOyPbXJS2wUCavmvQgYcZUB4LnkACgkQLxzsj21yUtvXOQD/dvsHo/m8BZVpzSJnPWdxNvI2/qFB",
  "eIlY9hyPK8AyZ2ABAOiSiR9syHvqSxC8Ch6R4HczdvGP9+Hw0y0uV28BB44F",
);
/** `gpg --export`. */
const KEY = decoded(
  "mDMEavmvQhYJKwYBBAHaRw8BAQdAR2hOhGORECrJnjReSXc302oQiPjhRQJttNWm1WKEuw60BWVAeC55iJAEExYIADgWIQRXXxMegjSO13Dj",
  "0NUvHOyPbXJS2wUCavmvQgIbAwULCQgHAgYVCgkICwIEFgIDAQIeAQIXgAAKCRAvHOyPbXJS225iAP9vxaDH1YXSZYrUrozNCEOiL6no3CZP",
  "U2lZCVEVgyjAwwEAh2WF2mK+u1oIQNAPdwSLU8X8q3i6KTg1W2OZpuB5+wS4OARq+a9CEgorBgEEAZdVAQUBAQdA9SWtVNrpjXdcXQpOl+OX",
  "g+bkyoxwNMOwq9ke8wyxEDYDAQgHiHgEGBYIACAWIQRXXxMegjSO13Dj0NUvHOyPbXJS2wUCavmvQgIbDAAKCRAvHOyPbXJS26MnAQDXiRAx",
  "Sk+ZPkLCchvYntJ68sSGuRtoOw//sDYJj4lfZQD+NvgqlncDkqPHTxQQpzHq5rCNbTIepEiwOr3hetWmGQg=",
);
/** `gpg --armor --store`, with a checksum in the last line but one. */
const IN_LETTERS = Buffer.from(
  [
    "-----BEGIN PGP MESSAGE-----",
    "",
    "owFb8yyJNVevpKIk6+d6h9zU4uLE9FQFA4X8NIWSjFSF4sTcgpxULpi4uaWhJQ4p",
    "Q1MLYwscckbG5qbmOOSMDc3MzXDJWZpamuKQMzE3NTTBIWdqamJsjCYHAA==",
    "=GfKv",
    "-----END PGP MESSAGE-----",
    "",
  ].join("\n"),
);

type Packing = (tag: number, body: Buffer) => Buffer;
const be = (value: number, bytes: number): Buffer => {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntBE(value, 0, bytes);
  return buffer;
};
const old =
  (lengthBytes: 1 | 2 | 4): Packing =>
  (tag, body) =>
    Buffer.concat([Buffer.of(0x80 | (tag << 2) | [1, 2, 4].indexOf(lengthBytes)), be(body.length, lengthBytes), body]);
const endless: Packing = (tag, body) => Buffer.concat([Buffer.of(0x83 | (tag << 2)), body]);
const current: Packing = (tag, body) => Buffer.concat([Buffer.of(0xc0 | tag, 0xff), be(body.length, 4), body]);
const short: Packing = (tag, body) => {
  const length = body.length < 192 ? [body.length] : [192 + ((body.length - 192) >> 8), (body.length - 192) & 0xff];
  return Buffer.concat([Buffer.of(0xc0 | tag, ...length), body]);
};
/** Pieces of two to some power, and a last one of any length. */
const inPieces =
  (power: number): Packing =>
  (tag, body) => {
    const parts: Buffer[] = [Buffer.of(0xc0 | tag)];
    let at = 0;
    for (; at + 2 ** power < body.length; at += 2 ** power) {
      parts.push(Buffer.of(0xe0 | power), body.subarray(at, at + 2 ** power));
    }
    return Buffer.concat([...parts, Buffer.of(0xff), be(body.length - at, 4), body.subarray(at)]);
  };

const literal = (content: Buffer, mode = "b"): Buffer =>
  Buffer.concat([Buffer.from(`${mode}\x05a.exe`), Buffer.alloc(4), content]);

async function opened(...pieces: Uint8Array[]): Promise<Opened> {
  const result = await openContainer(openPgp, Buffer.concat(pieces));
  assert.ok(result, "no message was found");
  return result;
}

const isNone = (bytes: Buffer): void => assert.deepEqual(openPgp.find(memoryBlob(bytes)), []);

describe("the file in a message comes out byte for byte", () => {
  const content = randomBytes(1500);
  const packings: Record<string, Packing> = {
    "an old length of two bytes": old(2),
    "an old length of four bytes": old(4),
    "no length": endless,
    "a short length": short,
    "a length of four bytes": current,
    "pieces of 512 bytes": inPieces(9),
    "pieces of one byte": inPieces(0),
  };
  for (const [name, pack] of Object.entries(packings)) {
    test(`with ${name}`, async () => {
      const { members, outcome, rest, place } = await opened(pack(11, literal(content)));
      assert.equal(outcome, "opened");
      assert.deepEqual(rest, []);
      assert.ok(place.sure);
      assert.deepEqual(
        members.map(({ name }) => name),
        ["a.exe"],
      );
      assert.ok(members[0]?.content.equals(content));
    });
  }

  test("with a length of one byte, old and new", async () => {
    for (const pack of [old(1), short])
      assert.ok(
        (await opened(pack(11, literal(message.subarray(0, 99))))).members[0]?.content.equals(message.subarray(0, 99)),
      );
  });

  test("signed by gpg", async () => {
    const { members, place, rest } = await opened(SIGNED);
    assert.ok(place.sure && members.length === 1 && members[0]?.content.equals(message));
    assert.deepEqual(rest, []);
  });

  test("behind a marker, with a signature in front", async () => {
    const signature = SIGNATURE.subarray(2);
    const { members } = await opened(
      current(10, Buffer.from("PGP")),
      current(2, signature),
      current(11, literal(content)),
    );
    assert.ok(members[0]?.content.equals(content));
  });

  test("a text comes out with its line ends and with those that gpg gives it", async () => {
    const { members } = await opened(current(11, literal(Buffer.from("one\r\ntwo\r\n"), "t")));
    assert.deepEqual(
      members.map(({ content }) => content.toString()),
      ["one\r\ntwo\r\n", "one\ntwo\n"],
    );
  });

  test("what stands behind the message is left over", async () => {
    const file = current(11, literal(content));
    const { rest } = await opened(file, Buffer.from("something else"));
    assert.deepEqual(rest, [{ start: file.length, end: file.length + 14 }]);
  });
});

describe("packed messages", () => {
  const packets = current(11, literal(message));

  test("by gpg", async () => {
    const outer = await opened(SIGNED_AND_PACKED);
    assert.ok(outer.place.sure);
    const inner = await opened(outer.members[0]?.content ?? Buffer.alloc(0));
    assert.ok(inner.members[0]?.content.equals(message));
  });

  test("in letters by gpg, with its checksum", async () => {
    const letters = await openContainer(encodedRuns, IN_LETTERS);
    const outer = await Promise.all((letters?.members ?? []).map(({ content }) => openContainer(openPgp, content)));
    const inner = await opened(outer.find((one) => one !== undefined)?.members[0]?.content ?? Buffer.alloc(0));
    assert.ok(inner.members[0]?.content.equals(message));
  });

  const methods: Record<string, Buffer> = {
    "as zip": Buffer.concat([Buffer.of(1), deflateRawSync(packets)]),
    "as zlib": Buffer.concat([Buffer.of(2), deflateSync(packets)]),
    "not at all": Buffer.concat([Buffer.of(0), packets]),
  };
  for (const [name, body] of Object.entries(methods)) {
    for (const pack of [current, endless, inPieces(5)]) {
      test(`${name}: packets come out`, async () => {
        const { members, outcome, place } = await opened(pack(8, body));
        assert.ok(place.sure);
        assert.equal(outcome, "opened");
        assert.ok(members.length === 1 && members[0]?.content.equals(packets));
      });
    }
  }

  test("as bzip2: a bzip2 file comes out", async () => {
    const packed = packedBy7z(packets, "bz2");
    const { members } = await opened(inPieces(6)(8, Buffer.concat([Buffer.of(3), packed])));
    assert.ok(members[0]?.content.equals(packed));
  });

  test("what stands behind the packed packets comes out too", async () => {
    const { members } = await opened(endless(8, Buffer.concat([methods["as zip"] as Buffer, message])));
    assert.ok(members[1]?.content.equals(message));
  });

  test("damage is said, and what came before it comes out", async () => {
    const long = current(11, literal(randomBytes(30_000)));
    const body = Buffer.concat([Buffer.of(1), deflateRawSync(long)]);
    const { outcome, members } = await opened(endless(8, body.subarray(0, 20_000)));
    assert.equal(outcome, "unreadable");
    assert.ok((members[0]?.content.length ?? 0) > 10_000);
  });

  test("half of a message is not taken for certain", async () => {
    const half = current(8, methods["as zip"] as Buffer).subarray(0, 60);
    assert.deepEqual(openPgp.find(memoryBlob(half)), [{ start: 0, end: 60, sure: false }]);
  });

  test("more than memory is given", async () => {
    const body = Buffer.concat([Buffer.of(1), deflateRawSync(current(11, literal(Buffer.alloc(100_000))))]);
    const limited = await openContainer(openPgp, endless(8, body), { memberInMemoryBytes: 50_000 });
    assert.equal(limited?.outcome, "too-large");
  });
});

describe("what is encrypted says so", () => {
  test("for somebody", async () => assert.equal((await opened(FOR_SOMEBODY)).outcome, "encrypted"));
  test("with a passphrase", async () => assert.equal((await opened(WITH_PASSPHRASE)).outcome, "encrypted"));
  test("with no key in front", async () => {
    const data = Buffer.concat([Buffer.of(1), randomBytes(300)]);
    assert.equal((await opened(current(18, data))).outcome, "encrypted");
    assert.equal((await opened(inPieces(4)(18, data))).outcome, "encrypted");
    assert.equal((await opened(old(2)(9, data))).outcome, "encrypted");
  });
  test("in the old way, behind a key", async () => {
    const key = FOR_SOMEBODY.subarray(0, 2 + (FOR_SOMEBODY[1] ?? 0));
    assert.equal((await opened(key, endless(9, randomBytes(100)))).outcome, "encrypted");
  });
  test("but not what only begins so", async () => {
    isNone(endless(9, randomBytes(300)));
    isNone(old(1)(9, randomBytes(100)));
    const other = await openContainer(openPgp, Buffer.concat([current(18, Buffer.alloc(30, 1)), message]));
    assert.notEqual(other?.outcome, "encrypted");
  });
});

describe("what is no message", () => {
  test("a key and a signature", () => {
    isNone(KEY);
    isNone(SIGNATURE);
  });

  test("noise, whatever its first byte", () => {
    const noise = createHash("shake256", { outputLength: 3000 }).update("noise").digest();
    let sure = 0;
    for (let first = 0; first < 256; first += 1) {
      noise[0] = first;
      if (openPgp.find(memoryBlob(noise)).some((place) => place.sure)) sure += 1;
    }
    assert.equal(sure, 0);
    isNone(Buffer.alloc(0));
    isNone(Buffer.of(0xcb));
    isNone(Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1"));
  });
});

test("a message cut anywhere is survived, and the work is in proportion", async () => {
  for (let length = 1; length < SIGNED.length; length += 1) await openContainer(openPgp, SIGNED.subarray(0, length));
  const works = await Promise.all(
    [20_000, 200_000].map(async (bytes) => {
      const tiny = inPieces(0)(11, literal(Buffer.alloc(bytes)));
      const markers = Buffer.concat([current(11, literal(message)), Buffer.from("ca03504750".repeat(bytes), "hex")]);
      const opening = [tiny, markers].map(async (file) => (await opened(file)).work / file.length);
      return Math.max(...(await Promise.all(opening)));
    }),
  );
  assert.ok(
    works.every((work) => work > 0 && work < 250),
    String(works),
  );
});

describe("a text with a signature below it", () => {
  const signed = (...text: string[]): string =>
    [
      "-----BEGIN PGP SIGNED MESSAGE-----",
      "Hash: SHA512",
      "",
      ...text,
      "-----BEGIN PGP SIGNATURE-----",
      "",
      "abc",
    ].join("\n");

  test("comes out as whoever checks the signature gets it, with its last line break and without", async () => {
    const file = Buffer.from(`above\n${signed("first", "- -second", "- ", "third")}`);
    const result = await openContainer(signedText, file);
    assert.deepEqual(
      result?.members.map(({ content }) => content.toString()),
      ["first\n-second\n\nthird\n", "first\n-second\n\nthird"],
    );
  });

  test("each of several comes out, and none that has no signature", async () => {
    const file = Buffer.from(`${signed("one")}\n${signed("two")}\n-----BEGIN PGP SIGNED MESSAGE-----\n\nthree\n`);
    const result = await openContainer(signedText, file);
    assert.deepEqual(
      result?.members.map(({ content }) => content.toString()),
      ["one\n", "one", "two\n", "two"],
    );
    assert.deepEqual(signedText.find(memoryBlob(message)), []);
  });

  test("the work is in proportion to how many begin", async () => {
    const works = await Promise.all(
      [2000, 20_000].map(async (count) => {
        const file = Buffer.from("-----BEGIN PGP SIGNED MESSAGE-----\n".repeat(count));
        const unfinished = await openContainer(signedText, file);
        const finished = await openContainer(
          signedText,
          Buffer.concat([file, Buffer.from("-----BEGIN PGP SIGNATURE-----")]),
        );
        return ((unfinished?.work ?? 0) + (finished?.work ?? 0)) / file.length;
      }),
    );
    assert.ok(
      works.every((work) => work > 0 && work < 150),
      String(works),
    );
  });
});
