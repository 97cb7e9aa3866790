import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { deflateSync } from "node:zlib";
import { type Opened, openContainer } from "../../../test/support/open-container.ts";
import { memoryBlob } from "../blob.ts";
import { signedMessage } from "./signed-message.ts";

const message = Buffer.from(Array.from({ length: 8 }, (_, line) => `message ${line * 7919} of the sample\n`).join(""));
const decoded = (...parts: string[]): Buffer => Buffer.from(parts.join(""), "base64");

/** `openssl cms -sign -nodetach -stream`: without lengths. */
const SIGNED = decoded(
  "MIAGCSqGSIb3DQEHAqCAMIACAQExDTALBglghkgBZQMEAgEwgAYJKoZIhvcNAQcBoIAkgASB221lc3NhZ2UgMCBvZiB0aGUgc2FtcGxlCm1l",
  "c3NhZ2UgNzkxOSBvZiB0aGUgc2FtcGxlCm1lc3NhZ2UgMTU4Mzggb2YgdGhlIHNhbXBsZQptZXNzYWdlIDIzNzU3IG9mIHRoZSBzYW1wbGUK",
  "bWVzc2FnZSAzMTY3NiBvZiB0aGUgc2FtcGxlCm1lc3NhZ2UgMzk1OTUgb2YgdGhlIHNhbXBsZQptZXNzYWdlIDQ3NTE0IG9mIHRoZSBzYW1w",
  "bGUKbWVzc2FnZSA1NTQzMyBvZiB0aGUgc2FtcGxlCgAAAAAAADGBjTCBigIBATAkMAwxCjAIBgNVBAMMAWECFDz5ncXVeFbUPIY6ioFiG0tW",
  "LfPQMAsGCWCGSAFlAwQCATAKBggqhkjOPQQDAgRGMEQCIDXYV/MXgnTlgaP+/AFg9S0KK8dt9FuRx16M18SnIs/TAiBXuA4J1vKQXAwFbRqx",
  "MWPaeqB5SeAdkWoQDim1NPiNzQAAAAAAAA==",
);
/** `openssl cms -sign`: the signature alone. */
const SIGNATURE = decoded(
  "MIHCBgkqhkiG9w0BBwKggbQwgbECAQExDTALBglghkgBZQMEAgEwCwYJKoZIhvcNAQcBMYGPMIGMAgEBMCQwDDEKMAgGA1UEAwwBYQIUPPmd",
  "xdV4VtQ8hjqKgWIbS1Yt89AwCwYJYIZIAWUDBAIBMAoGCCqGSM49BAMCBEgwRgIhAMTwZsM1uXM9zuwRbnv+N78CSGWWU5dMwE+O+IlVvFno",
  "AiEAvOgSaVmQMzTtJAe0uzypMv9VgUh2AjY8ArJVlMO4YBQ=",
);
/** `openssl cms -EncryptedData_encrypt`. */
const ENCRYPTED = decoded(
  "MIIBJwYJKoZIhvcNAQcGoIIBGDCCARQCAQAwggENBgkqhkiG9w0BBwEwHQYJYIZIAWUDBAECBBAdAqSEI8Kj1J8GVRm13mKzgIHgK6PnP5d9",
  "wouC8F4K2HipeJWwCLqgQxM8t+WJAAzyMQJMaWEy8CURal9WjgC1BfiyPYxXp4lZHIa7wm9RMOf3mieGZq7HI+LyCf61+yjVezTnUdqjVuPU",
  "TKjI2UPhDn/cHV3YUCPQ9Gjc0C786IdevuJMFNpKfMu0nTZTiQi0cFWmrJvEkAa/Ez+5hn0KwJhH+ocRS6GIXH2DkviBrb7KO6rcNEr6uHuV",
  "Mb6B1/834eDoP7OY6c8lBiUdtDgYVIZ/wGTo/UHKFHlIXAhLZcVxHkgoGj36M9iZ1s3Qwx2OVKA=",
);

