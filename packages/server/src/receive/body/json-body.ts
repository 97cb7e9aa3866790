import { JSON_MAX_BYTES, type ObjectSchema, type Schema, schemaProblem } from "@lazaret/contract";
import { isWhole } from "../../flow/whole-bytes.ts";
import { badRequest, Problem } from "../problem.ts";
import type { ApiRequest } from "../request-answer.ts";
import { requireContentType, requireIdentityEncoding } from "./content-type.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Reads a JSON object, at most 256 KiB of it, or as many bytes as are said. */
export async function readJsonObject(
  request: ApiRequest,
  maxBytes: number = JSON_MAX_BYTES,
): Promise<Record<string, unknown>> {
  requireContentType(request, "application/json");
  requireIdentityEncoding(request);
  if ((request.contentLength ?? 0) > maxBytes) throw bodyTooLarge(maxBytes);

  const { body } = request;
  const bytes = isWhole(body) ? body.takeAll() : await atMost(body, maxBytes);
  if (bytes.byteLength > maxBytes) throw bodyTooLarge(maxBytes);
  return parseObject(bytes);
}

async function atMost(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxBytes) throw bodyTooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parseObject(bytes: Uint8Array): Record<string, unknown> {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw badRequest("invalid_json", "the body is not valid UTF-8", "send JSON encoded as UTF-8");
  }
  if (text.trim() === "") throw badRequest("invalid_json", "the body is empty", "send a JSON object");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw badRequest("invalid_json", "the body is not valid JSON", "check quotes, commas and brackets");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw badRequest(
      "invalid_request",
      "the body is not a JSON object",
      'send an object such as {"download_url": "…"}',
    );
  }
  if (Object.hasOwn(value, "__proto__")) throw badRequest("invalid_request", "the body has a field named __proto__");
  return value as Record<string, unknown>;
}

function bodyTooLarge(maxBytes: number): Problem {
  return new Problem(413, "body_too_large", { message: `the JSON body is larger than ${maxBytes} bytes` });
}

/**
 * Checks a request body against its schema, the same object that /openapi.json publishes. Fields that the schema does
 * not name are ignored. A wrong field answers with the field's own code.
 */
export function checkBody<Body>(body: Record<string, unknown>, schema: ObjectSchema): Body {
  for (const name in schema.properties) {
    const field = schema.properties[name] as Schema;
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
