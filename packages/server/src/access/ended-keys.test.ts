import assert from "node:assert/strict";
import { test } from "node:test";
import { temporaryFolder } from "../../test/support/leftovers.ts";
import { openJobStore } from "../platforms/embedded/job-store.ts";
import { newSecret } from "./api-key.ts";
import { sweepEndedKeys } from "./ended-keys.ts";

const DAY = 86_400_000;
const NOW = 20_000 * DAY;

test("a key that ended 30 days ago is taken away, after its entry in the audit log; others stay", async () => {
  using folder = temporaryFolder();
  const store = await openJobStore(folder.path, { now: () => NOW });
  const parts = { tenant: "shop", scopes: ["scan"], madeAt: 0, limits: {} } as const;
  const ends = { never: undefined, later: NOW + DAY, lately: NOW - 29 * DAY, before: NOW - 30 * DAY, "long-ago": 0 };
  for (const [name, expiresAt] of Object.entries(ends))
    await store.access.addKey({ ...newSecret(), ...parts, name, ...(expiresAt !== undefined && { expiresAt }) });
  const names = async (): Promise<string[]> => (await store.access.read()).keys.map(({ name }) => name);

  const failures: string[] = [];
  const options = { now: () => NOW, everyMs: DAY, onFailure: ({ message }: Error) => void failures.push(message) };
  const add = async (): Promise<never> => Promise.reject(new Error("away"));
  (await sweepEndedKeys({ ...store, audit: { ...store.audit, add } }, options))[Symbol.dispose]();
  assert.deepEqual([failures, (await names()).length], [["away"], 5], "what cannot be written down is not done");

  (await sweepEndedKeys(store, options))[Symbol.dispose]();
  assert.deepEqual(await names(), ["never", "later", "lately"]);
  const entries = (await store.audit.list({ limit: 9 }))?.entries ?? [];
  assert.deepEqual(
    entries.map(({ what, on }) => `${what} ${on.replace(/\(.*/, "")}`),
    ["keys.sweep shop/long-ago ", "keys.sweep shop/before "],
  );
  await store.close();
});
