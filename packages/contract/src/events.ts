import type { FittedMessage } from "./findings-topic.ts";
import type { Status } from "./result.ts";
import type { ObjectSchema } from "./schema.ts";

/** The envelope of everything on the event bus. */
export interface EventEnvelope<DetailType extends string, Detail> {
  version: string;
  id: string;
  "detail-type": DetailType;
  source: typeof EVENT_SOURCE;
  account: string;
  /** ISO 8601, UTC. */
  time: string;
  region: string;
  resources: string[];
  detail: Detail;
}

export const EVENT_SOURCE = "com.scanner";
export const DOWNLOAD_SCAN_RESULT = "Download Scan Result";

export const SCAN_RESULT = "Scan Result";

export type ScanResultEvent = EventEnvelope<typeof SCAN_RESULT, FittedMessage>;
export type DownloadScanResultEvent = EventEnvelope<typeof DOWNLOAD_SCAN_RESULT, DownloadScanResultDetail>;

export interface DownloadScanResultDetail {
  download_url: string;
  /** Empty when the job had none. */
  callback_url: string;
  status: Status;
  finding?: string;
  trace_id?: string;
  custom_data?: string;
  realfiletype?: string;
  /** With finding `scanner:download-failed`. */
  download_failed_error?: FailedError;
  /** With finding `scanner:callback-failed`. */
  callback_failed_error?: FailedError;
}

export interface FailedError {
  message: string;
  /** Node's error code, `HTTP_<status>` or `blocked_destination`. */
  code: string;
  metadata: FailedErrorMetadata;
}

/** Each where it is known. */
export interface FailedErrorMetadata {
  attempts?: number;
  status_code?: number;
  /** ISO 8601, UTC. */
  last_attempt_at?: string;
}

const failedErrorProperties: ObjectSchema["properties"] = {
  message: { type: "string", description: "What went wrong, for people." },
  code: { type: "string", description: "Node's error code, `HTTP_<status>` or `blocked_destination`." },
  metadata: {
    type: "object",
    properties: {
      attempts: { type: "integer", minimum: 1, description: "How often it was tried." },
      status_code: { type: "integer", minimum: 100, description: "The last answer's HTTP status." },
      last_attempt_at: { type: "string", format: "date-time", description: "When it was tried last." },
    },
    required: [],
  },
};

function failedErrorSchema(description: string): ObjectSchema {
  return { type: "object", description, properties: failedErrorProperties, required: ["message", "code", "metadata"] };
}

export const downloadScanResultSchema: ObjectSchema = {
  type: "object",
  title: "DownloadScanResult",
  description: "The detail of a `Download Scan Result` event.",
  properties: {
    download_url: { type: "string", description: "URL that was downloaded and scanned." },
    callback_url: { type: "string", description: "URL the result was sent to; empty when the job had none." },
    status: { type: "string", enum: ["clean", "infected", "no"], description: "clean, infected or no." },
    finding: {
      type: "string",
      description: "The kind of malware detected; for `no`, an engine's finding or a service error code.",
    },
    trace_id: { type: "string", description: "Echo of the submitted trace_id." },
    custom_data: { type: "string", description: "Echo of the submitted custom_data, unchanged." },
    realfiletype: { type: "string", description: "Real file type detected. Engine P only." },
    download_failed_error: failedErrorSchema("With status `no` and finding `scanner:download-failed`."),
    callback_failed_error: failedErrorSchema("With status `no` and finding `scanner:callback-failed`."),
  },
  required: ["download_url", "callback_url", "status"],
};
