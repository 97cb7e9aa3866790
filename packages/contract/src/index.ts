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
} from "./events.ts";
export { DOWNLOAD_SCAN_RESULT, downloadScanResultSchema, EVENT_SOURCE } from "./events.ts";
export type { AsyncDownloadRequest, AsyncRequest, SyncDownloadRequest } from "./jobs.ts";
export { asyncDownloadSchema, syncDownloadSchema, traceIdSchema } from "./jobs.ts";
export * from "./limits.ts";
export type { ScanResult, Status } from "./result.ts";
export { scanResultSchema } from "./result.ts";
export type { IntegerSchema, MapSchema, ObjectSchema, Schema, StringSchema } from "./schema.ts";
export type { SignatureVector, SignatureVectorKeys } from "./signature-vectors.ts";
export { signatureVectorKeys, signatureVectors } from "./signature-vectors.ts";
