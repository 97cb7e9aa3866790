import type { ObjectSchema, Schema } from "@lazaret/contract";
import type { AdminRole } from "@lazaret/contract/admin";
import type { Limits, Scope, Tenant } from "../access/access-store.ts";
import type { AuditEntry } from "../access/audit-log.ts";
import type { Work } from "../access/limiter.ts";
import type { Account } from "../model/tenant.ts";
import type { Answer, ApiRequest, Dialect } from "./request-answer.ts";

/** What an endpoint says of itself. Where it is, and where there is one, is in routes.ts. */
export interface Endpoint {
  /** Of those that serve the document itself there is none. */
  doc?: RouteDoc;
  /** What is said when the store cannot be reached; this is never an answer about a job. */
  storeAway?: { message: string; hint: string };
  /** Asked for every few seconds, by machines: when all is well the log is spared. */
  routine?: boolean;
  /** What it does with one file: queues it, or scans it while the client waits. */
  work?: Work;
  /** On every answer of this endpoint, also on errors. */
  headers?: Readonly<Record<string, string>>;
  /** What the audit log calls it, of calls of the console that change something. */
  act?: string;
}

/** An endpoint at its address. */
export interface PlacedEndpoint extends Endpoint {
  /** That of its handler. */
  name?: string;
  method: "GET" | "POST";
  /** `:id` stands for one part of it, which becomes `params.id` of the request. */
  path: string;
  /** Takes every path that begins with its own. */
  prefix?: boolean;
  /** Answers without a key. */
  open?: boolean;
  /** Only for keys and sessions of the console: those that look, or those that act as well. No other key opens it. */
  console?: "looks" | "acts";
  /** Where another listener has the console, it is there and not here. */
  operators?: boolean;
  /** A key must have one of them; any key will do where there is no such list. */
  scopes?: readonly Scope[];
  /** The spec's, unless it says otherwise. */
  dialect?: Dialect;
  /** The path of the spec that this is another name of. */
  aliasOf?: string;
}

export type DescribedEndpoint = PlacedEndpoint & { doc: RouteDoc };

/** An endpoint at its address, with what answers its requests. */
export interface Route extends PlacedEndpoint {
  handle: Handle;
}

export type Handle = (request: ApiRequest, caller: Caller) => Promise<Answer>;

/** Who asks, by the key that the request carries; nobody on open endpoints. */
export interface KeyHolder {
  account: Account;
  scopes: readonly Scope[];
  tenant: Tenant;
  /** Of the key alone. */
  limits: Limits;
  /** Whether its tenant, or any key of it, has a limit of jobs waiting. */
  limitsJobs: boolean;
}

/** In bytes; undefined where neither its key nor its tenant has such a limit. */
export function largestFile({ limits, tenant }: Pick<KeyHolder, "limits" | "tenant">): number | undefined {
  const [ofKey, ofTenant] = [limits.largestFile, tenant.limits.largestFile];
  return ofKey === undefined || ofTenant === undefined ? (ofKey ?? ofTenant) : Math.min(ofKey, ofTenant);
}

/** Who asks by the console, or by a script with a key of the console. */
export interface ConsoleCaller {
  /** The key itself: several may have one name. */
  ref: string;
  /** The name of the key. */
  who: string;
  role: AdminRole;
  /** Came with a session's cookie, not with the key itself. */
  byCookie: boolean;
  /**
   * Writes what is about to be done into the audit log: to be called, once what was asked for is known to make sense, before any of it is
   * done. `on` names what it is done to, without secrets. Throws the 503 problem when that cannot be written: then it must not be done.
   */
  record(on: string, details?: AuditEntry["details"]): Promise<void>;
}

/** …and in which dialect. */
export interface Caller extends KeyHolder {
  dialect: Dialect;
  /** On endpoints of the console only. */
  console?: ConsoleCaller;
}

export interface RouteDoc {
  group: "Asynchronous" | "Synchronous" | "Service" | "Other dialect" | "Console";
  summary: string;
  description?: string;
  deprecated?: boolean;
  query?: Readonly<Record<string, { description: string; schema: Schema; required?: boolean }>>;
  request?:
    | { contentType: "application/json"; schema: ObjectSchema }
    | { contentType: "application/octet-stream" | "multipart/form-data" };
  /** The answer when all is well. */
  success: { status: number; description: string; schema?: Schema; contentType?: string; example?: unknown };
  /** Other good answers, by status. */
  also?: Readonly<Record<number, string>>;
  /** Headers of the good answer. */
  successHeaders?: Readonly<Record<string, string>>;
  /** Codes of the errors this endpoint may answer, by status. */
  errors: Readonly<Record<number, readonly string[]>>;
  /** A command to paste. */
  example: string;
}
