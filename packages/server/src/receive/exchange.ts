import type { LogFields } from "../log.ts";

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
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The announced length; undefined when chunked, 0 when there is no body. */
  readonly contentLength: number | undefined;
  /** The body's bytes, to be read once. A client that waits to be told to go on is told so at the first read. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Somebody has begun to read the body. */
  readonly bodyBegun: boolean;
  /** The body has arrived to its end. */
  readonly bodyArrived: boolean;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
  /** Adds to the request's one log line. */
  note(fields: LogFields): void;
}

export interface Answer {
  status: number;
  /** Asked for so often, by machines, that the log is better without it. */
  routine?: boolean;
  headers?: Readonly<Record<string, string>>;
  /** Sent as application/json. */
  json?: unknown;
  /** Sent as text/html. */
  html?: string;
  /** Sent as text/plain, unless the headers say otherwise. */
  text?: string;
  /** Sent as it is: made once, for all who ask. */
  rendered?: { type: string; content: Buffer };
  /** Sent as application/octet-stream. When it fails on the way the connection is cut, so that no part is taken for all. */
  stream?: { bytes: AsyncIterable<Uint8Array>; length: number };
}

/** How a request is written: see dialect.ts. */
export type Dialect = "spec" | "family";
