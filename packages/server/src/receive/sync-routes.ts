import {
  type SyncDownloadRequest,
  type SyncObjectRequest,
  scanResultSchema,
  syncDownloadSchema,
  syncObjectSchema,
} from "@lazaret/contract";
import { checkBody } from "./body/check-body.ts";
import { type CheckDestination, downloadsDisabled, urlSource } from "./body/download-fields.ts";
import { readJsonObject } from "./body/json-body.ts";
import { type CheckObject, objectSource } from "./body/object-fields.ts";
import { binaryUpload, formUpload } from "./body/upload.ts";
import type { Endpoint, Handle, RouteDoc } from "./route.ts";
import type { ScanNow } from "./scan-now.ts";

export interface SyncHandlersOptions {
  scanNow: ScanNow;
  checkDestination: CheckDestination;
  checkObject: CheckObject;
  /** False where files are not scanned by their URL. */
  downloads: boolean;
}

/** Since when the synchronous API is deprecated (RFC 9745): the day of its first release here. */
const DEPRECATION = {
  Deprecation: "@1762128000",
  Link: '</docs#synchronous-deprecated>; rel="deprecation"; type="text/html"',
};

const result: RouteDoc["success"] = { status: 200, description: "The scan result.", schema: scanResultSchema };
const scanErrors = { 401: ["invalid_api_key"], 503: ["busy", "engine_unavailable"], 504: ["scanner:timeout"] };
const uploadErrors = {
  ...scanErrors,
  408: ["request_timeout"],
  411: ["length_required"],
  413: ["scanner:too-big"],
  415: ["unsupported_media_type", "unsupported_encoding"],
};

const jsonErrors = { ...scanErrors, 413: ["body_too_large"], 415: ["unsupported_media_type", "unsupported_encoding"] };

type SyncEndpoint = "syncDownload" | "syncBinary" | "syncForm" | "syncObject";

export const syncEndpoints: Record<SyncEndpoint, Endpoint> = {
  syncDownload: {
    headers: DEPRECATION,
    doc: {
      group: "Synchronous",
      summary: "Download a file and scan it",
      deprecated: true,
      request: { contentType: "application/json", schema: syncDownloadSchema },
      success: result,
      errors: {
        ...jsonErrors,
        400: ["invalid_json", "invalid_request", "invalid_download_url", "blocked_destination", "invalid_header"],
        403: ["downloads_disabled"],
      },
      example: `curl -H "Authorization: Bearer $LAZARET_API_KEY" -H "Content-Type: application/json" -d '{"download_url": "https://files.example.com/report.pdf"}' $LAZARET_URL/api/v1/scan/sync/download`,
    },
  },
  syncBinary: {
    headers: DEPRECATION,
    doc: {
      group: "Synchronous",
      summary: "Scan the request's body",
      deprecated: true,
      request: { contentType: "application/octet-stream" },
      success: result,
      errors: uploadErrors,
      example: `curl -H "Authorization: Bearer $LAZARET_API_KEY" -H "Content-Type: application/octet-stream" --data-binary @report.pdf $LAZARET_URL/api/v1/scan/sync/binary`,
    },
  },
  syncForm: {
    headers: DEPRECATION,
    doc: {
      group: "Synchronous",
      summary: "Scan the one file of a form",
      description: "Exactly one part, which must be a file; its field name and file name do not matter.",
      deprecated: true,
      request: { contentType: "multipart/form-data" },
      success: result,
      errors: { ...uploadErrors, 400: ["invalid_multipart", "exactly_one_file"] },
      example: `curl -H "Authorization: Bearer $LAZARET_API_KEY" -F file=@report.pdf $LAZARET_URL/api/v1/scan/sync/form`,
    },
  },
  syncObject: {
    storeAway: {
      message: "the object was scanned, but its result could not be passed on to topic and event bus",
      hint: "scan it again",
    },
    headers: DEPRECATION,
    doc: {
      group: "Synchronous",
      summary: "Scan an object in a bucket",
      description: "The result also goes to the findings topic and the event bus, and the object is tagged.",
      deprecated: true,
      request: { contentType: "application/json", schema: syncObjectSchema },
      success: result,
      errors: { ...jsonErrors, 400: ["invalid_json", "invalid_request", "invalid_object"] },
      example: `curl -H "Authorization: Bearer $LAZARET_API_KEY" -H "Content-Type: application/json" -d '{"bucket": "uploads", "key": "report.pdf"}' $LAZARET_URL/api/v1/scan/sync/objstore`,
    },
  },
};

export function syncHandlers({
  scanNow,
  checkDestination,
  checkObject,
  downloads,
}: SyncHandlersOptions): Record<SyncEndpoint, Handle> {
  return {
    async syncDownload(request, { keyDigest }) {
      if (!downloads) throw downloadsDisabled();
      const body = checkBody<SyncDownloadRequest>(await readJsonObject(request), syncDownloadSchema);
      return scanNow(request, { keyDigest, source: urlSource(body, checkDestination) });
    },
    syncBinary: async (request, { keyDigest }) => scanNow(request, { keyDigest, source: binaryUpload(request) }),
    syncForm: async (request, { keyDigest }) => scanNow(request, { keyDigest, source: formUpload(request) }),
    async syncObject(request, { keyDigest }) {
      const body = checkBody<SyncObjectRequest>(await readJsonObject(request), syncObjectSchema);
      return scanNow(request, { keyDigest, source: objectSource(body, checkObject) });
    },
  };
}
