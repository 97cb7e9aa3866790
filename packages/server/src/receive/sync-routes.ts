import {
  findings,
  fitSyncResult,
  type Installation,
  SYNC_MAX_FILE_BYTES,
  type SyncDownloadRequest,
  type SyncObjectRequest,
  scanResultSchema,
  syncDownloadSchema,
  syncObjectSchema,
} from "@lazaret/contract";
import { noteOf, type Report } from "../model/report.ts";
import type { Source } from "../model/source.ts";
import type { Account } from "../model/tenant.ts";
import type { Span } from "../traces/spans.ts";
import { checkBody, readJsonObject } from "./body/json-body.ts";
import {
  type CheckDestination,
  type CheckObject,
  downloadsDisabled,
  objectSource,
  urlSource,
} from "./body/submission.ts";
import { binaryUpload, formUpload, tooBig } from "./body/upload.ts";
import { Problem } from "./problem.ts";
import { renderResult } from "./render-result.ts";
import type { Answer, ApiRequest } from "./request-answer.ts";
import { type Caller, type Endpoint, type Handle, largestFile, type RouteDoc } from "./route.ts";

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
    work: "scan",
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
    work: "scan",
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
    work: "scan",
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
    work: "scan",
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
    async syncDownload(request, caller) {
      if (!downloads) throw downloadsDisabled();
      const body = checkBody<SyncDownloadRequest>(await readJsonObject(request), syncDownloadSchema);
      return scanNow(request, { ...askedBy(caller), source: urlSource(body, checkDestination) });
    },
    async syncBinary(request, caller) {
      const { account, maxBytes } = askedBy(caller);
      return scanNow(request, { account, maxBytes, source: binaryUpload(request, maxBytes) });
    },
    async syncForm(request, caller) {
      const asked = askedBy(caller);
      return scanNow(request, { ...asked, source: formUpload(request, asked.maxBytes) });
    },
    async syncObject(request, caller) {
      const body = checkBody<SyncObjectRequest>(await readJsonObject(request), syncObjectSchema);
      return scanNow(request, { ...askedBy(caller), source: objectSource(body, checkObject, caller.tenant) });
    },
  };
}

interface Asked {
  account: Account;
  maxBytes: number;
}

function askedBy(caller: Caller): Asked {
  return {
    account: caller.account,
    maxBytes: Math.min(SYNC_MAX_FILE_BYTES, largestFile(caller) ?? SYNC_MAX_FILE_BYTES),
  };
}

export interface ScanNowOptions {
  /** Fetches, waits for a slot and scans, until `stop`. Throws `Busy`, `TooSlow`, `EngineUnavailable`, or its reason. */
  scan(
    source: Source,
    asked: Asked & { requestId: string; digestOf?: DigestOf; span?: Span | undefined },
    stop: AbortController,
  ): Promise<Report>;
  timeoutMs: number;
  /** Calls `fire` after so long, unless what it answers is called before. */
  timer?: (ms: number, fire: () => void) => () => void;
  /** What the answer says of a report. */
  render(report: Report): unknown;
  /** Which files' SHA-256 `render` wants; all by default. */
  digestOf?: DigestOf;
}

type DigestOf = "all" | "findings";

export type ScanNow = (request: ApiRequest, wanted: Asked & { source: Source }) => Promise<Answer>;

/** A scan whose result is the answer to the request, within the synchronous API's time. */
export function scanNow(options: ScanNowOptions): ScanNow {
  const { scan, timeoutMs, timer = realTimer, render, digestOf = "all" } = options;
  return async (request, { source, account, maxBytes }) => {
    const stop = new AbortController();
    const inTime = timer(timeoutMs, () => stop.abort(tooSlow(request, timeoutMs)));
    request.stopWhenGone(stop);
    try {
      const { id: requestId, span } = request;
      const report = await scan(source, { account, maxBytes, digestOf, requestId, span }, stop);
      request.note(noteOf(report));
      if (source.kind === "upload" && report.failure?.finding === findings.tooBig) throw tooBig(maxBytes);
      return { status: 200, json: render(report) };
    } finally {
      inTime();
    }
  };
}

/** As the synchronous API answers it. */
export function renderSyncResult(installation: Installation): ScanNowOptions["render"] {
  return (report) => fitSyncResult(renderResult(report), installation);
}

function realTimer(ms: number, fire: () => void): () => void {
  const timer = setTimeout(fire, ms);
  return () => clearTimeout(timer);
}

/** Whose fault it was decides the answer: a body that still trickles in is the client's. */
function tooSlow(request: ApiRequest, timeoutMs: number): Problem {
  const seconds = timeoutMs / 1000;
  if (request.bodyBegun && !request.bodyArrived) {
    return new Problem(408, "request_timeout", { message: `the body did not arrive within ${seconds} s` });
  }
  return new Problem(504, findings.timeout, {
    message: `no verdict within ${seconds} s`,
    hint: "use the asynchronous API for files that take longer",
  });
}
