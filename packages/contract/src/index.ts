export type { ErrorBody } from "./errors.ts";
export { errorSchema, findings } from "./errors.ts";
export type { SyncDownloadRequest } from "./jobs.ts";
export { syncDownloadSchema } from "./jobs.ts";
export * from "./limits.ts";
export type { ScanResult, Status } from "./result.ts";
export { scanResultSchema } from "./result.ts";
export type { IntegerSchema, MapSchema, ObjectSchema, Schema, StringSchema } from "./schema.ts";
