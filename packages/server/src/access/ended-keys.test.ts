import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryFolder } from "../../test/support/leftovers.ts";
import { until } from "../../test/support/until.ts";
import { openJobStore } from "../platforms/embedded/job-store.ts";
import type { AccessStore } from "./access-store.ts";
import { newSecret } from "./api-key.ts";
import type { AuditLog } from "./audit-log.ts";
import { sweepEndedKeys } from "./ended-keys.ts";

const DAY = 86_400_000;
const NOW = 20_000 * DAY;

// spec: tenant-9
test("a key that ended 30 days ago is taken away, after its entry in the audit log; others stay", async () => {
  using folder = temporaryFolder();
  const store = await openJobStore(folder.path, { now: () => NOW });
  const parts = { tenant: "shop", scopes: ["scan"], madeAt: 0, limits: {} } as const;
  const ends = { never: undefined, later: NOW + DAY, lately: NOW - 29 * DAY, before: NOW - 30 * DAY, "long-ago": 0 };
  for (const [name, expiresAt] of Object.entries(ends))
    await store.access.addKey({ ...newSecret(), ...parts, name, ...(expiresAt !== undefined && { expiresAt }) });
  const names = async (): Promise<string[]> => (await store.access.read()).keys.map(({ name }) => name);

  const failures: string[] = [];
  const options = { now: () => NOW, everyMs: 5, onFailure: ({ message }: Error) => void failures.push(message) };
  const add = async (): Promise<never> => Promise.reject(new Error("away"));
  {
    using _ = await sweepEndedKeys({ ...store, audit: { ...store.audit, add } }, options);
    await until("the log is away", () => failures.length > 0);
    assert.deepEqual([failures[0], (await names()).length], ["away", 5], "what cannot be written down is not done");
  }
  using _ = await sweepEndedKeys(store, options);
  await until("they are taken away", async () => (await names()).length === 3);
  assert.deepEqual(await names(), ["never", "later", "lately"]);
  const entries = (await store.audit.list({ limit: 9 }))?.entries ?? [];
  assert.deepEqual(
    entries.map(({ what, on }) => `${what} ${on.replace(/\(.*/, "")}`),
    ["keys.sweep shop/long-ago ", "keys.sweep shop/before "],
  );
  await store.close();
});

test("a clock that is a year ahead for one look takes no key away", async () => {
  const { id, digest } = newSecret();
  const key = { id, digest, name: "web", tenant: "shop", scopes: ["scan"], madeAt: 0, limits: {} } as const;
  let [looks, ahead, removed] = [0, 365 * DAY, 0];
  const access = {
    async read() {
      looks += 1;
      return { keys: [{ ...key, expiresAt: NOW + DAY }], tenants: [] };
    },
    async removeKey() {
      removed += 1;
      return true;
    },
  } as Partial<AccessStore> as AccessStore;
  const audit = { add: async () => {} } as Partial<AuditLog> as AuditLog;
  const onFailure = (error: Error): void => assert.fail(error);
  using _ = await sweepEndedKeys({ access, audit }, { now: () => NOW + ahead, everyMs: 5, onFailure });
  ahead = 0;
  await until("it looked again", () => looks > 3);
  assert.equal(removed, 0);
});
