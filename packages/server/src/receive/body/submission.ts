import {
  type AsyncRequest,
  checkHeaders,
  customDataProblem,
  type HeaderMap,
  isPlainHttp,
  objectProblem,
  type SyncDownloadRequest,
  type SyncObjectRequest,
  traceIdProblem,
} from "@lazaret/contract";
import type { Tenant } from "../../access/access-store.ts";
import { mayUseBucket } from "../../access/known-keys.ts";
import type { Submission } from "../../model/job.ts";
import type { ObjectSource, UrlSource } from "../../model/source.ts";
import { badRequest, Problem } from "../problem.ts";
import type { Caller } from "../route.ts";

/**
 * From the fields of a checked body to what is to be scanned and where the result goes. The rules of the fields are the
 * contract's; here each gets its code and its hint.
 */

/** What can be said of an address at once, without resolving it. */
export type CheckDestination = (
  url: string,
) => { kind: "allowed"; url: URL } | { kind: "invalid"; message: string } | { kind: "blocked"; message: string };

/** What is wrong with the names of an object, for people; undefined when such an object could exist. */
export type CheckObject = (object: { bucket: string; key: string; version?: string }) => string | undefined;

/** The source that download_url and download_headers name. */
export function urlSource(body: SyncDownloadRequest, checkDestination: CheckDestination): UrlSource {
  const destination = checkDestination(body.download_url);
  if (destination.kind === "invalid") throw badRequest("invalid_download_url", destination.message);
  if (destination.kind === "blocked") throw blocked(destination.message, "LAZARET_ALLOW");
  return { kind: "url", url: body.download_url, headers: clientHeaders(body.download_headers, "download_headers") };
}

/** The source that bucket, key and version name. One of a bucket that the tenant may not use is accepted as any other, and not found. */
export function objectSource(
  { bucket, key, version }: SyncObjectRequest,
  checkObject: CheckObject,
  tenant: Tenant,
): ObjectSource {
  const object = { bucket, key, ...(version !== undefined && { version }) };
  const problem = objectProblem(object) ?? checkObject(object);
  if (problem) {
    throw badRequest("invalid_object", problem, "name an object by its bucket and key as the object storage does");
  }
  return { kind: "object", ...object, ...(!mayUseBucket(tenant, bucket) && { closed: true }) };
}

export interface ReplyRules {
  checkCallback: CheckDestination;
  /** Plain http is for trying it out: a callback may carry the receiver's credentials. */
  allowHttpCallbacks: boolean;
  /** Part of what is signed for callers who speak the other dialect. */
  tenantIdOf(tenant: string): string;
}

/** What a client says about the answer to an asynchronous job. */
export type ReplyOptions = Pick<Submission, "traceId" | "customData" | "callback">;

export function replyOptions(
  body: AsyncRequest,
  rules: ReplyRules,
  caller: Pick<Caller, "account" | "dialect">,
): ReplyOptions {
  const { account, dialect } = caller;
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
  if (callback_url !== undefined) checkCallbackUrl(callback_url, rules);
  const headers = clientHeaders(callback_headers, "callback_headers");
  return {
    ...(trace_id !== undefined && { traceId: trace_id }),
    ...(custom_data !== undefined && { customData: custom_data }),
    ...(callback_url !== undefined && {
      callback: {
        url: callback_url,
        headers,
        ...(dialect === "family" && { tenantId: rules.tenantIdOf(account.tenant) }),
      },
    }),
  };
}

export function checkTraceId(traceId: string): void {
  const problem = traceIdProblem(traceId);
  if (problem) throw badRequest("invalid_trace_id", `trace_id ${problem}`);
}

/** Answered at once where there is no way out, so that nobody waits for a download that cannot be. */
export function downloadsDisabled(): Problem {
  return new Problem(403, "downloads_disabled", {
    message: "this installation does not scan files by their URL",
    hint: "scan an object in a bucket, or upload the file; an operator can allow downloads with LAZARET_DOWNLOADS=true",
  });
}

/** Job after job is called back at the same URL. */
let lastAllowed: { url: string; rules: ReplyRules } | undefined;

/** Throws the 400 problem for an address that results may not be posted to. */
export function checkCallbackUrl(url: string, rules: ReplyRules): void {
  if (lastAllowed?.url === url && lastAllowed.rules === rules) return;
  const { checkCallback, allowHttpCallbacks } = rules;
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
  lastAllowed = { url, rules };
}

function clientHeaders(headers: Record<string, string> | undefined, where: HeaderMap): Record<string, string> {
  if (!headers) return {};
  const checked = checkHeaders(headers, where);
  if (checked.kind === "invalid") throw badRequest("invalid_header", checked.message, checked.hint);
  return checked.headers;
}

function blocked(message: string, settings: "LAZARET_ALLOW" | "LAZARET_ALLOW_CALLBACK"): Problem {
  return badRequest(
    "blocked_destination",
    message,
    `use http or https to a public address and a usual port; an operator can open networks with ${settings}_NETWORKS and single hosts and ports with ${settings}_HOSTS`,
  );
}
