/**
 * The part of JSON Schema (2020-12) that our requests and answers are described with. The server validates
 * with these very objects and publishes them in its OpenAPI document.
 */
export type Schema = StringSchema | IntegerSchema | ObjectSchema | MapSchema;

interface Described {
  title?: string;
  description?: string;
  /** The error code answered when this value is missing or wrong; `invalid_request` when not given. */
  "x-code"?: string;
  /** The same for a value of the right type that is too long. */
  "x-size-code"?: string;
  examples?: readonly unknown[];
}

export interface StringSchema extends Described {
  type: "string";
  enum?: readonly string[];
  minLength?: number;
  /** In characters (code points), as JSON Schema counts. */
  maxLength?: number;
  format?: string;
}

export interface IntegerSchema extends Described {
  type: "integer";
  minimum?: number;
}

/** An object with named fields; fields it does not name are ignored. */
export interface ObjectSchema extends Described {
  type: "object";
  properties: Readonly<Record<string, Schema>>;
  required: readonly string[];
}

/** A flat map of string to string. */
export interface MapSchema extends Described {
  type: "object";
  additionalProperties: { type: "string" };
  maxProperties: number;
}
