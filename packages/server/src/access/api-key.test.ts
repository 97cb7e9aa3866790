import assert from "node:assert/strict";
import { test } from "node:test";
import { newSecret, readSecret, secretDigest } from "./api-key.ts";

test("a secret is recognised by its form and checksum, and found by its id", () => {
  const made = Array.from({ length: 200 }, newSecret);
  for (const { id, secret, digest } of made) {
    assert.match(secret, /^lz_[a-z2-7]{8}_[0-9A-Za-z]{38}$/);
    assert.deepEqual(readSecret(secret), { kind: "ours", id });
    assert.equal(secretDigest(secret), digest);
  }
  assert.equal(new Set(made.map(({ secret }) => secret)).size, made.length);
});

test("one wrong, missing, doubled or swapped character is mistyped", () => {
  const { secret } = newSecret();
  const spoiled = new Set<string>();
  for (let place = 3; place < secret.length; place += 1) {
    const [before, at, after] = [secret.slice(0, place), secret[place] ?? "", secret.slice(place + 1)];
    for (const other of ["a", "B", "7", "_", " ", "é", ""]) if (other !== at) spoiled.add(`${before}${other}${after}`);
    spoiled.add(`${before}${at}${at}${after}`);
    const [next = "", ...rest] = after;
    if (next !== "" && next !== at) spoiled.add(`${before}${next}${at}${rest.join("")}`);
  }
  for (const text of [...spoiled, "lz_", `${secret}\n`, `lz_${"a".repeat(1000)}`])
    assert.deepEqual(readSecret(text), { kind: "mistyped" }, JSON.stringify(text));
  for (const text of ["", "secret", secret.slice(1), ` ${secret}`, secret.toUpperCase()])
    assert.deepEqual(readSecret(text), { kind: "other" });
});
