import assert from "node:assert/strict";
import { test } from "node:test";
import { postgresPlace } from "../../../test/support/postgres-stores.ts";
import { openJobStore } from "./job-store.ts";
import { CALLBACK_KEY, postgresKeyCare, postgresKeys } from "./signing-keys.ts";

test("a pair is exchanged, also by several operators at once, and every public key of before is kept", async () => {
  await using place = await postgresPlace();
  const store = await openJobStore(place.options);
  await using _ = { [Symbol.asyncDispose]: store.close };
  const care = postgresKeyCare(store, "my-stack");
  const keys = postgresKeys(store, "my-stack");
  assert.equal(await care.find(), undefined);
  await care.rotate(3072);
  const first = await care.find();
  assert.equal(first?.pair.privateKey.asymmetricKeyDetails?.modulusLength, 3072);
  assert.deepEqual(first?.earlier, []);

  await Promise.all([care.rotate(2048), care.rotate(2048)]);
  const found = await care.find();
  assert.ok(found && first);
  assert.equal(found.kept, "row");
  assert.equal(found.earlier.length, 2);
  assert.equal(found.earlier.filter(({ pem }) => pem === first.pair.publicKeys.x509).length, 1);
  assert.deepEqual((await keys.load()).publicKeys, found.pair.publicKeys);
  assert.deepEqual(await keys.published(), found.pair.publicKeys);
  const all = [found.pair.publicKeys.x509, ...found.earlier.map(({ pem }) => pem)];
  assert.equal(new Set(all).size, 3);

  const { sql } = place.server;
  const clear = await sql<{ text: string }>(
    `SELECT encode(sealed, 'escape') AS text FROM ${place.options.schema}.signing_keys`,
  );
  for (const { text } of clear) assert.doesNotMatch(text, /PRIVATE/);
  await sql(`UPDATE ${place.options.schema}.signing_keys SET sealed = '\\x00' WHERE name = $1`, [CALLBACK_KEY]);
  await assert.rejects(care.rotate(2048), /cannot read the signing key in the job database: it was changed/);
});
