import type { Log, LogFields } from "../log.ts";
import { STATUS_CODES } from "../net/node-http.ts";
import { type Answer, type ApiRequest, answerBody, ONCE_ONLY, requestId, requestTarget } from "./request-answer.ts";

export interface LambdaHandlerOptions {
  /** Answers every request; never throws. */
  handle(request: ApiRequest): Promise<Answer>;
  log: Log;
}

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
      endpoint: answer.endpoint,
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
  const repeated = [...ONCE_ONLY].some((name) => (incoming.headers.get(name)?.length ?? 0) > 1);
  const bytes = incoming.body;
  let bodyBegun = false;
  return {
    id: requestId(headers["x-request-id"]),
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
    stopWhenGone: () => {},
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

/** What API Gateway (payload 2.0), a function URL or an application load balancer sends, as far as we read it. */
export type LambdaEvent = HttpApiEvent | LoadBalancerEvent;

/** API Gateway's HTTP API with payload 2.0, and function URLs. */
interface HttpApiEvent {
  version: "2.0";
  rawPath: string;
  rawQueryString: string;
  headers?: Readonly<Record<string, string>>;
  requestContext: {
    stage?: string;
    requestId?: string;
    http: { method: string; sourceIp?: string };
  };
  body?: string;
  isBase64Encoded?: boolean;
}

interface LoadBalancerEvent {
  requestContext: { elb: object };
  httpMethod: string;
  path: string;
  /** As they stood in the URL: nothing is decoded. */
  queryStringParameters?: Readonly<Record<string, string>>;
  multiValueQueryStringParameters?: Readonly<Record<string, readonly string[]>>;
  headers?: Readonly<Record<string, string>>;
  multiValueHeaders?: Readonly<Record<string, readonly string[]>>;
  body?: string;
  isBase64Encoded?: boolean;
}

export interface LambdaResult {
  statusCode: number;
  statusDescription?: string;
  headers?: Record<string, string>;
  multiValueHeaders?: Record<string, string[]>;
  body: string;
  isBase64Encoded: boolean;
}

/** One request, whichever of them sent it. */
interface LambdaRequest {
  method: string;
  path: string;
  /** Without the question mark. */
  query: string;
  /** Names in lower case. More than one value of a name: all of them. */
  headers: ReadonlyMap<string, readonly string[]>;
  body: Uint8Array;
  remote: string | undefined;
}

function lambdaRequest(event: LambdaEvent): LambdaRequest {
  const body = Buffer.from(event.body ?? "", event.isBase64Encoded ? "base64" : "utf8");
  if (isLoadBalancer(event)) {
    const headers = headerMap(event.multiValueHeaders ?? valueLists(event.headers));
    const lists = event.multiValueQueryStringParameters ?? valueLists(event.queryStringParameters);
    const query = Object.entries(lists).flatMap(([name, values]) => values.map((value) => `${name}=${value}`));
    const remote = headers.get("x-forwarded-for")?.at(-1)?.split(",").at(-1)?.trim();
    return { method: event.httpMethod, path: event.path, query: query.join("&"), headers, body, remote };
  }
  const { http } = event.requestContext;
  return {
    method: http.method,
    path: withoutStage(event.rawPath, event.requestContext.stage),
    query: event.rawQueryString,
    headers: headerMap(valueLists(event.headers)),
    body,
    remote: http.sourceIp,
  };
}

function isLoadBalancer(event: LambdaEvent): event is LoadBalancerEvent {
  return "elb" in event.requestContext;
}

/** A stage that has a name stands at the front of the path. */
function withoutStage(path: string, stage = "$default"): string {
  if (stage === "$default" || !path.startsWith(`/${stage}/`)) return path;
  return path.slice(stage.length + 1);
}

function valueLists(values: Readonly<Record<string, string>> = {}): Record<string, readonly string[]> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, [value]]));
}

function headerMap(lists: Readonly<Record<string, readonly string[]>>): Map<string, readonly string[]> {
  const headers = new Map<string, readonly string[]>();
  for (const [name, values] of Object.entries(lists)) {
    const key = name.toLowerCase();
    headers.set(key, [...(headers.get(key) ?? []), ...values]);
  }
  return headers;
}
