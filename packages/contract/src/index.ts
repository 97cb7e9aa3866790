export type { CallbackPayload } from "./callback.ts";
export { callbackHeaderNames, callbackPayloadSchema } from "./callback.ts";
export type { ErrorBody } from "./errors.ts";
export { errorSchema, findings } from "./errors.ts";
export type {
  DownloadScanResultDetail,
  DownloadScanResultEvent,
  EventEnvelope,
  FailedError,
  FailedErrorMetadata,
  ScanResultEvent,
} from "./events.ts";
export { DOWNLOAD_SCAN_RESULT, downloadScanResultSchema, EVENT_SOURCE, SCAN_RESULT } from "./events.ts";
export type { FindingsAttributes, FindingsMessage, ObjectAction } from "./findings-topic.ts";
export { findingsMessageSchema } from "./findings-topic.ts";
export type {
  AsyncDownloadRequest,
  AsyncObjectRequest,
  AsyncRequest,
  SyncDownloadRequest,
  SyncObjectRequest,
} from "./jobs.ts";
export { asyncDownloadSchema, asyncObjectSchema, syncDownloadSchema, syncObjectSchema, traceIdSchema } from "./jobs.ts";
export * from "./limits.ts";
export type { ScanResult, Status } from "./result.ts";
export { scanResultSchema } from "./result.ts";
export type { IntegerSchema, MapSchema, ObjectSchema, Schema, StringSchema } from "./schema.ts";
export type { SignatureVector, SignatureVectorKeys } from "./signature-vectors.ts";
export { signatureVectorKeys, signatureVectors } from "./signature-vectors.ts";
