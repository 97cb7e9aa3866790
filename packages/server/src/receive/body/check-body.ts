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
    if (problem) throw wrong(name, field, problem);
  }
  return body as Body;
}

function problemWith(value: unknown, schema: Schema): string | undefined {
  if (schema.type === "string") {
    if (typeof value !== "string") return "is not a string";
    if (schema.enum && !schema.enum.includes(value)) return `is not one of ${schema.enum.join(", ")}`;
    const characters = countCharacters(value);
    if (characters < (schema.minLength ?? 0)) return "is empty";
    if (characters > (schema.maxLength ?? Number.POSITIVE_INFINITY)) return `has over ${schema.maxLength} characters`;
    return undefined;
  }
  if (schema.type === "integer") {
    if (!Number.isInteger(value)) return "is not a whole number";
    return Number(value) < (schema.minimum ?? Number.NEGATIVE_INFINITY) ? `is less than ${schema.minimum}` : undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "is not an object";
  if ("properties" in schema) return undefined;
  const entries = Object.values(value);
  if (entries.length > schema.maxProperties) return `has over ${schema.maxProperties} entries`;
  return entries.every((entry) => typeof entry === "string") ? undefined : "has a value that is not a string";
}

/** Code points, as JSON Schema counts; no array is made of a long string. */
function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

function wrong(name: string, schema: Schema, what: string): Problem {
  return badRequest(schema["x-code"] ?? "invalid_request", `${name} ${what}`, schema.description);
}
