import type { FailedError } from "@lazaret/contract";

/** Why a callback is not delivered: data, not a fault. */
export interface CallbackFailure {
  /** Node's error code, `HTTP_<status>` or `blocked_destination`. */
  code: string;
  /** For people; never shows a resolved address. */
  message: string;
  statusCode?: number;
  /** POSTs that were tried so far, over all invocations. */
  attempts: number;
  /** Milliseconds since 1970. */
  lastAttemptAt: number;
}

/**
 * Callbacks that finally failed, for whoever asks what was not delivered. Kept `FAILURES_KEPT_MS`. Each adapter passes
 * test/contracts/callback-failures.ts.
 */
export interface CallbackFailures {
  /** Durable when it resolves. The same job again changes nothing. Throws `QueueUnavailable`. */
  record(failure: FailedCallback): Promise<void>;
  /** Those of one tenant, newest first. Undefined for a cursor that is none of ours. Throws `QueueUnavailable`. */
  list(options: FailuresQuery): Promise<FailedCallbacks | undefined>;
}

/** 30 days. */
export const FAILURES_KEPT_MS: number = 30 * 86_400_000;

export interface FailedCallback {
  tenant: string;
  /** The job's. */
  id: string;
  /** Milliseconds since 1970. */
  failedAt: number;
  /** Both without their queries, which may be secrets. */
  downloadUrl: string;
  callbackUrl: string;
  error: FailedError;
}

interface FailuresQuery {
  tenant: string;
  /** Without its query. */
  callbackUrl?: string;
  /** `next` of the page before. */
  cursor?: string;
  limit: number;
}

interface FailedCallbacks {
  failures: FailedCallback[];
  next: string | undefined;
}
