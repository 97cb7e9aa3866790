import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleJob } from "../../test/contracts/sample-job.ts";
import { temporaryFolder } from "../../test/support/leftovers.ts";
import { type JobStore, openJobStore } from "../platforms/embedded/job-store.ts";
import { changeLettersOf, pageOfTenant } from "./of-tenant.ts";

/** Dead letters and jobs of three tenants, in a changing order, more than are read at once. */
async function filled(folder: string): Promise<JobStore> {
  const store = await openJobStore(folder);
  const tenants = ["shop", "bank", "bank", "default", "bank", "bank", "bank"];
  for (let count = 0; count < 490; count += 1)
    await store.queue.add(sampleJob({ id: `job-${count}`, tenant: tenants[count % tenants.length] ?? "" }));
  for (const lease of await store.queue.take(420))
    await lease.settle({ kind: "buried", reason: "refused", job: lease.job });
  return store;
}

async function allOf(
  read: (page: { limit: number; after?: string }) => Promise<{ entries: { id: string }[]; next: string | undefined }>,
  limit: number,
): Promise<string[]> {
  const ids: string[] = [];
  let after: string | undefined;
  do {
    const { entries, next } = await read({ limit, ...(after !== undefined && { after }) });
    assert.ok(entries.length === limit || next === undefined);
    ids.push(...entries.map(({ id }) => id));
    after = next;
  } while (after !== undefined);
  return ids;
}

test("a tenant's dead letters and jobs are listed whole and once, in pages of any size, and changed alone", async () => {
  using folder = temporaryFolder();
  const store = await filled(folder.path);
  try {
    const { deadLetters, browser } = store;
    const all = (await deadLetters.list({ limit: 1000 })).entries;
    for (const tenant of ["shop", "bank", "default", "nobody"]) {
      const expected = all.filter(({ job }) => job?.tenant === tenant).map(({ id }) => id);
      // One by one only where there are few: each page reads on from where the one before it ended.
      for (const limit of [tenant === "bank" ? 3 : 1, 7, 60, 500])
        assert.deepEqual(await allOf((page) => pageOfTenant(deadLetters.list, tenant, page), limit), expected);
    }
    assert.equal((await allOf((page) => pageOfTenant(browser.list, "shop", page), 9)).length, 70);

    const ofBank = all.filter(({ job }) => job?.tenant === "bank").length;
    assert.ok(ofBank > 250);
    assert.deepEqual(await changeLettersOf("bank", "redrive", deadLetters), { wanted: ofBank, count: ofBank });
    assert.deepEqual(await changeLettersOf("bank", "purge", deadLetters), { wanted: 0, count: 0 });
    assert.equal((await deadLetters.list({ limit: 1000 })).entries.length, all.length - ofBank);
    const ofShop = all.filter(({ job }) => job?.tenant === "shop").length;
    assert.deepEqual(await changeLettersOf("shop", "purge", deadLetters), { wanted: ofShop, count: ofShop });
    const left = (await deadLetters.list({ limit: 1000 })).entries.map(({ job }) => job?.tenant);
    assert.deepEqual([...new Set(left)], ["default"]);
    assert.equal((await store.queue.counts()).ready, 70 + ofBank);
  } finally {
    await store.close();
  }
});
