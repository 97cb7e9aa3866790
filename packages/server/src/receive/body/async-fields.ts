import { type AsyncRequest, CUSTOM_DATA_MAX_BYTES } from "@lazaret/contract";
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
  if (custom_data !== undefined && Buffer.byteLength(custom_data) > CUSTOM_DATA_MAX_BYTES) {
    throw badRequest("custom_data_too_large", `custom_data has more than ${CUSTOM_DATA_MAX_BYTES} bytes of UTF-8`);
  }
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

/** Length is the schema's business. */
export function checkTraceId(traceId: string): void {
  if (!traceId.isWellFormed()) {
    throw badRequest("invalid_trace_id", "trace_id has half a character, which no URL can carry");
  }
  for (const character of traceId) {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20 || (code >= 0x7f && code < 0xa0)) {
      throw badRequest("invalid_trace_id", "trace_id has a control character");
    }
  }
}

function checkCallbackUrl(url: string, { checkCallback, allowHttpCallbacks }: AsyncFieldsOptions): void {
  const destination = checkCallback(url);
  if (destination.kind === "invalid") throw badRequest("invalid_callback_url", destination.message);
  if (/^http:/i.test(url) && !allowHttpCallbacks) {
    throw badRequest(
      "invalid_callback_url",
      "callback_url is plain http",
      "use https, or let an operator set LAZARET_ALLOW_HTTP_CALLBACKS=true",
    );
  }
  if (destination.kind === "blocked") throw blocked(destination.message, "LAZARET_ALLOW_CALLBACK");
}
