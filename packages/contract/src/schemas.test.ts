import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { callbackPayloadSchema } from "./callback.ts";
import { errorSchema } from "./errors.ts";
import { downloadScanResultSchema } from "./events.ts";
import { findingsMessageSchema } from "./findings-topic.ts";
import { asyncDownloadSchema, asyncObjectSchema, syncDownloadSchema, syncObjectSchema } from "./jobs.ts";
import { scanResultSchema } from "./result.ts";
import type { Schema } from "./schema.ts";

/**
 * The tables of "Resources" as the spec has them, apart from the schemas that are tested: field, type, and `!` where the
 * field is required. A type in brackets is an object of that content.
 */
const status = "string clean|infected|no";
const failedError =
  "object {message! string, code! string, metadata! object {attempts integer >=1, status_code integer >=100, last_attempt_at string date-time}}";

const tables: readonly [name: string, schema: Schema, fields: Record<string, string>][] = [
  [
    "ScanResult",
    scanResultSchema,
    { "status!": status, finding: "string", size: "integer >=0", realfiletype: "string" },
  ],
  [
    "CallbackPayload",
    callbackPayloadSchema,
    {
      "status!": status,
      finding: "string",
      "size!": "integer >=0",
      "download_time!": "string",
      "scan_time!": "string",
      "download_url!": "string",
      trace_id: "string",
      custom_data: "string",
      realfiletype: "string",
    },
  ],
  [
    "FindingsMessage",
    findingsMessageSchema,
    {
      "bucket!": "string",
      "key!": "string",
      version: "string",
      "size!": "integer >=0",
      "status!": status,
      "action!": "string delete|tag|no",
      finding: "string",
      trace_id: "string",
      custom_data: "string",
      realfiletype: "string",
    },
  ],
  [
    "DownloadScanResult",
    downloadScanResultSchema,
    {
      "download_url!": "string",
      "callback_url!": "string",
      "status!": status,
      finding: "string",
      trace_id: "string",
      custom_data: "string",
      realfiletype: "string",
      download_failed_error: failedError,
      callback_failed_error: failedError,
    },
  ],
  [
    "Error",
    errorSchema,
    {
      "statusCode!": "integer",
      "error!": "string",
      "code!": "string",
      "message!": "string",
      hint: "string",
      "request_id!": "string",
    },
  ],
];

const answer = {
  callback_url: "string uri",
  callback_headers: "map of string",
  trace_id: "string",
  custom_data: "string",
};
const download = { "download_url!": "string uri", download_headers: "map of string" };
const object = { "bucket!": "string", "key!": "string", version: "string" };
const requests: readonly [name: string, schema: Schema, fields: Record<string, string>][] = [
  ["SyncDownloadRequest", syncDownloadSchema, download],
  ["AsyncDownloadRequest", asyncDownloadSchema, { ...download, ...answer }],
  ["SyncObjectRequest", syncObjectSchema, object],
  ["AsyncObjectRequest", asyncObjectSchema, { ...object, ...answer }],
];

/** A schema in the words of the tables above. */
function inWords(schema: Schema): string {
  if (schema.type === "string") return ["string", schema.enum?.join("|"), schema.format].filter(Boolean).join(" ");
  if (schema.type === "integer") return schema.minimum === undefined ? "integer" : `integer >=${schema.minimum}`;
  assert.equal(schema.type, "object");
  if ("additionalProperties" in schema) return `map of ${schema.additionalProperties.type}`;
  const fields = Object.entries(fieldsOf(schema)).map(([name, words]) => `${name} ${words}`);
  return `object {${fields.join(", ")}}`;
}

function fieldsOf(schema: Schema): Record<string, string> {
  assert.ok("properties" in schema && schema.type === "object", "it is no object");
  const { properties, required } = schema;
  for (const name of required) assert.ok(name in properties, `${name} is required, and not described`);
  return Object.fromEntries(
    Object.entries(properties).map(([name, each]) => [`${name}${required.includes(name) ? "!" : ""}`, inWords(each)]),
  );
}

describe("the schemas", () => {
  for (const [name, schema, fields] of [...tables, ...requests]) {
    it(`have ${name} as the spec's table does`, () => {
      assert.equal(schema.title, name);
      assert.deepEqual(fieldsOf(schema), fields);
    });
  }
});
