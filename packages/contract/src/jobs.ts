import { HEADERS_MAX_COUNT, URL_MAX_CHARACTERS } from "./limits.ts";
import type { MapSchema, ObjectSchema, StringSchema } from "./schema.ts";

/** Body of POST /api/v1/scan/sync/download. */
export interface SyncDownloadRequest {
  download_url: string;
  download_headers?: Record<string, string>;
}

const downloadUrl: StringSchema = {
  type: "string",
  minLength: 1,
  maxLength: URL_MAX_CHARACTERS,
  format: "uri",
  description: "URL fetched by HTTP(S) GET. No credentials in it; private and metadata addresses are refused.",
  examples: ["https://files.example.com/report.pdf"],
  "x-code": "invalid_download_url",
};

const downloadHeaders: MapSchema = {
  type: "object",
  additionalProperties: { type: "string" },
  maxProperties: HEADERS_MAX_COUNT,
  description: "Headers sent when downloading. Connection, framing and Range headers are refused.",
  examples: [{ Authorization: "Bearer token-of-the-file-server" }],
  "x-code": "invalid_header",
};

export const syncDownloadSchema: ObjectSchema = {
  type: "object",
  title: "SyncDownloadRequest",
  properties: { download_url: downloadUrl, download_headers: downloadHeaders },
  required: ["download_url"],
};
