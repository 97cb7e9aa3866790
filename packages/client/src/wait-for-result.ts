import { ResultTimeoutError, UnavailableError, UnreachableError } from "./errors.ts";
import { withJitter } from "./http/retry-policy.ts";
import { pause, timeLimit } from "./http/time-limit.ts";
import type { ScanResult } from "./result.ts";
import { RESULT_RETENTION_HOURS } from "./wire.ts";

export interface WaitOptions {
  /** How long to wait altogether. Ten minutes when not given, as long as the server gives a job by default. */
  timeoutMs?: number | undefined;
  /** Between the first two polls, about; each further wait is longer. 100 ms when not given. */
  firstDelayMs?: number | undefined;
  /** No wait is longer. 5 seconds when not given. */
  longestDelayMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

export type Poll = (traceId: string, signal: AbortSignal) => Promise<ScanResult | undefined>;

const GROWTH = 1.6;

/**
 * Polls until there is a result. A server that has answered once and is away for a while is waited for; one that never
 * answered, or refuses, is an error at once.
 */
export async function waitForResult(poll: Poll, traceId: string, options: WaitOptions): Promise<ScanResult> {
  const { timeoutMs = 600_000, firstDelayMs = 100, longestDelayMs = 5_000 } = options;
  const limit = timeLimit(timeoutMs, options.signal);
  let answered = false;
  let trouble: unknown;
  try {
    for (let polls = 0; ; polls++) {
      try {
        const result = await poll(traceId, limit.signal);
        if (result) return result;
        answered = true;
        trouble = undefined;
      } catch (error) {
        if (limit.signal.aborted || !answered || !mayPass(error)) throw error;
        trouble = error;
      }
      await pause(withJitter(firstDelayMs * GROWTH ** polls, longestDelayMs, Math.random()), limit.signal);
    }
  } catch (error) {
    throw limit.passed ? timedOut(traceId, timeoutMs, trouble) : error;
  } finally {
    limit.end();
  }
}

function mayPass(error: unknown): boolean {
  return error instanceof UnavailableError || error instanceof UnreachableError;
}

function timedOut(traceId: string, timeoutMs: number, trouble: unknown): ResultTimeoutError {
  const last = trouble instanceof Error ? `; the last poll failed: ${trouble.message}` : "";
  return new ResultTimeoutError(
    `no result for the trace_id ${JSON.stringify(traceId)} within ${timeoutMs / 1000} s${last}`,
    {
      code: "result_timeout",
      hint: `the scan is not finished, the result is older than ${RESULT_RETENTION_HOURS} hours, or the trace_id is wrong`,
      cause: trouble,
    },
  );
}
