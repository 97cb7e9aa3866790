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

export interface LoadBalancerEvent {
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
export interface LambdaRequest {
  method: string;
  path: string;
  /** Without the question mark. */
  query: string;
  /** Names in lower case. More than one value of a name: all of them. */
  headers: ReadonlyMap<string, readonly string[]>;
  body: Uint8Array;
  remote: string | undefined;
}

export function lambdaRequest(event: LambdaEvent): LambdaRequest {
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

export function isLoadBalancer(event: LambdaEvent): event is LoadBalancerEvent {
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
