import assert from "node:assert/strict";
import { test } from "node:test";
import { everythingRendered } from "../deploy/rendered-objects.ts";
import { postgres, postgresPlace, postgresStores } from "../support/postgres-stores.ts";
import { accessStoreContract } from "./access-store.ts";
import { auditLogContract } from "./audit-log.ts";
import { callbackFailuresContract } from "./callback-failures.ts";
import { deadLettersContract } from "./dead-letters.ts";
import { findingsContract } from "./findings.ts";
import { jobBrowserContract } from "./job-browser.ts";
import { jobHistoryContract } from "./job-history.ts";
import { added, jobQueueContract } from "./job-queue.ts";
import { jobQueueTimeContract } from "./job-queue-time.ts";
import { poisonContract } from "./poison.ts";
import { resultStoreContract } from "./result-store.ts";
import { sharedCountsContract } from "./shared-counts.ts";
import { usageContract } from "./usage.ts";

jobQueueContract(postgres);
jobQueueTimeContract(postgres);
poisonContract(postgres);
deadLettersContract(postgres);
jobBrowserContract(postgres);
jobHistoryContract(postgres);
resultStoreContract(postgres);
findingsContract(postgres);
usageContract(postgres);
accessStoreContract(postgres);
auditLogContract(postgres);
sharedCountsContract(postgres);
callbackFailuresContract(postgres);

test("KEDA, which asks the database itself, is told how long the oldest job has waited", async () => {
  const triggers = everythingRendered().flatMap(({ objects }) => objects.flatMap(({ spec }) => spec?.triggers ?? []));
  const query: string = triggers.find(({ type }) => type === "postgresql").metadata.query;
  await using place = await postgresPlace();
  await using stores = await postgresStores(place);
  const ofSchema = query
    .replace(/SELECT (.*) FROM/, "SELECT ($1)::int AS age FROM")
    .replaceAll("lazaret.", `${place.options.schema}.`);
  const age = async (): Promise<unknown> => (await place.server.sql(ofSchema))[0];
  assert.deepEqual(await age(), { age: 0 });
  await added(stores);
  await stores.advance(90);
  assert.deepEqual(await age(), { age: 90 });
  await stores.queue.take(1);
  assert.deepEqual(await age(), { age: 0 });
});
