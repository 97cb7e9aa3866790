import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createPublicKey, randomBytes, sign, verify } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { signatureVectorKeys } from "@lazaret/contract/signature-vectors";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { findKeys, keyFiles, rotateKeys } from "./signing-keys.ts";

const KEY = "callback-signing-key.pem";
const PARAMETERS = join("parameters", "scanner", "my-stack");

describe("key files", () => {
  it("are one pair of RSA 2048 for all processes of an installation, also when several start at once", async () => {
    using folder = temporaryFolder();
    const dataDir = join(folder.path, "data");
    const program = `
      import { keyFiles } from ${JSON.stringify(new URL("./signing-keys.ts", import.meta.url).href)};
      const { publicKeys } = await keyFiles(${JSON.stringify({ dataDir, stackName: "my-stack" })}).load();
      process.stdout.write(publicKeys.x509);
    `;
    const starts = Array.from({ length: 3 }, () =>
      promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]),
    );
    const seen = new Set((await Promise.all(starts)).map(({ stdout }) => stdout));
    assert.equal(seen.size, 1);

    const { privateKey, publicKeys } = await keyFiles({ dataDir, stackName: "my-stack" }).load();
    assert.deepEqual([...seen], [publicKeys.x509]);
    assert.equal(privateKey.asymmetricKeyDetails?.modulusLength, 2048);
    const bytes = randomBytes(10);
    for (const pem of [publicKeys.pkcs1, publicKeys.x509]) {
      assert.ok(verify("sha256", bytes, createPublicKey(pem), sign("sha256", bytes, privateKey)));
    }

    assert.equal(statSync(join(dataDir, KEY)).mode & 0o777, 0o600);
    assert.equal(statSync(dataDir).mode & 0o777, 0o700);
    assert.deepEqual(readdirSync(dataDir).sort(), [KEY, "parameters"]);
    assert.deepEqual(readdirSync(join(dataDir, PARAMETERS)).sort(), ["PublicKeyPEMPKCS1", "PublicKeyPEMX509"]);
    assert.equal(readFileSync(join(dataDir, PARAMETERS, "PublicKeyPEMPKCS1"), "utf8"), publicKeys.pkcs1);
    assert.equal(readFileSync(join(dataDir, PARAMETERS, "PublicKeyPEMX509"), "utf8"), publicKeys.x509);
  });

  // spec: parameter-3, auth-4
  it("publish the key under another name when the stack is renamed, and mend what was changed", async () => {
    using folder = temporaryFolder();
    writeFileSync(join(folder.path, KEY), signatureVectorKeys.testOnlyPrivatePem, { mode: 0o600 });
    await keyFiles({ dataDir: folder.path, stackName: "my-stack" }).load();
    const published = join(folder.path, PARAMETERS, "PublicKeyPEMX509");
    writeFileSync(published, "something else");
    await keyFiles({ dataDir: folder.path, stackName: "my-stack" }).load();
    assert.equal(readFileSync(published, "utf8"), signatureVectorKeys.publicPemX509);
    await keyFiles({ dataDir: folder.path, stackName: "other" }).load();
    const other = join(folder.path, "parameters", "scanner", "other", "PublicKeyPEMPKCS1");
    assert.equal(readFileSync(other, "utf8"), signatureVectorKeys.publicPemPkcs1);
  });

  it("that cannot be used are told by name, and neither replaced nor quoted", async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, KEY);
    writeFileSync(path, "half a key");
    const loading = keyFiles({ dataDir: folder.path, stackName: "my-stack" }).load();
    await assert.rejects(loading, (error: Error) => {
      assert.equal(error.message, `cannot use ${path}: it is not a private RSA key`);
      assert.doesNotMatch(String(error.cause), /half a key/);
      return true;
    });
    assert.equal(readFileSync(path, "utf8"), "half a key");
    assert.equal(existsSync(join(folder.path, "parameters")), false);
  });

  it("are never written outside the data folder", () => {
    for (const stackName of ["", "..", "../x", "a/b", "/etc", ".hidden", "a\0b", "a b"]) {
      assert.throws(() => keyFiles({ dataDir: "unused", stackName }), /it is not a stack name/);
    }
  });

  it("are found without being made", async () => {
    using folder = temporaryFolder();
    assert.equal(await findKeys(folder.path), undefined);
    assert.deepEqual(readdirSync(folder.path), []);
  });

  it("are exchanged for new ones, and the public keys of before are kept beside them", async () => {
    using folder = temporaryFolder();
    const options = { dataDir: folder.path, stackName: "my-stack" };
    writeFileSync(join(folder.path, KEY), signatureVectorKeys.testOnlyPrivatePem, { mode: 0o600 });
    await rotateKeys(options, new Date("2026-11-15T05:47:20.123Z"));
    const second = await keyFiles(options).load();
    await rotateKeys(options, new Date("2026-11-16T05:47:20.123Z"));
    const found = await findKeys(folder.path);
    assert.ok(found);
    assert.deepEqual(
      found.earlier.map(({ pem }) => pem),
      [second.publicKeys.x509, signatureVectorKeys.publicPemX509],
    );
    assert.deepEqual(found.pair.publicKeys, (await keyFiles(options).load()).publicKeys);
    assert.notEqual(found.pair.publicKeys.x509, second.publicKeys.x509);
    assert.equal(statSync(join(folder.path, KEY)).mode & 0o777, 0o600);
    const published = join(folder.path, PARAMETERS, "PublicKeyPEMX509");
    assert.equal(readFileSync(published, "utf8"), found.pair.publicKeys.x509);
    assert.deepEqual(readdirSync(folder.path).sort(), [
      "callback-signing-key.2026-11-15T05-47-20-123Z.public.pem",
      "callback-signing-key.2026-11-16T05-47-20-123Z.public.pem",
      KEY,
      "parameters",
    ]);
  });
});
