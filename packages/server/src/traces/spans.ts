import type { LogFields } from "../log.ts";
import type { TraceContext } from "../model/trace-context.ts";

/**
 * What of the way of a file is told to a tracing system, for those who want that: nobody holds a `Spans` otherwise, and nothing is done
 * for it. A span carries what the log's line of the same thing says, under the names of OpenTelemetry's conventions where they have one,
 * and nothing else: `spanTable` is all there is.
 */
export interface Spans {
  /** Of a request, below the span that its headers name. */
  request(headers: Readonly<Record<string, string | undefined>>, fields: LogFields): Span;
  /** Below a span of another process, as it was kept; a trace of its own where nothing good was. `at`: when it began. */
  resume(name: SpanName, context: TraceContext | undefined, options: { fields: LogFields; at?: number }): Span;
}

export interface Span {
  /** Of the distributed trace. */
  readonly traceId: string;
  /** For who goes on with it in another process. */
  readonly context: TraceContext;
  /** The same for a request to others: nothing where none is to be sent. */
  readonly headers: Readonly<Record<string, string>>;
  child(name: SpanName, fields?: LogFields): Span;
  note(fields: LogFields): void;
  /** Once: what comes later is passed over. With an `error`, or a `status` or `failure` that is one, it has failed. */
  end(fields?: LogFields): void;
}

export type SpanName = keyof typeof spanTable;

interface SpanRow {
  /** `{…}` stands for an attribute. */
  name: string;
  kind: "server" | "producer" | "consumer" | "client" | "internal";
  /** One line for people. */
  doc: string;
  /** By the field of the log that each of them is. */
  attributes: Readonly<Record<string, string>>;
  /** The same in every such span. */
  fixed?: Readonly<Record<string, string>>;
}

const whose = { tenant: "lazaret.tenant", key: "lazaret.key" };
const file = {
  verdict: "lazaret.verdict",
  finding: "lazaret.finding",
  type: "lazaret.file.type",
  bytes: "file.size",
  cached: "lazaret.cached",
};
const server = { url: "url.full", host: "server.address", port: "server.port", status: "http.response.status_code" };
const jobs = { "messaging.destination.name": "jobs" };

/** Every span and every attribute; docs/traces.md is compared with it. */
export const spanTable = {
  request: {
    name: "{http.request.method} {http.route}",
    kind: "server",
    doc: "a request that needs an API key, until its answer is ready",
    attributes: {
      method: "http.request.method",
      route: "http.route",
      path: "url.path",
      status: "http.response.status_code",
      remote: "client.address",
      request_id: "lazaret.request.id",
      job_id: "lazaret.job.id",
      code: "error.type",
      ...whose,
    },
  },
  send: {
    name: "send jobs",
    kind: "producer",
    doc: "the job is written, until it is durable; kept with the job, so that all its runs are below it",
    attributes: { job_id: "messaging.message.id" },
    fixed: { ...jobs, "messaging.operation.name": "send", "messaging.operation.type": "send" },
  },
  queue: {
    name: "queue",
    kind: "internal",
    doc: "the job waits, from when it was due until a worker took it",
    attributes: { job_id: "messaging.message.id", attempt: "lazaret.attempt" },
    fixed: jobs,
  },
  process: {
    name: "process jobs",
    kind: "consumer",
    doc: "one run of a job, until it is settled",
    attributes: {
      job_id: "messaging.message.id",
      trace_id: "lazaret.trace_id",
      source: "lazaret.source",
      attempt: "lazaret.attempt",
      settlement: "lazaret.settlement",
      suspect: "lazaret.suspect",
      action: "lazaret.action",
      delivered: "lazaret.delivered",
      ...whose,
      ...file,
    },
    fixed: { ...jobs, "messaging.operation.name": "process", "messaging.operation.type": "process" },
  },
  download: {
    name: "GET",
    kind: "client",
    doc: "a file is fetched by its URL, redirects included, until its last byte was read",
    attributes: { ...server, failure: "error.type" },
    fixed: { "http.request.method": "GET" },
  },
  object: {
    name: "read object",
    kind: "client",
    doc: "the same of an object in a bucket",
    attributes: { source: "lazaret.source", failure: "error.type" },
  },
  scan: {
    name: "scan",
    kind: "internal",
    doc: "engines see the bytes, as they arrive, until their verdict",
    attributes: { ...file, failure: "error.type" },
  },
  finish: {
    name: "finish",
    kind: "internal",
    doc: "the object is tagged or deleted, the result kept and announced",
    attributes: {},
  },
  callback: {
    name: "POST",
    kind: "client",
    doc: "one POST to a receiver, from when there is room for it",
    attributes: { ...server, attempt: "lazaret.attempt", retry: "http.request.resend_count", code: "error.type" },
    fixed: { "http.request.method": "POST" },
  },
} satisfies Record<string, SpanRow>;

/** What spans say of a link: nothing after its path, which may be a secret, nor a user or password. */
export function linkFields(link: string): LogFields {
  const url = URL.parse(link);
  if (!url) return {};
  const port = Number(url.port) || (url.protocol === "https:" ? 443 : 80);
  return { url: `${url.origin}${url.pathname}`, host: url.hostname, port };
}

type Headers = Readonly<Record<string, string>>;

/** What a request to others says of its span. Nothing where the client has such a header of its own: half of each would be neither. */
export function traceHeaders({ headers }: Pick<Span, "headers">, client: Headers): Headers {
  const hasOwn = Object.keys(client).some((name) => /^trace(?:parent|state)$/i.test(name));
  return hasOwn ? {} : headers;
}

/** Runs something within a span, if there is one. */
export function inSpan<T>(span: Span | undefined, work: () => Promise<T>): Promise<T> {
  return span ? spanned(span, work) : work();
}

async function spanned<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    const done = await work();
    span.end();
    return done;
  } catch (error) {
    span.end({ error: error instanceof Error ? error.message : String(error) });
    throw error;
  }
}
