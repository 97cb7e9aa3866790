import assert from "node:assert/strict";
import { test } from "node:test";
import { newSecret } from "../access/api-key.ts";
import { knownKeys } from "../access/known-keys.ts";
import { bearerAuth, EndedKey, wrongKeys } from "./bearer-auth.ts";
import { Problem } from "./problem.ts";

const never = new AbortController().signal;

/** What becomes of one wrong key: milliseconds it waits, or the seconds it is told to. */
type Held = { waited: number } | { retryAfter: number };

function setup(): { clock: { ms: number }; tryKey(address: string): Promise<Held>; held: () => number } {
  const clock = { ms: 0 };
  let slept = 0;
  const keys = wrongKeys({
    now: () => clock.ms,
    sleep: async (ms) => {
      slept = ms;
    },
  });
  return {
    clock,
    held: () => slept,
    async tryKey(address) {
      slept = 0;
      try {
        await keys.hold(address, never);
        return { waited: slept };
      } catch (error) {
        assert.ok(error instanceof Problem);
        assert.deepEqual([error.status, error.code], [429, "too_many_wrong_keys"]);
        return { retryAfter: Number(error.headers["Retry-After"]) };
      }
    },
  };
}

test("the first wrong keys of an address are answered at once, the next ever later, and then with 429", async () => {
  const { tryKey, clock } = setup();
  const outcomes: Held[] = [];
  for (let tries = 0; tries < 1000; tries += 1) outcomes.push(await tryKey("192.0.2.1"));
  assert.deepEqual(outcomes.slice(0, 10), Array(10).fill({ waited: 0 }));
  assert.deepEqual([outcomes[10], outcomes[49]], [{ waited: 50 }, { waited: 2000 }]);
  assert.deepEqual([outcomes[50], outcomes[999]], [{ retryAfter: 1 }, { retryAfter: 30 }]);
  assert.deepEqual(await tryKey("192.0.2.2"), { waited: 0 }, "others are not concerned");
  clock.ms = 31_000;
  assert.deepEqual(await tryKey("192.0.2.1"), { waited: 2000 }, "after the time it was told it is heard again");
  clock.ms = 120_000;
  assert.deepEqual(await tryKey("192.0.2.1"), { waited: 0 }, "and all is forgiven in the end");
});

test("a client with an old key that asks every few seconds does not notice", async () => {
  const { tryKey, clock } = setup();
  for (let tries = 0; tries < 1000; tries += 1) {
    assert.deepEqual(await tryKey("192.0.2.1"), { waited: 0 });
    clock.ms += 2000;
  }
});

test("an IPv6 network counts as one, however many addresses it has", async () => {
  const { tryKey } = setup();
  for (let tries = 0; tries < 60; tries += 1) await tryKey(`2001:db8:1:2::${tries.toString(16)}`);
  assert.ok("retryAfter" in (await tryKey("2001:db8:1:2:ffff::1")));
  assert.deepEqual(await tryKey("2001:db8:1:3::1"), { waited: 0 });
});

test("no more than so many addresses are remembered: the oldest is forgotten", async () => {
  const { tryKey } = setup();
  for (let tries = 0; tries < 60; tries += 1) await tryKey("192.0.2.1");
  assert.ok("retryAfter" in (await tryKey("192.0.2.1")));
  for (let other = 0; other < 10_000; other += 1)
    await tryKey(`10.${other >> 16}.${(other >> 8) & 255}.${other & 255}`);
  assert.deepEqual(await tryKey("192.0.2.1"), { waited: 0 });
});