/** A value of ASN.1 with its length in four bytes, or with none and a mark at its end. */
function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  return Buffer.concat([Buffer.of(tag, 0x84), length, body]);
}
const ber = (tag: number, ...parts: Uint8Array[]): Buffer =>
  Buffer.concat([Buffer.of(tag, 0x80), ...parts, Buffer.alloc(2)]);

const object = (hex: string): Buffer => der(6, Buffer.from(hex, "hex"));
const DATA = object("2a864886f70d010701");
const pkcs7 = (number: string, inner: Buffer, value = der): Buffer =>
  value(0x30, object(`2a864886f70d0107${number}`), value(0xa0, inner));
const smime = (number: string, inner: Buffer): Buffer =>
  der(0x30, object(`2a864886f70d01091001${number}`), der(0xa0, inner));
const VERSION = der(2, Buffer.of(1));

const signed = (octets: Buffer, value = der): Buffer =>
  pkcs7("02", value(0x30, VERSION, der(0x31), value(0x30, DATA, value(0xa0, octets)), der(0x31)), value);

function inPieces(content: Buffer, size: number): Buffer[] {
  const count = Math.ceil(content.length / size);
  return Array.from({ length: count }, (_, index) => der(4, content.subarray(index * size, (index + 1) * size)));
}

async function opened(file: Uint8Array): Promise<Opened> {
  const result = await openContainer(signedMessage, file);
  assert.ok(result?.place.sure, "no message was found");
  return result;
}

async function holds(file: Uint8Array, content: Buffer): Promise<void> {
  const { members, outcome } = await opened(file);
  assert.equal(outcome, "opened");
  assert.equal(members.length, 1);
  assert.ok(members[0]?.content.equals(content));
}

describe("the content of a message comes out byte for byte", () => {
  const content = randomBytes(20_000);

  test("signed by openssl", () => holds(SIGNED, message));
  test("in one piece", () => holds(signed(der(4, content)), content));
  test("without lengths", () => holds(signed(ber(0x24, der(4, content)), ber), content));
  for (const size of [1, 100, 1024, 5000]) {
    test(`in pieces of ${size}`, () => holds(signed(ber(0x24, ...inPieces(content, size)), ber), content));
    test(`in pieces of ${size}, with lengths`, () => holds(signed(der(0x24, ...inPieces(content, size))), content));
  }
  test("in pieces of pieces", async () => {
    const pieces = inPieces(content, 700);
    const octets = ber(0x24, der(0x24, ...pieces.slice(0, 5)), ber(0x24, ber(0x24, ...pieces.slice(5))));
    await holds(signed(octets), content);
  });
  test("not signed at all", () => holds(pkcs7("01", der(4, content)), content));
  test("with a digest", () =>
    holds(pkcs7("05", der(0x30, VERSION, der(0x30, DATA), der(0x30, DATA, der(0xa0, der(4, content))))), content));
  test("with a time stamp", () => holds(smime("1f", der(0x30, VERSION, der(0x16), der(4, content))), content));
  test("compressed", async () => {
    const packed = ber(0x24, ...inPieces(deflateSync(content), 300));
    await holds(smime("09", der(0x30, VERSION, der(0x30, DATA), der(0x30, DATA, der(0xa0, packed)))), content);
  });
  test("behind algorithms without lengths", async () => {
    const inner = der(0x30, VERSION, ber(0x31, ber(0x30, DATA)), der(0x30, DATA, der(0xa0, der(4, content))));
    await holds(pkcs7("02", inner), content);
  });
});

