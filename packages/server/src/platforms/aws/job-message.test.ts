import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { cleanReport, failedReport, oddText, sampleJob } from "../../../test/contracts/sample-job.ts";
import { QueueUnavailable } from "../../model/faults.ts";
import type { Job } from "../../model/job.ts";
import { sealer } from "../shared/sealed.ts";
import { burialMark, changesTo, type JobChanges, jobMessages, readBurialMark, withChanges } from "./job-message.ts";

const ADDED = "01790000000000000";
const messages = jobMessages(sealer(randomBytes(32)));

test("any text comes back as it was, and is sent in characters that every queue takes", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom(oddText, "\uffff\ufffe\u007f\u0085")),
      (text) => {
        const job = sampleJob({ customData: text, traceId: text });
        const body = messages.write(ADDED, job);
        assert.match(body, /^[\x20-\ud7ff\ue000-\ufffd]*$/);
        assert.deepEqual(messages.read(body), { key: { id: job.id, added: ADDED }, job });
        const mark = { id: job.id, added: ADDED, at: 1, reason: text.slice(0, 300) };
        assert.match(burialMark(mark), /^[\x20-\ud7ff\ue000-\ufffd]*$/);
        assert.deepEqual(readBurialMark(burialMark(mark)), mark);
      },
    ),
  );
});

test("what is not a job of ours is not taken for one", () => {
  const { headers: _, ...bare } = { kind: "url", url: "https://files.example/", headers: {} };
  for (const job of [
    undefined,
    null,
    7,
    [],
    {},
    { ...sampleJob(), id: 7 },
    { ...sampleJob(), id: "x".repeat(200) },
    { ...sampleJob(), source: undefined },
    { ...sampleJob(), source: bare },
    { ...sampleJob(), source: { kind: "upload" } },
    { ...sampleJob(), source: { kind: "object", bucket: "b" } },
    { ...sampleJob(), callback: { url: "https://receiver.example/", headers: { a: 1 } } },
    { ...sampleJob(), report: { verdict: "clean" } },
    { ...sampleJob(), failedScans: -1 },
    { ...sampleJob(), failedScans: "0" },
    { ...sampleJob(), life: "long" },
    { ...sampleJob(), life: { steps: [{ at: "now", what: "done" }], leftOut: 0 } },
  ]) {
    assert.equal(messages.read(JSON.stringify({ lazaret: "job", added: ADDED, job })), undefined, JSON.stringify(job));
  }
  const job = sampleJob();
  assert.equal(messages.read(JSON.stringify({ lazaret: "job", added: "7", job })), undefined);
  assert.equal(messages.read(JSON.stringify({ added: ADDED, job })), undefined);
  assert.equal(messages.read("{"), undefined);
  for (const mark of [undefined, "", "7", "{}", '{"id":"a","added":"x","at":1,"reason":""}']) {
    assert.equal(readBurialMark(mark), undefined);
  }
});

test("random text is never taken for a job", () => {
  fc.assert(fc.property(fc.oneof(fc.json(), fc.string()), (text) => assert.equal(messages.read(text), undefined)));
});

test("what clients sent can be read with the key only, and changes of one job are nothing to another", () => {
  const job = sampleJob({ customData: "custom-of-the-client" });
  const body = messages.write(ADDED, job);
  const changes = { set: { source: job.source }, unset: [] };
  const sealed = messages.sealChanges(job.id, changes);
  assert.doesNotMatch(`${body} ${sealed}`, /files\.example|of-the-source|of-the-callback|of-the-client/);
  const others = jobMessages(sealer(randomBytes(32)));
  assert.equal(others.read(body), undefined);
  assert.deepEqual(messages.openChanges(job.id, sealed), changes);
  for (const open of [() => others.openChanges(job.id, sealed), () => messages.openChanges("another", sealed)]) {
    assert.throws(open, QueueUnavailable);
  }
});

test("messages and changes of an older version, which did not seal them, are read", () => {
  const { failedRuns: _, ...job } = sampleJob();
  const body = JSON.stringify({ lazaret: "job", added: ADDED, job });
  assert.deepEqual(messages.read(body)?.job, { ...job, failedRuns: 0 });
  assert.deepEqual(messages.openChanges(job.id, '{"set":{},"unset":["report"]}'), { set: {}, unset: ["report"] });
});

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
