import { sourceWord } from "../model/job-card.ts";
import type { Span, Spans } from "../traces/spans.ts";
import type { Lease } from "./job-queue.ts";
import { waitedMs } from "./run-life.ts";

/** The span of one run, beside one of the time that the job has waited for it, or below that where a trace begins here. */
export function runSpan(spans: Spans, { job, attempt }: Pick<Lease, "job" | "attempt">, now: number): Span {
  const { id, traceId, traceContext, source } = job;
  const fields = { job_id: id, attempt };
  const waited = spans.resume("queue", traceContext, { fields, at: now - waitedMs(job.life, job, now) });
  waited.end();
  return spans.resume("process", traceContext ?? waited.context, {
    fields: { ...fields, trace_id: traceId, source: sourceWord(source) },
  });
}
