import type { ObjectSchema, Schema } from "@lazaret/contract";
import { badRequest, type Problem } from "../problem.ts";

/**
 * Checks a request body against its schema, the same object that /openapi.json publishes. Fields that the schema does
 * not name are ignored. A wrong field answers with the field's own code.
 */
export function checkBody<Body>(body: Record<string, unknown>, schema: ObjectSchema): Body {
  for (const [name, field] of Object.entries(schema.properties)) {
    const value = Object.hasOwn(body, name) ? body[name] : undefined;
    if (value === undefined) {
      if (schema.required.includes(name)) throw wrong(name, field, "is missing");
      continue;
    }
    const problem = problemWith(value, field);
    if (problem) throw wrong(name, field, problem.what, problem.size);
  }
  return body as Body;
}

interface FieldProblem {
  what: string;
  /** The type is right, the length is not. */
  size?: boolean;
}

function problemWith(value: unknown, schema: Schema): FieldProblem | undefined {
  const what = typeProblem(value, schema);
  if (what) return { what };
  const size = sizeProblem(value, schema);
  return size ? { what: size, size: true } : undefined;
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
    const characters = countCharacters(String(value));
    if (characters < (schema.minLength ?? 0)) return "is empty";
    if (characters > (schema.maxLength ?? Number.POSITIVE_INFINITY)) return `has over ${schema.maxLength} characters`;
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

function wrong(name: string, schema: Schema, what: string, size = false): Problem {
  const code = (size ? schema["x-size-code"] : undefined) ?? schema["x-code"] ?? "invalid_request";
  return badRequest(code, `${name} ${what}`, schema.description);
}
