type Environment = Readonly<Record<string, string | undefined>>;

/** What the variables of OpenTelemetry ask for, as far as its packages do not read them themselves. */
export interface TracesAsked {
  protocol: "http/protobuf" | "http/json";
  /** For people: without what may be a secret. */
  endpoint: string;
  sampler: SamplerAsked;
  /** `traceparent` is taken from requests, and may be sent to others. */
  propagate: boolean;
  batch: {
    maxQueueSize: number;
    maxExportBatchSize: number;
    scheduledDelayMillis: number;
    exportTimeoutMillis: number;
  };
  /** Of one value of an attribute. */
  mostLetters: number;
  /** What was asked for and is not done. */
  passedOver: readonly string[];
}

export interface SamplerAsked {
  parentBased: boolean;
  root: "always_on" | "always_off" | "traceidratio";
  /** From 0 to 1, for `traceidratio`. */
  ratio: number;
}

export type ReadTraces =
  | { kind: "off" }
  /** They are asked for in a way that there is none for: the service goes on without them. */
  | { kind: "refused"; error: string; hint: string }
  | ({ kind: "on" } & TracesAsked);

const ENDPOINTS = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
const USUAL_ENDPOINT = "http://localhost:4318/v1/traces";
const MOST_LETTERS = 1024;
/** More than this would be the service's memory. */
const MOST_SPANS = 100_000;
const LONGEST_MS = 600_000;

/** Traces are wanted where an endpoint or the exporter `otlp` is set. A variable that is set to nothing is not set. */
export function readTraces(env: Environment): ReadTraces {
  const get = (name: string): string | undefined => env[name]?.trim() || undefined;
  const first = (...names: string[]): string | undefined => names.map(get).find((value) => value !== undefined);
  const exporters = listOf(get("OTEL_TRACES_EXPORTER"));
  const given = first(...ENDPOINTS);
  if (get("OTEL_SDK_DISABLED")?.toLowerCase() === "true" || exporters.includes("none")) return { kind: "off" };
  if (given === undefined && !exporters.includes("otlp")) {
    const [other] = exporters;
    return other === undefined
      ? { kind: "off" }
      : refused(`OTEL_TRACES_EXPORTER is ${other}`, "set it to otlp or none");
  }
  const protocol = first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL") ?? "http/protobuf";
  if (protocol !== "http/protobuf" && protocol !== "http/json") {
    const hint = "set OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf or http/json; collectors take both on port 4318";
    return refused(`the OTLP protocol ${protocol} is not spoken here`, hint);
  }
  const endpoint = given === undefined ? USUAL_ENDPOINT : endpointForPeople(given);
  if (endpoint === undefined) {
    return refused("the OTLP endpoint is not an http or https address", "set it as http://collector:4318");
  }

  const passedOver: string[] = [];
  const number = (name: string, usual: number, { from = 1, to = LONGEST_MS } = {}): number => {
    const text = get(name);
    if (text === undefined) return usual;
    if (/^\d+$/.test(text) && Number(text) >= from && Number(text) <= to) return Number(text);
    passedOver.push(`${name}: must be a whole number from ${from} to ${to}`);
    return usual;
  };
  const lengthLimit = ["OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"].find(get);
  const most = { to: MOST_SPANS };
  const maxQueueSize = number("OTEL_BSP_MAX_QUEUE_SIZE", 2048, most);
  return {
    kind: "on",
    protocol,
    endpoint,
    sampler: samplerOf(get("OTEL_TRACES_SAMPLER"), get("OTEL_TRACES_SAMPLER_ARG"), passedOver),
    propagate: propagates(listOf(get("OTEL_PROPAGATORS") ?? "tracecontext,baggage"), passedOver),
    batch: {
      maxQueueSize,
      maxExportBatchSize: Math.min(maxQueueSize, number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512, most)),
      scheduledDelayMillis: number("OTEL_BSP_SCHEDULE_DELAY", 5000),
      exportTimeoutMillis: number("OTEL_BSP_EXPORT_TIMEOUT", 30_000),
    },
    mostLetters: lengthLimit === undefined ? MOST_LETTERS : number(lengthLimit, MOST_LETTERS, { to: 65_536 }),
    passedOver,
  };
}

function refused(error: string, hint: string): ReadTraces {
  return { kind: "refused", error, hint };
}

function listOf(text = ""): string[] {
  return text
    .split(",")
    .map((word) => word.trim().toLowerCase())
    .filter((word) => word !== "");
}

function endpointForPeople(text: string): string | undefined {
  const url = URL.parse(text);
  return url && /^https?:$/.test(url.protocol) ? `${url.origin}${url.pathname}` : undefined;
}

const USUAL_SAMPLER: SamplerAsked = { parentBased: true, root: "always_on", ratio: 1 };

function samplerOf(name = "parentbased_always_on", arg: string | undefined, passedOver: string[]): SamplerAsked {
  const [, parent, root] = /^(parentbased_)?(always_on|always_off|traceidratio)$/.exec(name.toLowerCase()) ?? [];
  if (root === undefined) {
    passedOver.push(
      "OTEL_TRACES_SAMPLER: must be one of always_on, always_off, traceidratio, or parentbased_ and one of them",
    );
    return USUAL_SAMPLER;
  }
  const given = arg === undefined || root !== "traceidratio" ? 1 : Number(arg);
  const good = given >= 0 && given <= 1;
  if (!good) passedOver.push("OTEL_TRACES_SAMPLER_ARG: must be a number from 0 to 1");
  return { parentBased: parent !== undefined, root: root as SamplerAsked["root"], ratio: good ? given : 1 };
}

/** Baggage is not passed on: it is whatever a client likes to say. Any others there is nothing for. */
function propagates(names: readonly string[], passedOver: string[]): boolean {
  const others = names.filter((name) => !["tracecontext", "baggage", "none"].includes(name));
  if (others.length > 0) passedOver.push(`OTEL_PROPAGATORS: ${others.join(", ")}; only tracecontext is known here`);
  return names.includes("tracecontext") && !names.includes("none");
}
