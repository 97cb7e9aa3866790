import assert from "node:assert/strict";
import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { sampleJob } from "../../../test/contracts/sample-job.ts";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { openJobStore } from "../../platforms/embedded/job-store.ts";
import { databaseChecks, sizeCheck } from "./database-checks.ts";

const MIB = 1024 ** 2;
const rows = { jobs: 3, dead_letters: 1, results: 2, messages: 0, failed_callbacks: 0 };

test("a database is told by its size, its waste and what is in it; one that is not there yet is not told", async () => {
  using folder = temporaryFolder();
  assert.deepEqual(databaseChecks(folder.path), []);
  const store = await openJobStore(folder.path);
  await store.queue.add(sampleJob());
  const [check] = databaseChecks(folder.path);
  await store.close();
  assert.equal(check?.level, "ok");
  assert.match(
    check.detail,
    / free, log of changes .*: 1 jobs, 0 dead letters, 1 results, 0 messages, 0 failed callbacks$/,
  );
  const { bytes = 0, jobs, results } = check.figures ?? {};
  assert.ok(bytes > 0);
  assert.deepEqual([jobs, results], [1, 1]);
});

test("much waste is warned of, with what to do; so is a log that is not cut", () => {
  const size = { bytes: 500 * MIB, freeBytes: 400 * MIB, logBytes: 4 * MIB, givesBack: true, rows };
  const fixOf = (parts: Partial<typeof size>): string => sizeCheck("jobs.db", { ...size, ...parts }).fix ?? "";
  assert.match(fixOf({}), /workers give it back .* stop lazaret, then lazaret jobs compact/);
  assert.match(fixOf({ givesBack: false }), /does not shrink by itself .* lazaret jobs compact/);
  assert.equal(fixOf({ freeBytes: 200 * MIB }), "");
  assert.match(fixOf({ freeBytes: 0, logBytes: 500 * MIB }), /fuser jobs.db/);
});

test("a database that is damaged, or none, fails with what to do", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "jobs.db");
  writeFileSync(path, "this is not a database, whatever its name says".repeat(100));
  assert.match(failure(folder.path), /it is not a database; restore/);
  writeFileSync(path, "");
  const store = await openJobStore(folder.path);
  await store.queue.add(sampleJob());
  await store.close();
  truncateSync(path, 8192);
  assert.match(failure(folder.path), /it is damaged; stop lazaret and restore/);
});

function failure(dataDir: string): string {
  const [check] = databaseChecks(dataDir);
  return check?.level === "fail" ? `${check.detail}; ${check.fix}` : `${check?.level}`;
}
