import type { Report } from "./report.ts";
import type { UrlSource } from "./source.ts";

/** Where the bytes of a queued file are. Unlike an upload it can be opened again. */
export type JobSource = UrlSource;

/** Work we accepted and owe an answer for. Everything it needs to run, and what it has achieved so far. */
export interface Job {
  /** Random, ours; the same in all tries, also on the wire as X-Delivery-Id. */
  id: string;
  /** Milliseconds since 1970. */
  submittedAt: number;
  /** SHA-256 of the API key that submitted it, in hex. */
  keyDigest: string;
  traceId?: string;
  /** Passed through unchanged, lone surrogates and NUL included. */
  customData?: string;
  source: JobSource;
  callback?: Callback;
  /** Set once the file was scanned: what is left to do is to deliver. */
  report?: Report;
  /** Downloads that failed in a way that may pass. */
  failedDownloads: number;
  /** Scans that ended without a verdict after the engine had begun to look at the file. */
  failedScans: number;
  /** Callback invocations (of 1 + 5 POSTs each) that failed. */
  failedCallbacks: number;
}

export interface Callback {
  url: string;
  headers: Readonly<Record<string, string>>;
}
