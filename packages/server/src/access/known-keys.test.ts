import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { until } from "../../test/support/until.ts";
import type { Access, AccessStore, StoredKey, Tenant } from "./access-store.ts";
import { newSecret } from "./api-key.ts";
import { followAccess, knownKeys, mayUseBucket, noteUsed, together } from "./known-keys.ts";

function made(parts: Partial<StoredKey> = {}): { key: StoredKey; secret: string } {
  const { id, digest, secret } = newSecret();
  const key: StoredKey = { id, digest, name: "web", tenant: "shop", scopes: ["scan"], madeAt: 0, limits: {}, ...parts };
  return { key, secret };
}

// spec: tenant-1
test("a key is found by its whole secret, until it ends or is taken away", () => {
  const clock = { now: 1000 };
  const keys = knownKeys(() => clock.now);
  const [one, ending] = [made(), made({ expiresAt: 2000 })];
  keys.change({ keys: [one.key, ending.key], tenants: [{ name: "shop", weight: 3, limits: { jobsWaiting: 1 } }] });
  const found = keys.find(one.secret);
  assert.ok(found.kind === "accepted");
  assert.deepEqual([found.key, found.tenant.weight], [one.key, 3]);
  assert.equal(keys.find(ending.secret).kind, "accepted");
  clock.now = 2000;
  assert.deepEqual(keys.find(ending.secret), { kind: "ended", key: ending.key });
  assert.equal(keys.find(newSecret().secret).kind, "unknown");
  for (const text of ["some other key", ""]) assert.equal(keys.find(text).kind, "other");
  assert.equal(keys.find(`${one.secret.slice(0, -1)}!`).kind, "mistyped");
  const forged = newSecret();
  keys.change({ keys: [{ ...one.key, id: forged.id }], tenants: [] });
  assert.equal(keys.find(forged.secret).kind, "unknown", "the id of a key is public, and opens nothing");
  assert.equal(keys.find(one.secret).kind, "unknown");
});

test("before keys were read nobody is a stranger", () => {
  const keys = knownKeys(() => 0);
  assert.equal(keys.find(newSecret().secret).kind, "unread");
  keys.change({ keys: [], tenants: [] });
  assert.equal(keys.find(newSecret().secret).kind, "unknown");
});

test("a tenant that nobody declared has no limits and the weight of one", () => {
  assert.deepEqual(knownKeys(() => 0).tenant("shop"), { name: "shop", weight: 1, limits: {} });
});

test("jobs of a tenant are limited by a limit of its own, or of any key of it", () => {
  const keys = knownKeys(() => 0);
  const limits = { jobsWaiting: 0 };
  keys.change({
    keys: [made({ tenant: "one" }).key, made({ tenant: "two" }).key, made({ tenant: "two", limits }).key],
    tenants: [{ name: "three", weight: 1, limits }],
  });
  assert.deepEqual(
    ["one", "two", "three"].map((name) => keys.limitsJobs(name)),
    [false, true, true],
  );
});

test("what a file declares stands before what was made by commands; the rest of both holds", () => {
  const [mine, theirs] = [made({ name: "mine" }), made({ name: "theirs" })];
  const tenant = (name: string, weight: number): Tenant => ({ name, weight, limits: {} });
  const stored = {
    keys: [mine.key, { ...theirs.key, tenant: "thieves" }],
    tenants: [tenant("shop", 2), tenant("bank", 3)],
  };
  const declared = { keys: [theirs.key], tenants: [tenant("shop", 9)] };
  const keys = knownKeys(() => 0);
  keys.change(together(stored, declared));
  const tenantOf = (secret: string): string | undefined => {
    const found = keys.find(secret);
    return found.kind === "accepted" ? found.key.tenant : undefined;
  };
  assert.deepEqual([tenantOf(mine.secret), tenantOf(theirs.secret)], ["shop", "shop"]);
  assert.deepEqual([...keys.weights()].toSorted(), [
    ["bank", 3],
    ["shop", 9],
  ]);
});

test("a weight that makes no sense is one", () => {
  const keys = knownKeys(() => 0);
  const weights = [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1, 2];
  keys.change({ keys: [], tenants: weights.map((weight, n) => ({ name: `t${n}`, weight, limits: {} })) });
  assert.deepEqual([...keys.weights()], [["t5", 2]]);
});

test("when keys were used is written down every so often, of those that were accepted", async () => {
  const clock = { now: 5 };
  const keys = knownKeys(() => clock.now);
  const [one, ended] = [made(), made({ expiresAt: 1 })];
  keys.change({ keys: [one.key, ended.key], tenants: [] });
  const written: [string, number][][] = [];
  const used = async (at: ReadonlyMap<string, number>): Promise<void> => void written.push([...at]);
  using _noting = noteUsed(keys, { used } as AccessStore, { everyMs: 1, onFailure: assert.fail });
  for (const { secret } of [one, ended, made()]) keys.find(secret);
  clock.now = 7;
  keys.find(one.secret);
  await until("it is written twice", () => written.length >= 2);
  assert.deepEqual(written.slice(0, 2), [[[one.key.id, 7]], []]);
});

test("what changes while it is read is read again; what fails changes nothing", async () => {
  const { key } = made();
  let [version, fails] = [1, false];
  let reads = 0;
  const store: Pick<AccessStore, "version" | "read"> = {
    async version() {
      if (fails) throw new Error("away");
      return String(version);
    },
    async read() {
      reads += 1;
      // Somebody writes in between, once.
      if (reads === 1) version = 2;
      return { keys: Array<StoredKey>(reads).fill(key), tenants: [] };
    },
  };
  const seen: Access[] = [];
  const failures: string[] = [];
  using _following = await followAccess(store, {
    everyMs: 1,
    onChange: (access) => void seen.push(access),
    onFailure: (error) => void failures.push(error.message),
  });
  assert.equal(seen.length, 1);
  await until("it is read again", () => seen.length === 2);
  fails = true;
  await until("it fails", () => failures.length > 1);
  fails = false;
  version = 3;
  await until("it is read once more", () => seen.length === 3);
  assert.deepEqual(
    seen.map(({ keys }) => keys.length),
    [1, 2, 3],
  );
});

const fitsPattern = (pattern: string, text: string): boolean =>
  mayUseBucket({ name: "shop", weight: 1, limits: {}, buckets: [pattern] }, text);

test("a pattern fits what it says, * for anything, and nothing else", () => {
  for (const [pattern, fitting, other] of [
    ["shop", ["shop"], ["shop2", "ashop", ""]],
    ["shop-*", ["shop-", "shop-a", "shop-a-b"], ["shop", "my-shop-a"]],
    ["*", ["", "anything"], []],
    ["*-in", ["-in", "a-in"], ["in", "a-in2"]],
    ["a*a", ["aa", "aba"], ["a"]],
    ["a*b*c", ["abc", "axxbyyc"], ["acb", "ab"]],
    ["a.c", ["a.c"], ["abc"]],
  ] as const) {
    for (const text of fitting) assert.ok(fitsPattern(pattern, text), `${pattern} ${text}`);
    for (const text of other) assert.ok(!fitsPattern(pattern, text), `${pattern} ${text}`);
  }
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "*"), maxLength: 6 });
  fc.assert(
    fc.property(letters, fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 8 }), (pattern, text) => {
      const expected = new RegExp(`^${pattern.replaceAll("*", ".*")}$`, "s").test(text);
      assert.equal(fitsPattern(pattern, text), expected);
    }),
    { numRuns: 500 },
  );
});
