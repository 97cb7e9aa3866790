/**
 * What the client knows of the wire. Imported by path and nowhere else: the published package has no dependencies, so
 * its build takes along the very files named here, and not the test keys that lie beside them.
 */
export type { CallbackPayload } from "../../contract/src/callback.ts";
export { callbackHeaderNames } from "../../contract/src/callback.ts";
export type { ErrorBody } from "../../contract/src/errors.ts";
export { findings } from "../../contract/src/errors.ts";
export type {
  AsyncDownloadRequest,
  AsyncObjectRequest,
  AsyncRequest,
  SyncDownloadRequest,
  SyncObjectRequest,
} from "../../contract/src/jobs.ts";
export { RESULT_RETENTION_HOURS, SIGNATURE_WINDOW_SECONDS } from "../../contract/src/limits.ts";
export type { Status } from "../../contract/src/result.ts";
