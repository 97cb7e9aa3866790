import { randomUUID } from "node:crypto";
import { STATUS_CODES } from "node:http";
import type { Log, LogFields } from "../../log.ts";
import type { Answer, ApiRequest } from "../exchange.ts";
import { answerBody } from "../http/answer-body.ts";
import { requestTarget } from "../http/request-target.ts";
import {
  isLoadBalancer,
  type LambdaEvent,
  type LambdaRequest,
  type LambdaResult,
  lambdaRequest,
} from "./lambda-event.ts";

export interface LambdaHandlerOptions {
  /** Answers every request; never throws. */
  handle(request: ApiRequest): Promise<Answer>;
  log: Log;
}

/** Headers that may stand once only: two of them are as good as none. */
const ONCE_ONLY = ["host", "authorization", "content-type", "content-encoding"];

/** The same receive code behind API Gateway, a function URL or a load balancer. */
export function lambdaHandler({ handle, log }: LambdaHandlerOptions): (event: LambdaEvent) => Promise<LambdaResult> {
  return async (event) => {
    const started = performance.now();
    const notes: Record<string, LogFields[string]> = {};
    const incoming = lambdaRequest(event);
    const request = apiRequest(incoming, notes);
    const answer = await handle(request);
    const say = answer.routine ? log.debug : log;
    say("request", {
      request_id: request.id,
      method: request.method,
      path: request.path,
      status: answer.status,
      ms: Math.round((performance.now() - started) * 10) / 10,
      remote: incoming.remote,
      ...notes,
    });
    return result(answer, request, event);
  };
}

function apiRequest(incoming: LambdaRequest, notes: Record<string, LogFields[string]>): ApiRequest {
  const { path, query } = requestTarget(`${incoming.path}${incoming.query === "" ? "" : `?${incoming.query}`}`);
  const headers: Record<string, string | undefined> = {};
  for (const [name, values] of incoming.headers) headers[name] = values.join(", ");
  const repeated = ONCE_ONLY.some((name) => (incoming.headers.get(name)?.length ?? 0) > 1);
  const offeredId = headers["x-request-id"];
  const bytes = incoming.body;
  let bodyBegun = false;
  return {
    id: offeredId !== undefined && /^[\w.-]{1,64}$/.test(offeredId) ? offeredId : randomUUID(),
    method: incoming.method,
    remote: incoming.remote ?? "",
    path,
    query: new URLSearchParams(query),
    headers: { ...headers, host: repeated ? undefined : headers.host },
    contentLength: bytes.length,
    body: (async function* () {
      bodyBegun = true;
      if (bytes.length > 0) yield bytes;
    })(),
    get bodyBegun() {
      return bodyBegun;
    },
    bodyArrived: true,
    // Nobody hangs up on a function.
    signal: new AbortController().signal,
    note: (fields) => void Object.assign(notes, fields),
  };
}

function result(answer: Answer, request: ApiRequest, event: LambdaEvent): LambdaResult {
  const body = answerBody(answer);
  const headers: Record<string, string> = {
    "X-Request-Id": request.id,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    ...(body && { "Content-Type": body.type }),
    ...(answer.status !== 204 && { "Content-Length": String(body ? Buffer.byteLength(body.content) : 0) }),
    ...answer.headers,
  };
  const content = { body: request.method === "HEAD" ? "" : (body?.content.toString() ?? ""), isBase64Encoded: false };
  if (!isLoadBalancer(event)) return { statusCode: answer.status, headers, ...content };
  const statusDescription = `${answer.status} ${STATUS_CODES[answer.status] ?? ""}`.trim();
  const status = { statusCode: answer.status, statusDescription };
  if (!event.multiValueHeaders) return { ...status, headers, ...content };
  const multiValueHeaders = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
  return { ...status, multiValueHeaders, ...content };
}
