import { createHash } from "node:crypto";
import { RESULT_RETENTION_HOURS } from "@lazaret/contract";
import type { ResultStore, TracedJob } from "../../deliver/result-store.ts";
import type { Job } from "../../model/job.ts";
import { DEFAULT_TENANT, type Trace } from "../../model/tenant.ts";
import type { Attributes, Table } from "./table.ts";

const RESULT_MS = RESULT_RETENTION_HOURS * 3_600_000;
const DAY_MS = 86_400_000;
/** A job stays in SQS for 14 days at most without being put back; when it is, its expectation gets its time again. */
const EXPECTED_MS = 30 * DAY_MS;
const PROLONGED_AFTER_MS = 15 * DAY_MS;

const UNFINISHED = "job_id = :job AND attribute_not_exists(report)";

/**
 * Results in the table, one item for each trace id: whose submission is the newest, and its report when there is one.
 * DynamoDB deletes what is over some time later; whether it is over is checked when it is read.
 */
export function tableResults(table: Table, now: () => number): { results: ResultStore; expectations: Expectations } {
  async function prolong({ id, tenant, traceId, report, submittedAt }: Job): Promise<void> {
    if (traceId === undefined || report || now() - submittedAt < PROLONGED_AFTER_MS) return;
    await table.update(keyOf({ tenant, traceId }), {
      if: UNFINISHED,
      values: job(id),
      set: { expires_at: seconds(now() + EXPECTED_MS) },
    });
  }

  function expect({ jobId, ...trace }: TracedJob): Expectation {
    const key = keyOf(trace);
    const item = { ...key, job_id: { S: jobId }, expires_at: seconds(now() + EXPECTED_MS) };
    // What is its own already is left alone: the answer to a first try was lost, or the job was faster.
    const put = table.put(item, { if: "attribute_not_exists(pk) OR job_id <> :job", values: job(jobId) });
    return {
      written: put.then(() => {}),
      async undo() {
        const { before } = (await put) ?? {};
        if (before) await table.put(before, { if: UNFINISHED, values: job(jobId) });
        else await table.remove(key, { if: UNFINISHED, values: job(jobId) });
      },
    };
  }

  const results: ResultStore = {
    async keep({ jobId, ...trace }, report) {
      const until = now() + RESULT_MS;
      await table.update(keyOf(trace), {
        if: UNFINISHED,
        values: job(jobId),
        set: { report: { S: JSON.stringify(report) }, kept_until: { N: String(until) }, expires_at: seconds(until) },
      });
    },

    async find(trace) {
      const { report, kept_until } = (await table.get(keyOf(trace))) ?? {};
      return report?.S !== undefined && Number(kept_until?.N) > now() ? JSON.parse(report.S) : undefined;
    },
  };
  return { results, expectations: { expect, prolong } };
}

function keyOf(trace: Trace): Attributes {
  return { pk: { S: traceKey(trace) }, sk: { S: "result" } };
}

/** By a digest: keys have a length limit, and lone surrogates, which are kept apart in UTF-16, no UTF-8. */
export function traceKey({ tenant, traceId }: Trace): string {
  const digest = createHash("sha256").update(Buffer.from(traceId, "utf16le")).digest("hex");
  return `trace#${tenant === DEFAULT_TENANT ? "" : `${tenant}#`}${digest}`;
}

function job(id: string): Attributes {
  return { ":job": { S: id } };
}

function seconds(ms: number): { N: string } {
  return { N: String(Math.ceil(ms / 1000)) };
}

/** An expectation that is on its way into the table, and the way to take it back. */
interface Expectation {
  /** Rejects when it could not be written. */
  written: Promise<void>;
  /** Brings back what was there before, unless something happened since. */
  undo(): Promise<void>;
}

/**
 * Whose submission is the newest of a trace id. A job is sent after its expectation was written, so that no worker is faster;
 * one that could not be sent takes its expectation back, so that it does not hide the result of the submission before it.
 */
export interface Expectations {
  expect(submission: TracedJob): Expectation;
  /** For a job that waits longer than expectations are kept. */
  prolong(job: Job): Promise<void>;
}
