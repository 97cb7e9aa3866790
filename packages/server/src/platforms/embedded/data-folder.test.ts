import assert from "node:assert/strict";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { makeSecretKey, readSecretKey } from "./data-folder.ts";

test("a key is made once, for the owner only, and leaves no drafts", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "secret.key");
  assert.equal(await readSecretKey(path), undefined);
  const key = await makeSecretKey(path);
  assert.equal(key.length, 32);
  assert.deepEqual(await readSecretKey(path), key);
  assert.deepEqual(await makeSecretKey(path), key);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(folder.path), ["secret.key"]);
});

test("all who make it at the same moment get the same", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "secret.key");
  const keys = await Promise.all(Array.from({ length: 20 }, () => makeSecretKey(path)));
  assert.equal(new Set(keys.map((key) => Buffer.from(key).toString("hex"))).size, 1);
});

test("a key that was restored with other rights is the owner's again", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "secret.key");
  writeFileSync(path, Buffer.alloc(32, 1), { mode: 0o644 });
  await readSecretKey(path);
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test("a file of another size is not taken for a key", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "secret.key");
  writeFileSync(path, "");
  await assert.rejects(readSecretKey(path), /it has 0 bytes, not 32/);
});
