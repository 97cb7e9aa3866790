import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createPrivateKey, createPublicKey, verify } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  signatureVectorKeys as keys,
  type SignatureVector,
  signatureVectors,
} from "@lazaret/contract/signature-vectors";
import fc from "fast-check";
import { temporaryFolder } from "../../test/support/leftovers.ts";
import { callbackSigner } from "./signature.ts";
import { signingKeyPair } from "./signing-keys.ts";

const sign = callbackSigner(createPrivateKey(keys.testOnlyPrivatePem));

function signedText({ timestamp, url, body }: Omit<SignatureVector, "signature" | "name">): Buffer {
  return Buffer.from(`${timestamp}.${url}.${body}`, "utf8");
}

function openssl(...args: string[]): string {
  return execFileSync("openssl", args, { stdio: ["ignore", "pipe", "pipe"], encoding: "latin1" });
}

describe("the signature of a callback", () => {
  for (const vector of signatureVectors) {
    // spec: auth-6
    it(`is the vector's: ${vector.name}`, async () => {
      assert.equal(await sign({ ...vector, body: Buffer.from(vector.body, "utf8") }), vector.signature);
      const signature = Buffer.from(vector.signature, "hex");
      for (const pem of [keys.publicPemPkcs1, keys.publicPemX509]) {
        assert.equal(verify("sha256", signedText(vector), createPublicKey(pem), signature), true);
      }
    });

    // spec: auth-6
    it(`holds before the openssl command line: ${vector.name}`, () => {
      using folder = temporaryFolder();
      const file = (name: string, content: string | Buffer): string => {
        const path = join(folder.path, name);
        writeFileSync(path, content);
        return path;
      };
      const text = file("text", signedText(vector));
      const signature = file("signature", Buffer.from(vector.signature, "hex"));
      const x509 = file("x509.pem", keys.publicPemX509);
      const fromPkcs1 = openssl("rsa", "-RSAPublicKey_in", "-in", file("pkcs1.pem", keys.publicPemPkcs1), "-pubout");
      for (const key of [x509, file("converted.pem", fromPkcs1)]) {
        assert.match(openssl("dgst", "-sha256", "-verify", key, "-signature", signature, text), /^Verified OK/);
      }
      const other = file("other", Buffer.concat([signedText(vector), Buffer.from(" ")]));
      assert.throws(() => openssl("dgst", "-sha256", "-verify", x509, "-signature", signature, other));
      const made = openssl("dgst", "-sha256", "-sign", file("key.pem", keys.testOnlyPrivatePem), text);
      assert.equal(Buffer.from(made, "latin1").toString("hex"), vector.signature);
    });
  }

  it("is of 3072 bits and in lower-case hex", async () => {
    const signature = await sign({ timestamp: "1", url: "https://a.test/", body: Buffer.alloc(0) });
    assert.match(signature, /^[0-9a-f]{768}$/);
  });

  it("is over the bytes that are sent, whatever they are", async () => {
    const publicKey = createPublicKey(keys.publicPemX509);
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.webUrl(), fc.uint8Array(), async (timestamp, url, body) => {
        const signature = Buffer.from(await sign({ timestamp: String(timestamp), url, body }), "hex");
        const signed = Buffer.concat([Buffer.from(`${timestamp}.${url}.`), body]);
        assert.equal(verify("sha256", signed, publicKey, signature), true);
        assert.equal(verify("sha256", Buffer.concat([signed, Buffer.from([0])]), publicKey, signature), false);
      }),
      { numRuns: 50 },
    );
  });
});

describe("the vectors' keys", () => {
  it("belong together, in all three forms", () => {
    const { publicKeys } = signingKeyPair(keys.testOnlyPrivatePem);
    assert.equal(publicKeys.pkcs1, keys.publicPemPkcs1);
    assert.equal(publicKeys.x509, keys.publicPemX509);
    assert.match(keys.publicPemPkcs1, /^-----BEGIN RSA PUBLIC KEY-----/);
    assert.match(keys.publicPemX509, /^-----BEGIN PUBLIC KEY-----/);
  });
});
