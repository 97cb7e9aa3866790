import type { ObjectSchema, Schema } from "@lazaret/contract";
import type { Answer, ApiRequest } from "./exchange.ts";

/** One endpoint: what it does, and what the API document says about it. */
export interface Route {
  method: "GET" | "POST";
  path: string;
  /** Takes every path that begins with its own. */
  prefix?: boolean;
  /** Answers without a key. */
  open?: boolean;
  /** On every answer of this endpoint, also on errors. */
  headers?: Readonly<Record<string, string>>;
  doc: RouteDoc;
  /** `keyDigest` tells which key the request carries; empty on open endpoints. */
  handle(request: ApiRequest, keyDigest: string): Promise<Answer>;
}

export interface RouteDoc {
  group: "Asynchronous" | "Synchronous" | "Service";
  summary: string;
  description?: string;
  deprecated?: boolean;
  query?: Readonly<Record<string, { description: string; schema: Schema; required?: boolean }>>;
  request?:
    | { contentType: "application/json"; schema: ObjectSchema }
    | { contentType: "application/octet-stream" | "multipart/form-data" };
  /** The answer when all is well. */
  success: { status: number; description: string; schema?: Schema; contentType?: string };
  /** Other good answers, by status. */
  also?: Readonly<Record<number, string>>;
  /** Headers of the good answer. */
  successHeaders?: Readonly<Record<string, string>>;
  /** Codes of the errors this endpoint may answer, by status. */
  errors: Readonly<Record<number, readonly string[]>>;
  /** A command to paste. */
  example: string;
}
