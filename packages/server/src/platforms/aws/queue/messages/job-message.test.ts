import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { oddText, sampleJob } from "../../../../../test/contracts/sample-job.ts";
import { burialMark, jobMessage, readBurialMark, readJobMessage } from "./job-message.ts";

const ADDED = "01790000000000000";

test("any text comes back as it was, and is sent in characters that every queue takes", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom(oddText, "\uffff\ufffe\u007f\u0085")),
      (text) => {
        const job = sampleJob({ customData: text, traceId: text });
        const body = jobMessage(ADDED, job);
        assert.match(body, /^[\x20-\ud7ff\ue000-\ufffd]*$/);
        assert.deepEqual(readJobMessage(body), { key: { id: job.id, added: ADDED }, job });
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
  ]) {
    assert.equal(readJobMessage(JSON.stringify({ lazaret: "job", added: ADDED, job })), undefined, JSON.stringify(job));
  }
  const job = sampleJob();
  assert.equal(readJobMessage(JSON.stringify({ lazaret: "job", added: "7", job })), undefined);
  assert.equal(readJobMessage(JSON.stringify({ added: ADDED, job })), undefined);
  assert.equal(readJobMessage("{"), undefined);
  for (const mark of [undefined, "", "7", "{}", '{"id":"a","added":"x","at":1,"reason":""}']) {
    assert.equal(readBurialMark(mark), undefined);
  }
});

test("random text is never taken for a job", () => {
  fc.assert(fc.property(fc.oneof(fc.json(), fc.string()), (text) => assert.equal(readJobMessage(text), undefined)));
});
