import assert from "node:assert/strict";
import { test } from "node:test";
import { latestAddOns, latestEngines } from "@lazaret/contract";
import { cleanReport, sampleJob } from "../../test/contracts/sample-job.ts";
import { announcer } from "./announce.ts";

/** What topic and bus are given of an object scan and of a download. */
async function announced(tellTenant: boolean, tenant: string): Promise<string[]> {
  const given: string[] = [];
  const { objectScan, downloadScan } = announcer({
    topic: { publish: async (finding) => void given.push(JSON.stringify(finding)) },
    eventBus: { publish: async (event) => void given.push(JSON.stringify(event)), async close() {} },
    origin: { account: "1", region: "here", now: () => 0 },
    reportEventBus: true,
    reportCleanFiles: true,
    tellTenant,
    installation: { ...latestAddOns, variant: "P", engineVersion: latestEngines.P },
  });
  const object = { bucket: "b", key: "k" };
  await objectScan({ id: "1", tenant, traceId: "t", object, report: cleanReport, action: "tag" });
  await objectScan({ id: "2", object, report: cleanReport, action: "tag" });
  const source = { kind: "url", url: "https://files.example/a", headers: {} } as const;
  await downloadScan({ ...sampleJob({ id: "3", tenant, source }), report: cleanReport });
  return given.map((text) => text.replaceAll(/trace [\w-]+/g, "trace"));
}

test("messages say nothing of the tenant, whoever it is, unless they are to", async () => {
  const plain = await announced(false, "shop");
  assert.equal(plain.length, 5);
  assert.deepEqual(plain, await announced(false, "bank"));
  assert.doesNotMatch(plain.join("\n"), /tenant|shop/);
});

test("with LAZARET_TELL_TENANT a field is added to findings and details, and nothing else changes", async () => {
  const [plain, told] = [await announced(false, "shop"), await announced(true, "shop")];
  assert.deepEqual(
    told.map((text) => text.includes(',"tenant":"shop"}')),
    [true, true, false, false, true],
  );
  assert.deepEqual(
    told.map((text) => text.replace(',"tenant":"shop"', "")),
    plain,
  );
});
