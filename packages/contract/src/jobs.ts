import {
  BUCKET_MAX_CHARACTERS,
  CUSTOM_DATA_MAX_BYTES,
  HEADERS_MAX_COUNT,
  OBJECT_KEY_MAX_BYTES,
  OBJECT_VERSION_MAX_CHARACTERS,
  TRACE_ID_MAX_CHARACTERS,
  URL_MAX_CHARACTERS,
} from "./limits.ts";
import type { MapSchema, ObjectSchema, StringSchema } from "./schema.ts";

/** Body of POST /api/v1/scan/sync/download. */
export interface SyncDownloadRequest {
  download_url: string;
  download_headers?: Record<string, string>;
}

/** Body of POST /api/v1/scan/async/download. */
export interface AsyncDownloadRequest extends SyncDownloadRequest, AsyncRequest {}

/** Body of POST /api/v1/scan/sync/objstore. */
export interface SyncObjectRequest {
  bucket: string;
  key: string;
  version?: string;
}

/** Body of POST /api/v1/scan/async/objstore. */
export interface AsyncObjectRequest extends SyncObjectRequest, AsyncRequest {}

/** What every asynchronous job may say about its answer. One of callback_url and trace_id must be there. */
export interface AsyncRequest {
  callback_url?: string;
  callback_headers?: Record<string, string>;
  trace_id?: string;
  custom_data?: string;
}

const downloadUrl: StringSchema = {
  type: "string",
  minLength: 1,
  maxLength: URL_MAX_CHARACTERS,
  format: "uri",
  description: "URL fetched by HTTP(S) GET. No credentials in it; private and metadata addresses are refused.",
  examples: ["https://files.example.com/report.pdf"],
  "x-code": "invalid_download_url",
};

const downloadHeaders: MapSchema = {
  type: "object",
  additionalProperties: { type: "string" },
  maxProperties: HEADERS_MAX_COUNT,
  description: "Headers sent when downloading. Connection, framing and Range headers are refused.",
  examples: [{ Authorization: "Bearer token-of-the-file-server" }],
  "x-code": "invalid_header",
};

export const syncDownloadSchema: ObjectSchema = {
  type: "object",
  title: "SyncDownloadRequest",
  properties: { download_url: downloadUrl, download_headers: downloadHeaders },
  required: ["download_url"],
};

export const traceIdSchema: StringSchema = {
  type: "string",
  minLength: 1,
  maxLength: TRACE_ID_MAX_CHARACTERS,
  description: "Client-chosen ID for tracing and for polling; no control characters.",
  examples: ["order-4711"],
  "x-code": "invalid_trace_id",
};

export const customDataSchema: StringSchema = {
  type: "string",
  maxLength: CUSTOM_DATA_MAX_BYTES,
  description: "Passed through unchanged. At most 16,384 bytes of UTF-8.",
  "x-size-code": "custom_data_too_large",
};

const asyncFields = {
  callback_url: {
    type: "string",
    minLength: 1,
    maxLength: URL_MAX_CHARACTERS,
    format: "uri",
    description: "Receives the result by HTTPS POST.",
    examples: ["https://app.example.com/scanned"],
    "x-code": "invalid_callback_url",
  },
  callback_headers: {
    type: "object",
    additionalProperties: { type: "string" },
    maxProperties: HEADERS_MAX_COUNT,
    description:
      "Headers sent with the callback. Content-Type, Content-Length, Content-Encoding, X-Signature, X-Timestamp and X-Delivery-… are the service's; connection, framing and proxy headers are refused.",
    examples: [{ Authorization: "Bearer token-of-the-receiver" }],
    "x-code": "invalid_header",
  },
  trace_id: traceIdSchema,
  custom_data: customDataSchema,
} as const satisfies Record<string, StringSchema | MapSchema>;

export const asyncDownloadSchema: ObjectSchema = {
  type: "object",
  title: "AsyncDownloadRequest",
  description: "Without callback_url a trace_id is required, for polling.",
  properties: { download_url: downloadUrl, download_headers: downloadHeaders, ...asyncFields },
  required: ["download_url"],
};

const objectFields = {
  bucket: {
    type: "string",
    minLength: 1,
    maxLength: BUCKET_MAX_CHARACTERS,
    description: "Bucket name.",
    "x-code": "invalid_object",
    examples: ["uploads"],
  },
  key: {
    type: "string",
    minLength: 1,
    maxLength: OBJECT_KEY_MAX_BYTES,
    description: "Object key, at most 1,024 bytes of UTF-8.",
    "x-code": "invalid_object",
    examples: ["2026/11/report.pdf"],
  },
  version: {
    type: "string",
    minLength: 1,
    maxLength: OBJECT_VERSION_MAX_CHARACTERS,
    description: "Object version, if versioning is enabled; the newest one if left out.",
    "x-code": "invalid_object",
  },
} as const satisfies Record<string, StringSchema>;

export const syncObjectSchema: ObjectSchema = {
  type: "object",
  title: "SyncObjectRequest",
  properties: objectFields,
  required: ["bucket", "key"],
};

export const asyncObjectSchema: ObjectSchema = {
  type: "object",
  title: "AsyncObjectRequest",
  description: "Without callback_url a trace_id is required, for polling.",
  properties: { ...objectFields, ...asyncFields },
  required: ["bucket", "key"],
};
