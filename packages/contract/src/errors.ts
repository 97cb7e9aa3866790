import type { ObjectSchema } from "./schema.ts";

/** Findings that the service itself gives a file with status `no`. An engine's own reason is passed on as it is. */
export const findings = {
  tooBig: "scanner:too-big",
  downloadFailed: "scanner:download-failed",
  callbackFailed: "scanner:callback-failed",
  encrypted: "scanner:encrypted",
  limitsExceeded: "scanner:limits-exceeded",
  unsupportedArchive: "scanner:unsupported-archive",
  timeout: "scanner:timeout",
  engineError: "scanner:engine-error",
  objectNotFound: "scanner:object-not-found",
  objectAccessDenied: "scanner:object-access-denied",
} as const;

/** The body of every answer that is not 2xx. */
export interface ErrorBody {
  statusCode: number;
  error: string;
  code: string;
  message: string;
  hint?: string;
  request_id: string;
}

export const errorSchema: ObjectSchema = {
  type: "object",
  title: "Error",
  properties: {
    statusCode: { type: "integer", description: "The HTTP status again." },
    error: { type: "string", description: "The HTTP status in words." },
    code: { type: "string", description: "What went wrong, for programs. Stable." },
    message: { type: "string", description: "What went wrong, for people." },
    hint: { type: "string", description: "What to do about it." },
    request_id: { type: "string", description: "The same as the X-Request-Id header, and in the server's log." },
  },
  required: ["statusCode", "error", "code", "message", "request_id"],
};
