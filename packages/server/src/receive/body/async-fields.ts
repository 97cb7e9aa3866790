import { type AsyncRequest, customDataProblem, isPlainHttp, traceIdProblem } from "@lazaret/contract";
import type { Callback } from "../../model/job.ts";
import type { Dialect } from "../dialect.ts";
import { badRequest } from "../problem.ts";
import { blocked, type CheckDestination, clientHeaders } from "./download-fields.ts";

export interface AsyncFieldsOptions {
  checkCallback: CheckDestination;
  /** Plain http is for trying it out: a callback may carry the receiver's credentials. */
  allowHttpCallbacks: boolean;
  /** Part of what is signed for callers who speak the other dialect. */
  tenantId: string;
}

/** What a client says about the answer to an asynchronous job. */
export interface AnswerWish {
  traceId?: string;
  customData?: string;
  callback?: Callback;
}

export function answerWish(body: AsyncRequest, options: AsyncFieldsOptions, dialect: Dialect): AnswerWish {
  const { callback_url, callback_headers, trace_id, custom_data } = body;
  if (callback_url === undefined && trace_id === undefined) {
    throw badRequest(
      "trace_id_required",
      "there is neither a callback_url nor a trace_id",
      "send a callback_url to be told the result, or a trace_id to poll for it",
    );
  }
  if (trace_id !== undefined) checkTraceId(trace_id);
  const problem = custom_data === undefined ? undefined : customDataProblem(custom_data);
  if (problem) throw badRequest("custom_data_too_large", `custom_data ${problem}`);
  if (callback_url !== undefined) checkCallbackUrl(callback_url, options);
  const headers = clientHeaders(callback_headers, "callback_headers");
  return {
    ...(trace_id !== undefined && { traceId: trace_id }),
    ...(custom_data !== undefined && { customData: custom_data }),
    ...(callback_url !== undefined && {
      callback: { url: callback_url, headers, ...(dialect === "family" && { tenantId: options.tenantId }) },
    }),
  };
}

export function checkTraceId(traceId: string): void {
  const problem = traceIdProblem(traceId);
  if (problem) throw badRequest("invalid_trace_id", `trace_id ${problem}`);
}

function checkCallbackUrl(url: string, { checkCallback, allowHttpCallbacks }: AsyncFieldsOptions): void {
  const destination = checkCallback(url);
  if (destination.kind === "invalid") throw badRequest("invalid_callback_url", destination.message);
  if (isPlainHttp(url) && !allowHttpCallbacks) {
    throw badRequest(
      "invalid_callback_url",
      "callback_url is plain http",
      "use https, or let an operator set LAZARET_ALLOW_HTTP_CALLBACKS=true",
    );
  }
  if (destination.kind === "blocked") throw blocked(destination.message, "LAZARET_ALLOW_CALLBACK");
}