describe("what is no content", () => {
  test("certificates and what stands behind the message are left over", async () => {
    const file = signed(der(4, message));
    const { rest } = await opened(Buffer.concat([file, randomBytes(50)]));
    assert.deepEqual(rest, [{ start: file.length - 6, end: file.length + 50 }]);
  });

  test("a signature alone has no members", async () => {
    const { members, outcome } = await opened(SIGNATURE);
    assert.equal(outcome, "opened");
    assert.deepEqual(members, []);
  });

  test("what is encrypted says so", async () => {
    assert.equal((await opened(ENCRYPTED)).outcome, "encrypted");
    for (const number of ["03", "04", "06"])
      assert.equal((await opened(pkcs7(number, der(0x30, VERSION)))).outcome, "encrypted");
    assert.equal((await opened(smime("17", der(0x30, VERSION)))).outcome, "encrypted");
  });

  test("other things in ASN.1, and anything else, are no messages", () => {
    const key = der(0x30, VERSION, der(0x30, object("2a864886f70d010101")), der(4, message));
    const certificates = der(0x30, object("2a864886f70d010701"), der(0xa0, der(0x30, VERSION)));
    const unknown = der(0x30, object("2a864886f70d0107ff"), der(0xa0, der(0x30, VERSION)));
    const unversioned = pkcs7("02", der(0x30, der(0x31)));
    for (const bytes of [
      key,
      certificates,
      unknown,
      unversioned,
      Buffer.from("0\x06"),
      Buffer.from("text"),
      Buffer.alloc(0),
    ]) {
      assert.deepEqual(signedMessage.find(memoryBlob(bytes)), []);
    }
  });
});

describe("damage", () => {
  test("cut anywhere it is no message or unreadable, and gives what there is", async () => {
    const file = signed(ber(0x24, ...inPieces(message, 50)), ber);
    const behind = file.lastIndexOf(message.subarray(-10)) + 10;
    for (let length = 0; length < behind; length += 1) {
      const result = await openContainer(signedMessage, file.subarray(0, length));
      if (!result) continue;
      if (length > 80) assert.equal(result.outcome, "unreadable", `at ${length}`);
      for (const { content } of result.members) assert.ok(message.subarray(0, content.length).equals(content));
    }
    const half = await openContainer(signedMessage, file.subarray(0, behind - 60));
    assert.ok((half?.members[0]?.content.length ?? 0) > 100);
  });

  test("a compressed content that does not inflate", async () => {
    const packed = der(0x30, VERSION, der(0x30, DATA), der(0x30, DATA, der(0xa0, der(4, Buffer.alloc(300, 0xff)))));
    assert.equal((await opened(smime("09", packed))).outcome, "unreadable");
  });

  test("one piece that is cut gives what there is, and is in doubt", async () => {
    const result = await openContainer(signedMessage, signed(der(4, message)).subarray(0, -60));
    assert.equal(result?.outcome, "unreadable");
    assert.equal(result?.place.sure, true);
    assert.ok(message.subarray(0, -54).equals(result?.members[0]?.content ?? Buffer.alloc(0)));
  });

  test("one without lengths that is cut", async () => {
    const result = await openContainer(signedMessage, SIGNED.subarray(0, 150));
    assert.equal(result?.outcome, "unreadable");
    assert.equal(result?.place.sure, true);
  });

  test("what makes no sense in front of the content", async () => {
    const inner = der(0x30, VERSION, Buffer.of(0x1f, 0x1f), der(0x30, DATA, der(0xa0, der(4, message))));
    assert.equal((await opened(pkcs7("02", inner))).outcome, "unreadable");
  });

  test("pieces in pieces without end", async () => {
    let octets = der(4, message);
    for (let depth = 0; depth < 1100; depth += 1) octets = ber(0x24, octets);
    assert.equal((await opened(signed(octets))).outcome, "unreadable");
  });

  test("the work is in proportion, however small the pieces", async () => {
    const works = await Promise.all(
      [4000, 40_000].map(async (bytes) => {
        const empty = Array.from({ length: bytes }, () => Buffer.of(0x24, 0x80, 0, 0));
        const files = [signed(der(0x24, ...inPieces(Buffer.alloc(bytes), 1))), signed(ber(0x24, ...empty), ber)];
        const opening = files.map(async (file) => ((await opened(file)).work ?? 0) / file.length);
        return Math.max(...(await Promise.all(opening)));
      }),
    );
    assert.ok(
      works.every((work) => work > 0 && work < 250),
      String(works),
    );
  });
});
