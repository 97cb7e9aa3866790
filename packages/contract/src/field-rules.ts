import { customDataSchema, type SyncObjectRequest, traceIdSchema } from "./jobs.ts";
import { CUSTOM_DATA_MAX_BYTES, OBJECT_KEY_MAX_BYTES, URL_MAX_CHARACTERS } from "./limits.ts";
import type { Schema } from "./schema.ts";

/**
 * The rules of a submission's fields, the same for HTTP and for messages of other producers. Each returns what is wrong with
 * a value, in words that follow the field's name ("is empty"), or undefined. Headers: header-rules.ts.
 */

/** What a schema says of a value. */
export interface SchemaProblem {
  what: string;
  /** The type is right, the length is not. */
  size?: boolean;
}

export function schemaProblem(value: unknown, schema: Schema): SchemaProblem | undefined {
  const what = typeProblem(value, schema);
  if (what) return { what };
  const size = sizeProblem(value, schema);
  return size ? { what: size, size: true } : undefined;
}

/** Clients get their trace_id back in a URL. */
export function traceIdProblem(value: unknown): string | undefined {
  const problem = schemaProblem(value, traceIdSchema);
  if (problem) return problem.what;
  const traceId = String(value);
  if (!traceId.isWellFormed()) return "has half a character, which no URL can carry";
  return /\p{Cc}/u.test(traceId) ? "has a control character" : undefined;
}

export function customDataProblem(value: unknown): string | undefined {
  const problem = schemaProblem(value, customDataSchema);
  if (problem) return problem.what;
  const tooLarge = utf8Bytes(String(value)) > CUSTOM_DATA_MAX_BYTES;
  return tooLarge ? `has more than ${CUSTOM_DATA_MAX_BYTES} bytes of UTF-8` : undefined;
}

/** Where it may lead is for the address guard to say. */
export function urlProblem(value: unknown): string | undefined {
  return schemaProblem(value, { type: "string", minLength: 1, maxLength: URL_MAX_CHARACTERS })?.what;
}

/** A callback may carry the receiver's credentials: installations refuse plain http by default. */
export function isPlainHttp(url: string): boolean {
  return /^http:/i.test(url);
}

/** Which of an object's names is wrong, and how. What else a name may be is for the object store to say. */
export function objectProblem({ bucket, key, version }: SyncObjectRequest): string | undefined {
  const names = Object.entries({ bucket, key, ...(version !== undefined && { version }) });
  const withNul = names.find(([, value]) => value.includes("\0"));
  if (withNul) return `${withNul[0]} has a NUL character`;
  return utf8Bytes(key) > OBJECT_KEY_MAX_BYTES ? `key has more than ${OBJECT_KEY_MAX_BYTES} bytes of UTF-8` : undefined;
}

function typeProblem(value: unknown, schema: Schema): string | undefined {
  if (schema.type === "string") {
    if (typeof value !== "string") return "is not a string";
    return schema.enum && !schema.enum.includes(value) ? `is not one of ${schema.enum.join(", ")}` : undefined;
  }
  if (schema.type === "integer") {
    if (!Number.isInteger(value)) return "is not a whole number";
    return Number(value) < (schema.minimum ?? Number.NEGATIVE_INFINITY) ? `is less than ${schema.minimum}` : undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "is not an object";
  if ("properties" in schema) return undefined;
  const strings = Object.values(value).every((entry) => typeof entry === "string");
  return strings ? undefined : "has a value that is not a string";
}

function sizeProblem(value: unknown, schema: Schema): string | undefined {
  if (schema.type === "string") {
    const text = String(value);
    const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema;
    // A character is one UTF-16 unit or two: nearly always that is enough to know.
    if (text.length >= 2 * minLength && text.length <= maxLength) return undefined;
    const characters = countCharacters(text);
    if (characters < minLength) return "is empty";
    if (characters > maxLength) return `has over ${maxLength} characters`;
  }
  if ("maxProperties" in schema && Object.keys(value as object).length > schema.maxProperties) {
    return `has over ${schema.maxProperties} entries`;
  }
  return undefined;
}

/** Code points, as JSON Schema counts; no array is made of a long string. */
function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** Half a character counts as the three bytes that are written in its place. */
function utf8Bytes(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const code = Number(character.codePointAt(0));
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x1_0000 ? 3 : 4;
  }
  return bytes;
}
