import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryFolder } from "../../test/support/leftovers.ts";
import { openJobStore } from "../platforms/embedded/job-store.ts";
import type { StoredKey } from "./access-store.ts";
import { addAlone } from "./add-alone.ts";
import { newSecret } from "./api-key.ts";

const NOW = 1000;

function key(parts: Partial<StoredKey> = {}): StoredKey {
  return { ...newSecret(), name: "web", tenant: "shop", scopes: ["scan"], madeAt: 0, limits: {}, ...parts };
}

// spec: tenant-8
test("of several keys of one name that are made at once at most one stays; other names and ended ones do not matter", async () => {
  using folder = temporaryFolder();
  const [store, other] = [await openJobStore(folder.path), await openJobStore(folder.path)];
  for (const each of [key({ name: "app" }), key({ tenant: "bank" }), key({ expiresAt: NOW })])
    assert.equal(await addAlone(store.access, each, NOW), true);
  const added = await Promise.all([store, other, store].map(({ access }) => addAlone(access, key(), NOW)));
  const good = (await store.access.read()).keys.filter(
    ({ tenant, name, expiresAt }) => tenant === "shop" && name === "web" && expiresAt === undefined,
  );
  const stayed = added.filter((is) => is).length;
  assert.ok(stayed <= 1, `${stayed} stayed`);
  assert.equal(good.length, stayed);
  if (stayed === 0) assert.equal(await addAlone(store.access, key(), NOW), true);
  assert.equal(await addAlone(other.access, key(), NOW), false);
  await Promise.all([store.close(), other.close()]);
});