test("answers that are held back are bounded: beyond that 429 comes at once", async () => {
  const all = Promise.withResolvers<void>();
  const keys = wrongKeys({ now: () => 0, sleep: () => all.promise });
  const outcomes: string[] = [];
  const holds = Array.from({ length: 1000 }, async (_, index) => {
    for (let tries = 0; tries < 11; tries += 1) await keys.hold(`10.0.${index >> 8}.${index & 255}`, never);
  }).map((hold) =>
    hold.then(
      () => outcomes.push("held"),
      () => outcomes.push("refused"),
    ),
  );
  await new Promise(setImmediate);
  assert.equal(outcomes.length, 500);
  all.resolve();
  await Promise.all(holds);
  assert.deepEqual(
    ["held", "refused"].map((each) => outcomes.filter((outcome) => outcome === each).length),
    [500, 500],
  );
});

test("a key is accepted again and again, and no longer when it is taken away", () => {
  const auth = bearerAuth(["first-of-the-keys", "second-of-the-keys"]);
  const first = { authorization: "Bearer first-of-the-keys" };
  const account = { tenant: "default", key: "key-1" };
  for (let times = 0; times < 3; times += 1) assert.deepEqual(auth.check(first).account, account);
  const second = auth.check({ authorization: "Bearer second-of-the-keys" });
  assert.deepEqual(second.account, { ...account, key: "key-2" });
  assert.deepEqual(auth.check({ "x-api-key": "first-of-the-keys" }).account, account);
  for (const authorization of ["Bearer first-of-the-key", "Bearer first-of-the-keys2", "first-of-the-keys", ""])
    assert.throws(() => auth.check({ authorization }), Problem);
  auth.change(["second-of-the-keys"]);
  assert.throws(() => auth.check(first), Problem);
  assert.ok(auth.check({ authorization: "bearer  second-of-the-keys" }));
});

test("however many spellings of a right key come, few are remembered, and all are accepted", () => {
  const auth = bearerAuth(["one-of-the-keys"]);
  for (let spaces = 1; spaces < 1000; spaces += 1)
    assert.ok(auth.check({ authorization: `Bearer${" ".repeat(spaces)}one-of-the-keys` }));
});

// spec: tenant-2
test("who holds a key that was made hears what is wrong with it, and who made one up hears nothing more", () => {
  const [good, ended, gone, forged] = [newSecret(), newSecret(), newSecret(), newSecret()];
  const parts = { name: "web", tenant: "shop", scopes: ["scan"], madeAt: 0, limits: {} } as const;
  const made = knownKeys(() => 2000);
  const keys = [{ ...good }, { ...ended, expiresAt: 1000 }, { ...forged, digest: good.digest }];
  made.change({ keys: keys.map((key) => ({ ...parts, ...key })), tenants: [] });
  const auth = bearerAuth(["one-of-the-keys-set"], made);
  const said = (secret: string): string => {
    try {
      return `accepted ${auth.check({ authorization: `Bearer ${secret}` }).account.key}`;
    } catch (error) {
      assert.ok(error instanceof Problem);
      assert.deepEqual([error.status, error.code], [401, "invalid_api_key"]);
      return `${error.message}. ${error.hint}`;
    }
  };
  assert.equal(said(good.secret), "accepted web");
  assert.match(said(ended.secret), /^the key web of shop has ended, 1970-.*lazaret keys rotate shop\/web$/);
  const isNamed = (error: unknown): boolean => error instanceof EndedKey && error.account.key === "web";
  assert.throws(() => auth.check({ "x-api-key": ended.secret }), isNamed, "the log can say whose it was");
  assert.match(said(good.secret.slice(0, -1)), /wrong or a missing character.*copy all of it/);
  assert.match(said(gone.secret), /revoked, belongs to another installation.*within 10 seconds/);
  assert.match(
    said("one-of-the-keys"),
    /not one of this installation's API keys.*LAZARET_API_KEYS.*lazaret keys create/,
  );
  // An id is public: with a random part of one's own it is as unknown as any other.
  assert.equal(said(forged.secret), said(gone.secret));
  const both = { authorization: `Bearer ${gone.secret}`, "x-api-key": good.secret };
  assert.equal(auth.check(both).account.key, "web", "the right one of two is found");
});
