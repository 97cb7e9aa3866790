import {
  type AsyncDownloadRequest,
  type AsyncObjectRequest,
  asyncDownloadSchema,
  asyncObjectSchema,
  fitAsyncResult,
  type Installation,
  scanResultSchema,
  traceIdSchema,
} from "@lazaret/contract";
import { type Job, newJob, type Submission } from "../model/job.ts";
import type { Report } from "../model/report.ts";
import type { ObjectRef } from "../model/source.ts";
import type { Trace } from "../model/tenant.ts";
import { inSpan, type Span } from "../traces/spans.ts";
import { checkBody, readJsonObject } from "./body/json-body.ts";
import { requireFeatures } from "./body/required-features.ts";
import {
  type CheckDestination,
  type CheckObject,
  checkTraceId,
  downloadsDisabled,
  objectSource,
  type ReplyOptions,
  type ReplyRules,
  replyOptions,
  urlSource,
} from "./body/submission.ts";
import { pathIn } from "./dialect.ts";
import { badRequest, Problem } from "./problem.ts";
import { renderResult } from "./render-result.ts";
import type { Answer, ApiRequest, Dialect } from "./request-answer.ts";
import { type Caller, type Endpoint, type Handle, largestFile, type RouteDoc } from "./route.ts";

export interface AsyncHandlersOptions extends ReplyRules {
  submit: SubmitJob;
  checkDestination: CheckDestination;
  installation: Installation;
  /** False where files are not scanned by their URL. */
  downloads: boolean;
  checkObject: CheckObject;
  /** Where an object can be read, without what lets one in: callbacks say it. */
  objectAddress(object: ObjectRef): Promise<string>;
  /** Undefined while unfinished, unknown, or older than 24 hours. */
  findResult(trace: Trace): Promise<Report | undefined>;
}

export const RESULT_PATH = "/api/v1/scan/async/result";

const submitted: Pick<RouteDoc, "description" | "success" | "successHeaders" | "also"> = {
  description: "Answers 204 when callback_url is given, else 201 with the `location` to poll.",
  success: { status: 201, description: "Accepted and durable; poll the `location`." },
  successHeaders: { Location: "Where the result will be." },
  also: { 204: "Accepted and durable; the result goes to the callback_url." },
};
const notKept = { message: "the job could not be kept, and was not accepted", hint: "submit it again" };
const notLookedUp = {
  message: "the result could not be looked up: the store cannot be reached",
  hint: "poll again; this says nothing about the job",
};
const submitErrors = {
  401: ["invalid_api_key"],
  413: ["body_too_large"],
  415: ["unsupported_media_type", "unsupported_encoding"],
  503: ["queue_unavailable"],
};
const replyErrors = [
  "invalid_callback_url",
  "blocked_destination",
  "invalid_header",
  "trace_id_required",
  "invalid_trace_id",
  "custom_data_too_large",
  "unsupported_by_engine",
];

type AsyncEndpoint = "asyncDownload" | "asyncObject" | "asyncResult";

export const asyncEndpoints: Record<AsyncEndpoint, Endpoint> = {
  asyncDownload: {
    work: "job",
    storeAway: notKept,
    doc: {
      group: "Asynchronous",
      summary: "Queue a download and scan",
      ...submitted,
      request: { contentType: "application/json", schema: asyncDownloadSchema },
      errors: {
        ...submitErrors,
        400: ["invalid_json", "invalid_request", "invalid_download_url", ...replyErrors],
        403: ["downloads_disabled"],
      },
      example: `curl -i -H "Authorization: Bearer $LAZARET_API_KEY" -H "Content-Type: application/json" -d '{"download_url": "https://files.example.com/report.pdf", "trace_id": "order-4711"}' $LAZARET_URL/api/v1/scan/async/download`,
    },
  },
  asyncObject: {
    work: "job",
    storeAway: notKept,
    doc: {
      group: "Asynchronous",
      summary: "Queue a scan of an object in a bucket",
      ...submitted,
      request: { contentType: "application/json", schema: asyncObjectSchema },
      errors: { ...submitErrors, 400: ["invalid_json", "invalid_request", "invalid_object", ...replyErrors] },
      example: `curl -i -H "Authorization: Bearer $LAZARET_API_KEY" -H "Content-Type: application/json" -d '{"bucket": "uploads", "key": "report.pdf", "trace_id": "order-4711"}' $LAZARET_URL/api/v1/scan/async/objstore`,
    },
  },
  asyncResult: {
    storeAway: notLookedUp,
    doc: {
      group: "Asynchronous",
      summary: "Poll for the result of a job",
      query: { trace_id: { description: "The ID used at submission.", schema: traceIdSchema, required: true } },
      success: { status: 200, description: "The scan result.", schema: scanResultSchema },
      errors: {
        400: ["invalid_trace_id", "unsupported_by_engine"],
        401: ["invalid_api_key"],
        404: ["not_found"],
        503: ["queue_unavailable"],
      },
      example: `curl -H "Authorization: Bearer $LAZARET_API_KEY" "$LAZARET_URL${RESULT_PATH}?trace_id=order-4711"`,
    },
  },
};

