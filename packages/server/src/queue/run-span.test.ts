import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleJob } from "../../test/contracts/sample-job.ts";
import type { Job } from "../model/job.ts";
import type { Span, Spans } from "../traces/spans.ts";
import { runSpan } from "./run-span.ts";

/** What was begun for a run: each span's name, what it is below, and since when. */
function begun(job: Job, now: number): unknown[] {
  const seen: unknown[] = [];
  const resume: Spans["resume"] = (name, context, { at }) => {
    seen.push([name, context?.traceparent, at]);
    return { context: { traceparent: `that of ${name}` }, end() {} } as Span;
  };
  runSpan({ resume, request: () => assert.fail("it is no request") }, { job, attempt: 2 }, now);
  return seen;
}

test("a run goes on below what its job was sent by; without that it is below its wait, which begins a trace", () => {
  const job = sampleJob({ submittedAt: 1000 });
  const { traceContext, ...untraced } = job;
  assert.deepEqual(begun(job, 5000), [
    ["queue", traceContext?.traceparent, 1000],
    ["process", traceContext?.traceparent, undefined],
  ]);
  assert.deepEqual(begun(untraced, 5000), [
    ["queue", undefined, 1000],
    ["process", "that of queue", undefined],
  ]);
});
