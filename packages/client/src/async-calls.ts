import type { CallOptions, Send } from "./http/send.ts";
import { jsonBody, resultIn } from "./json-call.ts";
import type { ScanResult } from "./result.ts";
import { type DownloadTarget, downloadFields, type ObjectTarget, objectFields } from "./sync-calls.ts";
import type { AsyncDownloadRequest, AsyncObjectRequest, AsyncRequest } from "./wire.ts";

/** What a job may say about its answer. */
export interface JobOptions {
  /** Your name for the job, to poll with. A random one is made when not given. */
  traceId?: string | undefined;
  /** Where the result is POSTed to. */
  callbackUrl?: string | URL | undefined;
  /** Sent with the callback. */
  callbackHeaders?: Readonly<Record<string, string>> | undefined;
  /** Comes back unchanged in the callback. At most 16 KB of UTF-8. */
  customData?: string | undefined;
}

/** A job that is on the server's disk. */
export interface Submission {
  traceId: string;
}

/** Jobs that are queued, and results that are fetched later or come as callbacks. */
export interface AsyncCalls {
  download(job: DownloadTarget & JobOptions, options?: CallOptions): Promise<Submission>;
  object(job: ObjectTarget & JobOptions, options?: CallOptions): Promise<Submission>;
  /** Undefined while there is none: unfinished, older than 24 hours, or unknown. */
  result(traceId: string, options?: CallOptions): Promise<ScanResult | undefined>;
}

export function asyncCalls(send: Send): AsyncCalls {
  async function submit(path: string, fields: AsyncFields, options: CallOptions): Promise<Submission> {
    await send({ method: "POST", path, body: jsonBody(fields), expect: [201, 204], makesJob: true }, options);
    return { traceId: fields.trace_id };
  }

  return {
    download: (job, options = {}) =>
      submit("/api/v1/scan/async/download", { ...downloadFields(job), ...answerFields(job) }, options),
    object: (job, options = {}) =>
      submit("/api/v1/scan/async/objstore", { ...objectFields(job), ...answerFields(job) }, options),
    async result(traceId, options = {}) {
      const path = `/api/v1/scan/async/result?trace_id=${encodeURIComponent(traceId)}`;
      const answer = await send({ method: "GET", path, expect: [200, 404] }, options);
      return answer.status === 404 ? undefined : resultIn(answer);
    },
  };
}

type AsyncFields = (AsyncDownloadRequest | AsyncObjectRequest) & { trace_id: string };

function answerFields(job: JobOptions): AsyncRequest & { trace_id: string } {
  const { traceId, callbackUrl, callbackHeaders, customData } = job;
  return {
    trace_id: traceId ?? crypto.randomUUID(),
    ...(callbackUrl !== undefined && { callback_url: String(callbackUrl) }),
    ...(callbackHeaders && { callback_headers: { ...callbackHeaders } }),
    ...(customData !== undefined && { custom_data: customData }),
  };
}
