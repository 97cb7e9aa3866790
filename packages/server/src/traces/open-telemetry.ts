// This file and exporter.ts import OpenTelemetry. They are loaded where traces are asked for, and nowhere else.
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import {
  type Attributes,
  type Context,
  createTraceState,
  DiagLogLevel,
  diag,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { setGlobalErrorHandler } from "@opentelemetry/core";
import { detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { saidLately } from "../flow/said-lately.ts";
import { timeLimit, unlessAborted } from "../flow/time-limit.ts";
import type { Log, LogFields } from "../log.ts";
import { type SpanPlace, spanPlace, traceContext } from "../model/trace-context.ts";
import { cutExporter } from "./exporter.ts";
import type { SamplerAsked, TracesAsked } from "./otel-environment.ts";
import { type Span, type SpanName, type Spans, spanTable } from "./spans.ts";

export interface Traces extends AsyncDisposable {
  spans: Spans;
  /** Sends what has ended by now, for a process that may be stopped at any moment. Never throws, and never takes long. */
  flush(): Promise<void>;
}

export interface TracesOptions extends TracesAsked {
  version: string;
  role: string;
  /** What jobs are kept in, by the name that OpenTelemetry has for it. */
  messagingSystem: string;
  log: Log;
}

/** Between the end of all else and the end of the process. */
const LAST_FLUSH_MS = 3000;
const FLUSH_MS = 1000;
/** A collector that was away is not waited for. */
const AWAY_MS = 60_000;

/** Nothing of it waits for the collector: spans wait in a queue with a bound, and beyond that they are dropped. */
export async function openTelemetry(options: TracesOptions): Promise<Traces> {
  const { version, log, batch } = options;
  let failedAt = Number.NEGATIVE_INFINITY;
  const said = saidLately();
  setGlobalErrorHandler((error) => {
    failedAt = performance.now();
    if (!said("not sent")) log.error("traces", { error: `spans could not be sent: ${wordsOf(error)}` });
  });
  diag.setLogger(
    {
      // Others tell of the environment, with values that may be secrets.
      warn: (message) => {
        if (/^(?:Dropped \d+|Failed to read) /.test(message) && !said(message.replace(/\d+/, "")))
          log.error("traces", { error: message });
      },
      error: () => {},
      info: () => {},
      debug: () => {},
      verbose: () => {},
    },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const { exporter, cut } = await cutExporter(options.protocol);
  const processor = new BatchSpanProcessor({ exporter, ...batch });
  const provider = new TracerProvider({
    sampler: samplerOf(options.sampler),
    spanLimits: { attributeValueLengthLimit: options.mostLetters },
    resource: resourceFromAttributes({
      "service.name": "lazaret",
      "service.version": version,
      "service.instance.id": randomUUID(),
      "host.name": hostname(),
      "process.pid": process.pid,
      "lazaret.role": options.role,
    }).merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [processor],
  });
  const tracer = provider.getTracer("lazaret", version);

  async function within(ms: number, work: () => Promise<void>): Promise<void> {
    using limit = timeLimit(ms);
    await unlessAborted(work(), limit.signal).catch((error) => {
      failedAt = performance.now();
      if (!said("not sent")) log.error("traces", { error: `spans could not be sent: ${wordsOf(error)}` });
    });
  }

  return {
    spans: spansOf(tracer, options),
    async flush() {
      if (performance.now() - failedAt > AWAY_MS) await within(FLUSH_MS, () => provider.forceFlush());
    },
    async [Symbol.asyncDispose]() {
      await within(LAST_FLUSH_MS, () => provider.shutdown());
      cut();
    },
  };
}

function wordsOf(error: unknown): string {
  const { message = "", code } = (Array.isArray(error) ? error[0] : error) as { message?: string; code?: unknown };
  return [code, message].filter((word) => word !== undefined && word !== "").join(" ") || "no answer";
}

function samplerOf({ parentBased, root, ratio }: SamplerAsked): Sampler {
  const samplers = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(ratio),
  };
  const sampler = samplers[root]();
  return parentBased ? new ParentBasedSampler({ root: sampler }) : sampler;
}

const kinds: Record<(typeof spanTable)[SpanName]["kind"], SpanKind> = {
  server: SpanKind.SERVER,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
};

function spansOf(tracer: Tracer, { propagate, messagingSystem }: TracesOptions): Spans {
  function start(name: SpanName, context: Context, { fields = {}, at }: { fields?: LogFields; at?: number }): Span {
    const row = spanTable[name];
    const attributes = attributesOf(name, fields);
    if ("fixed" in row) Object.assign(attributes, row.fixed);
    if (attributes["messaging.destination.name"] !== undefined) attributes["messaging.system"] = messagingSystem;
    const spoken = row.name.replace(/\{([\w.]+)\}/g, (_, attribute: string) =>
      String(attributes[attribute] ?? "_OTHER"),
    );
    const span = tracer.startSpan(
      spoken,
      { kind: kinds[row.kind], attributes, ...(at !== undefined && { startTime: at }) },
      context,
    );
    return opened(name, span, context);
  }

  function opened(name: SpanName, span: OtelSpan, above: Context): Span {
    const place = placeOf(span);
    const context = traceContext(place);
    let ended = false;
    return {
      traceId: place.traceId,
      context,
      headers: propagate ? { ...context } : {},
      child: (below, fields = {}) => start(below, trace.setSpan(above, span), { fields }),
      note: (fields) => void span.setAttributes(attributesOf(name, fields)),
      end(fields = {}) {
        if (ended) return;
        ended = true;
        span.setAttributes(attributesOf(name, fields));
        const failed = failureOf(name, fields);
        if (failed) span.setStatus(failed);
        span.end();
      },
    };
  }

  return {
    request: (headers, fields) =>
      start("request", propagate ? contextOf(spanPlace(headers)) : ROOT_CONTEXT, { fields }),
    resume: (name, kept, options) => start(name, contextOf(kept && spanPlace(kept)), options),
  };
}

/** Only what the table has: nothing else can get into a span. */
function attributesOf(name: SpanName, fields: LogFields): Attributes {
  const names: Readonly<Record<string, string>> = spanTable[name].attributes;
  const attributes: Attributes = {};
  for (const [field, value] of Object.entries(fields)) {
    const attribute = Object.hasOwn(names, field) ? names[field] : undefined;
    if (attribute !== undefined && value !== undefined) attributes[attribute] = value;
  }
  return attributes;
}

/** A client's mistake is not the server's failure; what a server says to us from 400 on is one. */
function failureOf(name: SpanName, fields: LogFields): Status | undefined {
  const { kind, attributes } = spanTable[name];
  const { error, status } = fields;
  const worst = kind === "server" ? 500 : 400;
  const why = kind === "server" ? undefined : ["failure", "code"].find((each) => each in attributes && fields[each]);
  if (error === undefined && why === undefined && !(Number(status) >= worst)) return undefined;
  return { code: SpanStatusCode.ERROR, ...(error !== undefined && { message: String(error) }) };
}

type Status = { code: SpanStatusCode; message?: string };

function placeOf(span: OtelSpan): SpanPlace {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  const tracestate = traceState?.serialize();
  return { traceId, spanId, sampled: (traceFlags & TraceFlags.SAMPLED) !== 0, ...(tracestate && { tracestate }) };
}

function contextOf(place: SpanPlace | undefined): Context {
  if (!place) return ROOT_CONTEXT;
  const { traceId, spanId, sampled, tracestate } = place;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
    ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }),
  });
}
