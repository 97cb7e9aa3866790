import { randomUUID } from "node:crypto";
import type { LogFields } from "../log.ts";
import type { Span } from "../traces/spans.ts";

/** Which of the two dialects of the API a request is written in: see dialect.ts. */
export type Dialect = "spec" | "family";

/**
 * A request and its answer without the server that carries them, so that the same receive code also runs behind
 * something that is not node:http.
 */
export interface ApiRequest {
  readonly id: string;
  readonly method: string;
  /** The client's address; of a proxy that is not trusted, the proxy's. */
  readonly remote: string;
  /** Without the query, slashes collapsed. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Parts of the path that its route has names for, decoded; set when the route is found. */
  params?: Readonly<Record<string, string>>;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The announced length; undefined when chunked, 0 when there is no body. */
  readonly contentLength: number | undefined;
  /** The body's bytes, to be read once. A client that waits for 100 Continue gets it at the first read. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Somebody has begun to read the body. */
  readonly bodyBegun: boolean;
  /** The body has arrived to its end. */
  readonly bodyArrived: boolean;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
  /** Then aborts this one, too, for the same reason: at less cost than by listening to the signal. */
  stopWhenGone(stop: AbortController): void;
  /** Adds to the request's one log line. */
  note(fields: LogFields): void;
  /** Where there are traces; set when the route is found. */
  span?: Span | undefined;
}

/** What the log says of a request whose client did not wait for the answer. */
export const CLIENT_GONE = 499;

export interface Answer {
  status: number;
  /** Asked for so often, by machines, that the log is better without it. */
  routine?: boolean;
  /** The name of the endpoint that answered; none where there is nothing. */
  endpoint?: string | undefined;
  headers?: Readonly<Record<string, string>>;
  /** Sent as application/json. */
  json?: unknown;
  /** Sent as text/html. */
  html?: string;
  /** Sent as text/plain, unless the headers say otherwise. */
  text?: string;
  /** Sent as it is: made once, for all who ask. */
  rendered?: { type: string; content: Buffer };
  /**
   * Sent as application/octet-stream, unless the headers say otherwise; chunked where its length is not known. When it fails on the
   * way the connection is cut, so that no part is taken for all.
   */
  stream?: { bytes: AsyncIterable<Uint8Array>; length?: number };
  /**
   * Sent as text/event-stream, each text as it comes, for as long as there are any. Ended when the client goes or the server drains; a
   * client that leaves too much of it unread is cut off.
   */
  events?: AsyncIterable<string>;
}

interface Body {
  type: string;
  content: string | Buffer;
}

/** An answer's body with its type; undefined when it has none, or is streamed. */
export function answerBody(answer: Answer): Body | undefined {
  if (answer.rendered) return answer.rendered;
  if (answer.json !== undefined)
    return { type: "application/json; charset=utf-8", content: JSON.stringify(answer.json) };
  if (answer.html !== undefined) return { type: "text/html; charset=utf-8", content: answer.html };
  if (answer.text !== undefined) return { type: "text/plain; charset=utf-8", content: answer.text };
  return undefined;
}

/** The same answer as bytes: for one that many ask for, which then costs no memory for each of them. */
export function renderedOnce(answer: Answer): Answer {
  const body = answerBody(answer);
  if (!body) return answer;
  const { status, headers = {} } = answer;
  return { status, headers, rendered: { type: body.type, content: Buffer.from(body.content) } };
}

/** As nearly all of them are. */
const PLAIN_PATH = /^(?:\/[\w.-]+)+$/;

/** `/path?query`, or the same after `http://host` as a proxy's client sends it. Slashes are collapsed. */
export function requestTarget(target: string): { path: string; query: string } {
  if (PLAIN_PATH.test(target)) return { path: target, query: "" };
  const local = target.replace(/^https?:\/\/[^/?#]*/i, "");
  const queryAt = local.indexOf("?");
  const path = queryAt === -1 ? local : local.slice(0, queryAt);
  return { path: `/${path}`.replace(/\/{2,}/g, "/"), query: queryAt === -1 ? "" : local.slice(queryAt + 1) };
}

/** Headers that may stand once only: two of them are as good as none. */
export const ONCE_ONLY: ReadonlySet<string> = new Set(["host", "authorization", "content-type", "content-encoding"]);

/** The client's own id of its request (X-Request-Id), or a new one. */
export function requestId(offered: string | readonly string[] | undefined): string {
  return typeof offered === "string" && /^[\w.-]{1,64}$/.test(offered) ? offered : randomUUID();
}
