import type { MapSchema, ObjectSchema, Schema } from "@lazaret/contract";

/** A value that such a schema describes, as an example. */
export function sampleOf(schema: Schema): unknown {
  const [example] = schema.examples ?? [];
  if (example !== undefined) return example;
  if (schema.type === "integer") return schema.minimum ?? 0;
  if (schema.type === "string") return schema.enum?.[0] ?? "…";
  if (isMap(schema)) return {};
  return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, field]) => [name, sampleOf(field)]));
}

/** What a value must be beyond its type, in words. */
export function rulesOf(schema: Schema): string {
  if (schema.type === "integer") return schema.minimum === undefined ? "" : `at least ${schema.minimum}`;
  if (schema.type === "object") return isMap(schema) ? `at most ${amount(schema.maxProperties)} names` : "";
  const { enum: words, format, maxLength } = schema;
  return [
    ...(words ? [`one of ${words.map((word) => `\`${word}\``).join(", ")}`] : []),
    ...(format ? [format === "uri" ? "a URL" : format] : []),
    ...(maxLength ? [`at most ${amount(maxLength)} characters`] : []),
  ].join(", ");
}

export function typeOf(schema: Schema): string {
  return schema.type === "object" && isMap(schema) ? "map of strings" : schema.type;
}

function isMap(schema: ObjectSchema | MapSchema): schema is MapSchema {
  return "maxProperties" in schema;
}

/** Made once: a number's own `toLocaleString` makes one for each. */
const inWords = new Intl.NumberFormat("en-US");

function amount(number: number): string {
  return inWords.format(number);
}
