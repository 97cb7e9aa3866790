import { type ObjectSchema, type Schema, schemaProblem } from "@lazaret/contract";
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
    const problem = schemaProblem(value, field);
    if (problem) throw wrong(name, field, problem.what, problem.size);
  }
  return body as Body;
}

function wrong(name: string, schema: Schema, what: string, size = false): Problem {
  const code = (size ? schema["x-size-code"] : undefined) ?? schema["x-code"] ?? "invalid_request";
  return badRequest(code, `${name} ${what}`, schema.description);
}
