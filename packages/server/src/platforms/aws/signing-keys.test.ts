import assert from "node:assert/strict";
import { before, test } from "node:test";
import { useCredentials } from "../../../test/support/aws/credentials.ts";
import { type JsonServices, jsonServices } from "../../../test/support/aws/json-services.ts";
import { atTheEnd } from "../../../test/support/leftovers.ts";
import { secretKeys } from "./signing-keys.ts";

let services: JsonServices;
before(async () => {
  useCredentials();
  services = await jsonServices();
});
atTheEnd(() => services[Symbol.asyncDispose]());

test("the signing key is made once, however many processes are first, and an empty secret of a stack is filled", async () => {
  for (const prepared of [false, true]) {
    const secretName = `signing-${prepared}`;
    if (prepared) services.putSecret(secretName);
    const processes = Array.from({ length: 4 }, () =>
      secretKeys({ region: "us-east-1", endpoint: services.endpoint, secretName, stackName: secretName }),
    );
    const pairs = await Promise.all(processes.map((each) => each.load()));
    for (const { publicKeys } of pairs) assert.deepEqual(publicKeys, pairs[0]?.publicKeys);
    assert.equal(services.parameters.get(`/scanner/${secretName}/PublicKeyPEMX509`), pairs[0]?.publicKeys.x509);
    for (const each of processes) each.close();
  }
});

test("a secret that holds no key is never replaced, and what it holds is not told", async () => {
  services.putSecret("odd", "canary, and no key");
  const keysOfOdd = secretKeys({
    region: "us-east-1",
    endpoint: services.endpoint,
    secretName: "odd",
    stackName: "odd",
  });
  await assert.rejects(keysOfOdd.load(), (error: Error) => {
    assert.match(error.message, /cannot load the signing key from the secret odd/);
    assert.doesNotMatch(`${error.message} ${error.stack}`, /canary/);
    return true;
  });
  assert.equal(services.secrets.get("odd")?.value, "canary, and no key");
  keysOfOdd.close();
});
