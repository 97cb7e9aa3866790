import {
  type AsyncDownloadRequest,
  type AsyncObjectRequest,
  type AsyncRequest,
  type Feature,
  type Installation,
  shortcoming,
  supports,
} from "@lazaret/contract";
import { badRequest } from "../problem.ts";

/** A request whose body has been checked, as far as it can ask for something an installation lacks. */
export type FeatureRequest =
  | { endpoint: "download"; body: AsyncDownloadRequest }
  | { endpoint: "objstore"; body: AsyncObjectRequest }
  | { endpoint: "result" };

export interface MissingFeature {
  feature: Feature;
  message: string;
  hint: string;
}

/** One feature, what the request calls it, and what a client can do without it. */
interface Asked {
  feature: Feature;
  subject: string;
  instead: string;
}

/** Throws the 400 of a request that asks for something the installation lacks. */
export function requireFeatures(request: FeatureRequest, installation: Installation): void {
  const missing = missingFeature(request, installation);
  if (missing) throw badRequest("unsupported_by_engine", missing.message, missing.hint);
}

/**
 * The first thing asked for that is not there; the API as a whole comes before its parts.
 * @internal tested by table
 */
export function missingFeature(request: FeatureRequest, installation: Installation): MissingFeature | undefined {
  for (const { feature, subject, instead } of asked(request)) {
    if (supports(installation, feature)) continue;
    const lack = shortcoming(installation, feature);
    if (!lack) continue;
    const message = `${subject} needs ${lack.needs}; this installation declares ${lack.declared}`;
    return { feature, message, hint: `${instead}, or let an operator attach a newer scanner installation` };
  }
  return undefined;
}

function asked(request: FeatureRequest): Asked[] {
  if (request.endpoint === "result") return [whole, polling];
  const { endpoint, body } = request;
  return [
    whole,
    body.callback_url === undefined ? polling : callback,
    ...(endpoint === "download" && body.download_headers !== undefined ? [downloadHeaders] : []),
    ...callbackHeaders(body, `async.${endpoint}.callback_headers`),
  ];
}

const whole: Asked = { feature: "async", subject: "the asynchronous API", instead: "use the synchronous API" };
const callback: Asked = { feature: "async.callbacks", subject: "a callback", instead: "use the synchronous API" };
const polling: Asked = { feature: "async.polling", subject: "polling", instead: "send a callback_url" };
const downloadHeaders: Asked = {
  feature: "async.download.download_headers",
  subject: "download_headers",
  instead: "leave download_headers out",
};

function callbackHeaders(body: AsyncRequest, feature: Feature): Asked[] {
  if (body.callback_headers === undefined) return [];
  return [{ feature, subject: "callback_headers", instead: "leave callback_headers out" }];
}
