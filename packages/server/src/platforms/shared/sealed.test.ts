import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { type Label, sealer } from "./sealed.ts";

const label: Label = ["job", "an-id"];
const key = randomBytes(32);

test("what was sealed opens again, in this process or a later one", () => {
  const text = "some text, ünïcode 👾, NUL \0";
  const sealed = sealer(key).seal(text, label);
  assert.equal(sealer(key).unseal(sealed, label), text);
  assert.equal(sealer(key).unseal(sealer(key).seal("", label), label), "");
});

test("the same text is sealed differently each time, and cannot be read", () => {
  const one = sealer(key);
  const [first, second] = [one.seal("a secret", label), one.seal("a secret", label)];
  assert.notDeepEqual(first, second);
  assert.equal(Buffer.from(first).includes("a secret"), false);
});

test("no nonce is used twice, however many are sealed, and all of it opens again", () => {
  const one = sealer(key);
  const sealed = Array.from({ length: 2000 }, (_, index) => {
    // Now and then, and sometimes twice for one.
    for (let times = index % 4; times > 1; times -= 1) one.prepare();
    return one.seal(`text ${index}`, label);
  });
  // Format and salt come first, then the 12 bytes of the nonce.
  const nonces = sealed.map((bytes) => Buffer.from(bytes.subarray(17, 29)).toString("hex"));
  assert.equal(new Set(nonces).size, 2000);
  assert.ok(sealed.every((bytes, index) => one.unseal(bytes, label) === `text ${index}`));
});

test("it does not open with another key, or as something else than it was", () => {
  const one = sealer(key);
  const sealed = one.seal("text", label);
  assert.equal(sealer(randomBytes(32)).unseal(sealed, label), undefined);
  assert.equal(one.unseal(sealed, ["job", "another-id"]), undefined);
  assert.equal(one.unseal(sealed, ["reason", "an-id"]), undefined);
});

test("one changed bit anywhere, a cut or an addition is noticed", () => {
  const one = sealer(key);
  const sealed = one.seal("text", label);
  for (const [index, byte] of sealed.entries()) {
    const changed = Uint8Array.from(sealed);
    changed[index] = byte ^ 1;
    assert.equal(one.unseal(changed, label), undefined, `byte ${index}`);
    assert.equal(one.unseal(sealed.subarray(0, index), label), undefined, `cut at ${index}`);
  }
  assert.equal(one.unseal(Buffer.concat([sealed, Buffer.of(0)]), label), undefined);
});

test("a digest is the same for the same text and key, and different for all others", () => {
  const one = sealer(key);
  assert.deepEqual(one.digest("a trace id"), sealer(key).digest("a trace id"));
  assert.notDeepEqual(one.digest("a trace id"), sealer(randomBytes(32)).digest("a trace id"));
  assert.notDeepEqual(one.digest("\ud83d"), one.digest("\ud83e"));
  assert.equal(Buffer.from(one.digest("a trace id")).includes("trace"), false);
});
