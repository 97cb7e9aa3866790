/**
 * A place in a distributed trace, as W3C Trace Context writes it in headers (https://www.w3.org/TR/trace-context/). It has nothing to do
 * with `traceId`, by which a client polls.
 */
export interface TraceContext {
  /** `00-<id of the trace>-<id of the span>-<flags>` */
  traceparent: string;
  /** What other tracing systems on the way have added. */
  tracestate?: string;
}

/** The same, taken apart. */
export interface SpanPlace {
  /** Of the distributed trace: 32 hex digits. */
  traceId: string;
  /** 16 hex digits. */
  spanId: string;
  sampled: boolean;
  tracestate?: string;
}

const VERSION_00 = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
/** What later versions add comes after a dash, and is not for us. */
const LATER_VERSION = /^(?!ff|00)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;
const ONLY_ZEROS = /^0+$/;
const SAMPLED = 1;

/**
 * Undefined for what is not exactly as the specification says: then a trace begins here. Who sent `traceparent` twice has sent none, as
 * headers of one name come joined by a comma. Anything may come: from strangers, and out of a queue.
 */
export function spanPlace({
  traceparent,
  tracestate,
}: Partial<Record<keyof TraceContext, unknown>>): SpanPlace | undefined {
  if (typeof traceparent !== "string") return undefined;
  const [, traceId = "", spanId = "", flags = ""] =
    VERSION_00.exec(traceparent) ?? LATER_VERSION.exec(traceparent) ?? [];
  if (traceId === "" || ONLY_ZEROS.test(traceId) || ONLY_ZEROS.test(spanId)) return undefined;
  const state = typeof tracestate === "string" ? readTracestate(tracestate) : undefined;
  const sampled = (Number.parseInt(flags, 16) & SAMPLED) !== 0;
  return { traceId, spanId, sampled, ...(state !== undefined && { tracestate: state }) };
}

export function traceContext({ traceId, spanId, sampled, tracestate }: SpanPlace): TraceContext {
  const traceparent = `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`;
  return { traceparent, ...(tracestate !== undefined && { tracestate }) };
}

const MEMBER = /^[a-z0-9][a-z0-9_*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const MOST_MEMBERS = 32;
/** So much must be passed on; what is more is dropped from the end, where the oldest are. */
const MOST_LETTERS = 512;
/** More than 32 members can be, with spaces between them: nothing longer is taken apart. */
const LONGEST_READ = 20_000;

/** Undefined when there is nothing in it, or anything is wrong with it: then all of it is dropped, and the trace goes on without. */
function readTracestate(text: string): string | undefined {
  if (text.length > LONGEST_READ) return undefined;
  const members = text
    .split(",")
    .map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ""))
    .filter((member) => member !== "");
  const names = new Set(members.map((member) => member.slice(0, member.indexOf("="))));
  if (members.length > MOST_MEMBERS || names.size < members.length) return undefined;
  if (!members.every((member) => MEMBER.test(member))) return undefined;
  while (members.join(",").length > MOST_LETTERS) members.pop();
  return members.length === 0 ? undefined : members.join(",");
}
