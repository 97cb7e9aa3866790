import assert from "node:assert/strict";
import { createPublicKey, randomBytes, sign, verify } from "node:crypto";
import { describe, test } from "node:test";
import { signatureVectorKeys } from "@lazaret/contract/signature-vectors";
import { makePrivatePem, publicKeyParameters, type SigningKeyPair } from "../../src/deliver/signing-keys.ts";
import type { OutputsKind } from "./outputs.ts";

const { testOnlyPrivatePem: somePem, publicPemPkcs1: pkcs1, publicPemX509: x509 } = signatureVectorKeys;

/** Under which every platform of this suite publishes its keys. */
export const stackName = "my-stack";
const parameters = publicKeyParameters(stackName, { pkcs1, x509 });

/** What every `SigningKeys` does. */
export function signingKeysContract({ name, make }: OutputsKind): void {
  describe(`the signing keys of ${name}`, () => {
    test("are one pair of RSA 2048, made once, also when several processes are first at once", async () => {
      await using outputs = await make();
      await using second = await outputs.another();
      await using third = await outputs.another();
      assert.equal(await outputs.platform.signingKeys.published(), undefined);
      const all = [outputs, second, third].map(({ platform }) => platform.signingKeys);
      const [pair, ...others] = await Promise.all(all.map((keys) => keys.load()));
      assert.equal(pair?.privateKey.asymmetricKeyDetails?.modulusLength, 2048);
      for (const other of others) assertSame(other, pair);
      await using later = await outputs.another();
      assertSame(await later.platform.signingKeys.load(), pair);
      for (const keys of all) assert.deepEqual(await keys.published(), pair?.publicKeys);
    });

    test("the public key verifies what the private one signed, in both forms", async () => {
      await using outputs = await make();
      await outputs.privateKey.put(somePem);
      const { privateKey, publicKeys } = await outputs.platform.signingKeys.load();
      assert.deepEqual(publicKeys, { pkcs1, x509 });
      const bytes = randomBytes(100);
      for (const pem of Object.values(publicKeys)) {
        assert.ok(verify("sha256", bytes, createPublicKey(pem), sign("sha256", bytes, privateKey)));
      }
    });

    test("receivers read the public keys under the names of the spec by the time that they are loaded", async () => {
      await using outputs = await make();
      await outputs.privateKey.put(somePem);
      for (const each of parameters) assert.equal(await outputs.parameter(each.name), undefined);
      await outputs.platform.signingKeys.load();
      for (const each of parameters) assert.equal(await outputs.parameter(each.name), each.value);
      assert.deepEqual(await outputs.platform.signingKeys.published(), { pkcs1, x509 });
    });

    test("a public key that somebody changed is put right by the next process", async () => {
      await using outputs = await make();
      await outputs.privateKey.put(somePem);
      await outputs.platform.signingKeys.load();
      for (const each of parameters) await outputs.putParameter(each.name, "something else");
      await using other = await outputs.another();
      await other.platform.signingKeys.load();
      for (const each of parameters) assert.equal(await outputs.parameter(each.name), each.value);
    });

    test("a key that was exchanged is the one that is loaded and published next, by who runs already too", async () => {
      await using outputs = await make();
      await outputs.privateKey.put(somePem);
      await outputs.platform.signingKeys.load();
      await outputs.privateKey.put(await makePrivatePem());
      const { publicKeys } = await outputs.platform.signingKeys.load();
      assert.notEqual(publicKeys.x509, x509);
      assert.deepEqual(await outputs.platform.signingKeys.published(), publicKeys);
      assert.equal(await outputs.parameter(parameters[1]?.name ?? ""), publicKeys.x509);
    });

    test("what is no key is never replaced, published or quoted", async () => {
      await using outputs = await make();
      await outputs.privateKey.put("canary, and no key");
      await assert.rejects(outputs.platform.signingKeys.load(), (error: Error) => {
        assert.doesNotMatch(`${error.message} ${error.stack} ${error.cause}`, /canary/);
        return true;
      });
      assert.equal(await outputs.privateKey.get(), "canary, and no key");
      assert.equal(await outputs.platform.signingKeys.published(), undefined);
    });

    test("who may not read the private key gets no other one, and still sees what is published", async () => {
      await using outputs = await make();
      await outputs.privateKey.put(somePem);
      await outputs.platform.signingKeys.load();
      await using other = await outputs.another();
      await outputs.privateKey.deny();
      await assert.rejects(other.platform.signingKeys.load());
      assert.deepEqual(await other.platform.signingKeys.published(), { pkcs1, x509 });
    });
  });
}

function assertSame(pair: SigningKeyPair | undefined, other: SigningKeyPair | undefined): void {
  assert.ok(pair && other);
  assert.deepEqual(pair.publicKeys, other.publicKeys);
  assert.ok(pair.privateKey.equals(other.privateKey));
}
