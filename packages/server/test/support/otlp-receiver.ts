import { httpServer } from "./loopback-server.ts";

/** A span as a collector gets it. */
export interface ReceivedSpan {
  name: string;
  /** As OTLP numbers them: 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  kind: number;
  traceId: string;
  spanId: string;
  /** Empty at the root of a trace. */
  parentSpanId: string;
  traceState: string;
  attributes: Record<string, unknown>;
  /** Of who sent it. */
  resource: Record<string, unknown>;
  /** 2: it failed. */
  status: number;
  /** Nanoseconds since 1970. */
  start: bigint;
  end: bigint;
}

export interface OtlpReceiver extends AsyncDisposable {
  origin: string;
  readonly spans: readonly ReceivedSpan[];
  /** All that came, as it came. */
  readonly bodies: readonly Buffer[];
  /** Content types and headers of the requests. */
  readonly heads: readonly NodeJS.Dict<string | string[]>[];
}

/** A collector on loopback: takes OTLP over HTTP, as JSON or protobuf. */
export async function otlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: Buffer[] = [];
  const heads: NodeJS.Dict<string | string[]>[] = [];
  const server = await httpServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>));
    heads.push({ ...request.headers, path: request.url });
    bodies.push(body);
    const isJson = request.headers["content-type"] === "application/json";
    spans.push(...(isJson ? spansOfJson(JSON.parse(body.toString())) : spansOfProtobuf(body)));
    response.writeHead(200, { "content-type": request.headers["content-type"] }).end(isJson ? "{}" : "");
  });
  return {
    origin: `http://127.0.0.1:${server.port}`,
    spans,
    bodies,
    heads,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

interface JsonAttribute {
  key: string;
  value: Record<string, unknown>;
}

interface JsonRequest {
  resourceSpans: {
    resource: { attributes: JsonAttribute[] };
    scopeSpans: { spans: JsonSpan[] }[];
  }[];
}

interface JsonSpan extends Pick<ReceivedSpan, "name" | "kind" | "traceId" | "spanId"> {
  parentSpanId?: string;
  traceState?: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: JsonAttribute[];
  status?: { code?: number };
}

function spansOfJson({ resourceSpans }: JsonRequest): ReceivedSpan[] {
  const record = (attributes: JsonAttribute[]): Record<string, unknown> =>
    Object.fromEntries(attributes.map(({ key, value }) => [key, plain(Object.values(value)[0])]));
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ name, kind, traceId, spanId, parentSpanId = "", traceState = "", status, ...span }) => ({
        ...{ name, kind, traceId, spanId, parentSpanId, traceState },
        attributes: record(span.attributes),
        resource: record(resource.attributes),
        status: status?.code ?? 0,
        start: BigInt(span.startTimeUnixNano),
        end: BigInt(span.endTimeUnixNano),
      })),
    ),
  );
}

/** 64-bit numbers are text in JSON. */
function plain(value: unknown): unknown {
  return typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
}

type Field = bigint | Buffer;

/** The fields of one protobuf message, by number. */
function fieldsOf(bytes: Buffer): Map<number, Field[]> {
  const fields = new Map<number, Field[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++] ?? 0;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  const take = (length: number): Buffer => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const read = { 0: varint, 1: () => take(8).readBigUInt64LE(), 2: () => take(Number(varint())), 5: () => take(4) };
    const value = read[(tag & 7) as keyof typeof read]();
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value]);
  }
  return fields;
}

/** By the numbers of opentelemetry/proto/trace/v1/trace.proto. */
function spansOfProtobuf(body: Buffer): ReceivedSpan[] {
  const messages = (of: Buffer, number: number): Buffer[] => (fieldsOf(of).get(number) ?? []) as Buffer[];
  const record = (pairs: readonly Buffer[]): Record<string, unknown> =>
    Object.fromEntries(
      pairs.map((pair) => {
        const [[key], [value]] = [messages(pair, 1), messages(pair, 2)];
        const [[number, [content]]] = [...fieldsOf(value ?? Buffer.alloc(0))] as [[number, Field[]]];
        const isText = number === 1;
        return [String(key), isText ? String(content) : number === 2 ? content === 1n : Number(content)];
      }),
    );
  return messages(body, 1).flatMap((resourceSpans) => {
    const [resource = Buffer.alloc(0)] = messages(resourceSpans, 1);
    return messages(resourceSpans, 2)
      .flatMap((scopeSpans) => messages(scopeSpans, 2))
      .map((span) => {
        const fields = fieldsOf(span);
        const one = (number: number): Field | undefined => fields.get(number)?.[0];
        const hex = (number: number): string => ((one(number) ?? Buffer.alloc(0)) as Buffer).toString("hex");
        const [status] = messages(span, 15);
        return {
          name: String(one(5)),
          kind: Number(one(6)),
          traceId: hex(1),
          spanId: hex(2),
          parentSpanId: hex(4),
          traceState: String(one(3) ?? ""),
          attributes: record(messages(span, 9)),
          resource: record(messages(resource, 1)),
          status: Number((status && fieldsOf(status).get(3)?.[0]) ?? 0),
          start: one(7) as bigint,
          end: one(8) as bigint,
        };
      });
  });
}
