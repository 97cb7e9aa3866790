import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { cleanReport, failedReport, sampleJob } from "../../../../../test/contracts/sample-job.ts";
import type { Job } from "../../../../model/job.ts";
import { changesTo, type JobChanges, withChanges } from "./job-changes.ts";

const base = sampleJob();

/** A state that a job may come to. */
const later: fc.Arbitrary<Job> = fc
  .record(
    {
      report: fc.constantFrom(cleanReport, failedReport),
      source: fc.constant<Job["source"]>({ kind: "url", url: "https://files.example/", headers: {} }),
      told: fc.constant(true),
      action: fc.constantFrom("tag" as const, "no" as const),
      failedDownloads: fc.nat(3),
      failedCallbacks: fc.nat(3),
    },
    { requiredKeys: [] },
  )
  .map((changed) => ({ ...base, ...changed }));

test("put onto any earlier state of a job, what changed gives the newest", () => {
  fc.assert(
    fc.property(fc.array(later, { minLength: 1, maxLength: 6 }), (states) => {
      let changes: JobChanges | undefined;
      for (const state of states) changes = JSON.parse(JSON.stringify(changesTo(base, state, changes)));
      for (const earlier of [base, ...states]) assert.deepEqual(withChanges(earlier, changes), states.at(-1));
    }),
  );
});

test("what did not change is not named", () => {
  assert.deepEqual(changesTo(base, { ...base, failedScans: 1 }, undefined), { set: { failedScans: 1 }, unset: [] });
  assert.deepEqual(changesTo(base, base, undefined), { set: {}, unset: [] });
  assert.deepEqual(withChanges(base, undefined), base);
});
