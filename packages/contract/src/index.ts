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
export type { EngineVariant, Feature, FeatureRow, Installation, Shortcoming, VersionAnswer } from "./features.ts";
export { featuresOf, featureTable, latestAddOns, latestEngines, shortcoming, supports } from "./features.ts";
export {
  customDataProblem,
  isPlainHttp,
  objectProblem,
  schemaProblem,
  traceIdProblem,
  urlProblem,
} from "./field-rules.ts";
export type {
  FindingsAttributes,
  FindingsMessage,
  FittedAttributes,
  FittedMessage,
  ObjectAction,
} from "./findings-topic.ts";
export { findingsMessageSchema } from "./findings-topic.ts";
export {
  fitAsyncResult,
  fitAttributes,
  fitCallback,
  fitDownloadScanResult,
  fitMessage,
  fitSyncResult,
  topicBody,
} from "./fit-messages.ts";
export type { HeaderMap } from "./header-rules.ts";
export { checkHeaders } from "./header-rules.ts";
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
export type { VersionNumber } from "./version-number.ts";
export { compareVersions, parseVersion } from "./version-number.ts";
