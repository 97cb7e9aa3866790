import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { NEVER_CHANGED, type StoredKey, type Tenant } from "../../src/access/access-store.ts";
import { newSecret } from "../../src/access/api-key.ts";
import { QueueUnavailable } from "../../src/model/faults.ts";
import { oddText } from "./sample-job.ts";
import type { Platform, Stores } from "./stores.ts";

let made = 0;

function sampleKey(parts: Partial<StoredKey> = {}): StoredKey {
  const { id, digest } = newSecret();
  made += 1;
  return { id, digest, name: "web", tenant: "shop", scopes: ["scan", "read"], madeAt: made, limits: {}, ...parts };
}

const shop: Tenant = {
  name: "shop",
  weight: 2,
  limits: { jobsWaiting: 5, largestFile: 10 ** 12 },
  buckets: ["shop-*"],
};

async function keysOf({ access }: Stores): Promise<readonly StoredKey[]> {
  return (await access.read()).keys;
}

/** What every `AccessStore` does. */
export function accessStoreContract({ name, make }: Platform): void {
  describe(`the keys and tenants of ${name}`, () => {
    test("there are none to begin with", async () => {
      await using stores = await make();
      assert.deepEqual(await stores.access.read(), { keys: [], tenants: [] });
      assert.equal(await stores.access.version(), NEVER_CHANGED);
    });

    test("what was written is read, also by another process, in its order", async () => {
      await using stores = await make();
      const keys = [
        sampleKey({ limits: { requestsPerSecond: 0.5, bytesPerMonth: 10 ** 15 }, expiresAt: 1_900_000_000_000 }),
        sampleKey({ name: oddText, scopes: [] }),
        sampleKey(),
      ];
      for (const key of keys) assert.equal(await stores.access.addKey(key), true);
      const tenants = [{ name: "b", weight: 1, limits: {} }, shop, { name: "a", weight: 0.5, limits: {} }];
      for (const tenant of tenants) assert.equal(await stores.access.putTenant(tenant, undefined), true);
      await using other = await stores.another();
      for (const each of [stores, other]) {
        const read = await each.access.read();
        assert.deepEqual(read.keys, keys);
        assert.deepEqual(
          read.tenants.map((tenant) => tenant.name),
          ["a", "b", "shop"],
        );
        assert.deepEqual(read.tenants[2], shop);
      }
    });

    test("every change is another version, for all processes; what changes nothing is none", async () => {
      await using stores = await make();
      await using other = await stores.another();
      const key = sampleKey();
      const changes: (() => Promise<unknown>)[] = [
        () => stores.access.addKey(key),
        () => other.access.endKey(key.id, 50),
        () => stores.access.putTenant(shop, undefined),
        () => stores.access.putTenant({ ...shop, weight: 3 }, shop),
        () => other.access.removeTenant("shop"),
        () => stores.access.removeKey(key.id),
      ];
      const versions = [await other.access.version()];
      for (const change of changes) {
        await change();
        versions.push(await other.access.version());
        assert.equal(await stores.access.version(), versions.at(-1));
      }
      assert.equal(new Set(versions).size, versions.length, versions.join(" "));
      assert.equal(await stores.access.removeKey(key.id), false);
      assert.equal(await stores.access.endKey(key.id, 1), false);
      assert.equal(await stores.access.removeTenant("shop"), false);
      await stores.access.used(new Map([[key.id, 5]]));
      assert.equal(await stores.access.version(), versions.at(-1));
    });

    test("a key of an id that is there stays as it is", async () => {
      await using stores = await make();
      const key = sampleKey();
      await stores.access.addKey(key);
      assert.equal(await stores.access.addKey({ ...key, tenant: "other", digest: "00" }), false);
      assert.deepEqual(await keysOf(stores), [key]);
    });

    test("the end of a key only comes nearer", async () => {
      await using stores = await make();
      const key = sampleKey();
      await stores.access.addKey(key);
      for (const [at, expiresAt] of [
        [5000, 5000],
        [9000, 5000],
        [1, 1],
      ] as const) {
        assert.equal(await stores.access.endKey(key.id, at), true);
        assert.deepEqual(await keysOf(stores), [{ ...key, expiresAt }]);
      }
    });

    test("of two who change a tenant at once only one does; who knows it as it is, may", async () => {
      await using stores = await make();
      await using other = await stores.another();
      const put = (before: Tenant | undefined): Promise<boolean[]> =>
        Promise.all([
          stores.access.putTenant({ ...shop, weight: 7 }, before),
          other.access.putTenant({ ...shop, weight: 8 }, before),
        ]);
      assert.deepEqual((await put(undefined)).toSorted(), [false, true]);
      const [first] = (await stores.access.read()).tenants;
      assert.equal(await other.access.putTenant(shop, undefined), false);
      assert.equal(await other.access.putTenant(shop, { ...shop, weight: 9 }), false);
      assert.deepEqual((await stores.access.read()).tenants, [first]);
      assert.equal(await other.access.putTenant(shop, first), true);
      assert.deepEqual((await put(shop)).toSorted(), [false, true]);
      await stores.access.removeTenant("shop");
      assert.equal(await other.access.putTenant(shop, shop), false);
      assert.deepEqual((await stores.access.read()).tenants, []);
    });

    test("when a key was last used is the latest that anybody told", async () => {
      await using stores = await make();
      const [one, two] = [sampleKey(), sampleKey()];
      for (const key of [one, two]) await stores.access.addKey(key);
      await stores.access.used(new Map());
      await stores.access.used(
        new Map([
          ["nobodys", 1],
          [one.id, 700],
        ]),
      );
      await stores.access.used(new Map([[one.id, 300]]));
      assert.deepEqual(await keysOf(stores), [{ ...one, lastUsedAt: 700 }, two]);
    });

    test("what cannot be written is refused with QueueUnavailable, and changes nothing", async () => {
      await using stores = await make();
      const key = sampleKey();
      await stores.access.addKey(key);
      {
        await using unwritable = await stores.unwritable();
        await assert.rejects(unwritable.access.addKey(sampleKey()), QueueUnavailable);
        await assert.rejects(unwritable.access.removeKey(key.id), QueueUnavailable);
        await assert.rejects(unwritable.access.putTenant(shop, undefined), QueueUnavailable);
      }
      assert.deepEqual(await stores.access.read(), { keys: [key], tenants: [] });
    });
  });
}
