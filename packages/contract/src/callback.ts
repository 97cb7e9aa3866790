import type { Status } from "./result.ts";
import type { ObjectSchema } from "./schema.ts";

/** What is POSTed to callback_url. */
export interface CallbackPayload {
  status: Status;
  finding?: string;
  /**
   * Bytes that were read: of a file that could not be read to its end, those before that. Of a file that announced that
   * it is too big, the announced length.
   */
  size: number;
  /** Seconds with three decimals. */
  download_time: string;
  /** Seconds with three decimals. */
  scan_time: string;
  download_url: string;
  trace_id?: string;
  custom_data?: string;
  realfiletype?: string;
}

export const callbackPayloadSchema: ObjectSchema = {
  type: "object",
  title: "CallbackPayload",
  description: "What is POSTed to callback_url. Any 2xx answer counts as received.",
  properties: {
    status: { type: "string", enum: ["clean", "infected", "no"], description: "clean, infected or no." },
    finding: {
      type: "string",
      description: "The kind of malware detected; for `no`, why the file could not be scanned.",
    },
    size: { type: "integer", minimum: 0, description: "File size in bytes; what was read of it when that failed." },
    download_time: { type: "string", description: "Time to download, in seconds.", examples: ["0.214"] },
    scan_time: { type: "string", description: "Time to scan, in seconds.", examples: ["1.030"] },
    download_url: { type: "string", description: "The URL that was downloaded." },
    trace_id: { type: "string", description: "Echo of the submitted trace_id." },
    custom_data: { type: "string", description: "Echo of the submitted custom_data, unchanged." },
    realfiletype: { type: "string", description: "Real file type detected. Engine P only." },
  },
  required: ["status", "size", "download_time", "scan_time", "download_url"],
};

/** Headers of a callback that are the service's own. The first two only when callbacks are signed. */
export const callbackHeaderNames = {
  /** RSA (PKCS#1 v1.5) with SHA-256, lower-case hex, over `<X-Timestamp>.<callback_url as submitted>.<raw body>`. */
  signature: "X-Signature",
  /** Milliseconds since 1970; another one with each POST. */
  timestamp: "X-Timestamp",
  /** The same in all POSTs of a job: a receiver that has seen it can pass over the repetition. */
  deliveryId: "X-Delivery-Id",
  /** From 1, counted over all POSTs of a job. */
  deliveryAttempt: "X-Delivery-Attempt",
} as const;