export function asyncHandlers(options: AsyncHandlersOptions): Record<AsyncEndpoint, Handle> {
  return {
    async asyncDownload(request, caller) {
      if (!options.downloads) throw downloadsDisabled();
      const body = checkBody<AsyncDownloadRequest>(await readJsonObject(request), asyncDownloadSchema);
      requireFeatures({ endpoint: "download", body }, options.installation);
      const source = urlSource(body, options.checkDestination);
      const reply = replyOptions(body, options, caller);
      const submission = { source, ...caller.account, ...reply, ...limitsOf(caller) };
      const job = await options.submit(submission, request.span);
      request.note({ job_id: job.id });
      return accepted(reply, caller.dialect);
    },
    async asyncObject(request, caller) {
      const body = checkBody<AsyncObjectRequest>(await readJsonObject(request), asyncObjectSchema);
      requireFeatures({ endpoint: "objstore", body }, options.installation);
      const source = objectSource(body, options.checkObject, caller.tenant);
      const reply = replyOptions(body, options, caller);
      if (reply.callback) source.address = await options.objectAddress(source);
      const submission = { source, ...caller.account, ...reply, ...limitsOf(caller) };
      const job = await options.submit(submission, request.span);
      request.note({ job_id: job.id });
      return accepted(reply, caller.dialect);
    },
    async asyncResult(request, { account: { tenant } }) {
      requireFeatures({ endpoint: "result" }, options.installation);
      const report = await options.findResult({ tenant, traceId: traceIdOf(request) });
      if (report) return { status: 200, json: fitAsyncResult(renderResult(report), options.installation) };
      throw new Problem(404, "not_found", {
        message: "there is no result for this trace_id",
        hint: "the scan is not finished, the result is older than 24 hours, or the trace_id is wrong",
      });
    },
  };
}

/** As it was when the job was submitted: workers need not know keys. */
function limitsOf(caller: Caller): Pick<Submission, "maxBytes" | "counted"> {
  const maxBytes = largestFile(caller);
  return { ...(maxBytes !== undefined && { maxBytes }), ...(caller.limitsJobs && { counted: true }) };
}

function accepted({ callback, traceId }: ReplyOptions, dialect: Dialect): Answer {
  if (callback !== undefined) return { status: 204 };
  const path = pathIn(dialect, RESULT_PATH);
  return { status: 201, headers: { Location: `${path}?trace_id=${encodeURIComponent(traceId ?? "")}` } };
}

function traceIdOf(request: ApiRequest): string {
  const [traceId, ...more] = request.query.getAll("trace_id");
  if (traceId === undefined || more.length > 0) {
    throw badRequest("invalid_trace_id", "the query has no trace_id, or more than one", "add ?trace_id=…");
  }
  checkBody({ trace_id: traceId }, { type: "object", properties: { trace_id: traceIdSchema }, required: [] });
  checkTraceId(traceId);
  return traceId;
}

export interface SubmitOptions {
  /** Resolves when the job is durable, and the newest submission of its trace id. */
  add(job: Job): Promise<void>;
  newId(): string;
  now(): number;
}

/** With the span of the request, if it has one. */
export type SubmitJob = (submission: Submission, span?: Span) => Promise<Job>;

/** From a checked request to a durable job. When this resolves, the job may be acknowledged: it is never lost. */
export function submitJob({ add, newId, now }: SubmitOptions): SubmitJob {
  return async (submission, requestSpan) => {
    const id = newId();
    const span = requestSpan?.child("send", { job_id: id });
    const traced = span ? { ...submission, traceContext: span.context } : submission;
    const job = newJob(traced, { id, submittedAt: now() });
    await inSpan(span, () => add(job));
    return job;
  };
}
