import { randomUUID } from "node:crypto";
import type { Finding } from "../../src/deliver/findings.ts";
import { type Job, noFailures } from "../../src/model/job.ts";
import type { Report } from "../../src/model/report.ts";
import { DEFAULT_TENANT, type Trace } from "../../src/model/tenant.ts";
import { newJobId } from "../../src/queue/job-queue.ts";

/** Everything that text can be: quotes, NUL, emoji, both halves of a surrogate pair alone, in the wrong order. */
export const oddText = 'quotes " and \\, NUL \0, emoji 👾, lone \ud83d, \udc7e\ud83d, line\u2028separator, ünïcode';

/** A trace id of the tenant that sample jobs have. */
export function traced(traceId: string): Trace {
  return { tenant: DEFAULT_TENANT, traceId };
}

/** With all that a client may send; `parts` replaces some of it. */
export function sampleJob(parts: Partial<Job> = {}): Job {
  return {
    id: randomUUID(),
    submittedAt: 1_790_000_000_000,
    tenant: DEFAULT_TENANT,
    key: "key-1",
    traceId: `trace ${randomUUID()}`,
    traceContext: { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", tracestate: "a=1" },
    customData: oddText,
    source: {
      kind: "url",
      url: "https://files.example/reports/q3.pdf?signature=of-the-source",
      headers: { Authorization: "Bearer of-the-source", "X-Odd": "" },
    },
    callback: {
      url: "https://receiver.example/scans?token=of-the-callback",
      headers: { "X-Api-Key": "of-the-callback" },
    },
    ...noFailures,
    ...parts,
  };
}

/** What a job is apart from what happened to it. */
export function withoutLife({ life: _, ...job }: Job): Job {
  return job;
}

export function sampleFinding(parts: Partial<Finding> = {}): Finding {
  const at = parts.at ?? Date.now();
  return {
    id: newJobId(at),
    at,
    tenant: DEFAULT_TENANT,
    key: "key-1",
    verdict: "infected",
    finding: "Eicar-Test",
    source: { kind: "url", url: "https://files.example/a.bin" },
    sizeBytes: 68,
    ...parts,
  };
}

export const cleanReport: Report = {
  verdict: { kind: "clean", fileType: "pdf" },
  sizeBytes: 4096,
  downloadSeconds: 0.25,
  scanSeconds: 0.031,
};

export const failedReport: Report = {
  verdict: { kind: "unscannable", finding: "scanner:download-failed" },
  sizeBytes: 0,
  downloadSeconds: 15,
  scanSeconds: 0,
  failure: {
    finding: "scanner:download-failed",
    code: "HTTP_404",
    message: "the server answered 404",
    statusCode: 404,
    passing: false,
  },
};
