import type { ErrorBody } from "@lazaret/contract";
import { STATUS_CODES } from "../net/node-http.ts";
import type { Answer } from "./request-answer.ts";

export interface ProblemOptions {
  hint?: string;
  headers?: Readonly<Record<string, string>>;
}

/** A request that gets an error for an answer: what happened, on what, and what to do about it. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: string, options: ProblemOptions & { message: string }) {
    super(options.message);
    this.name = "Problem";
    this.status = status;
    this.code = code;
    this.hint = options.hint;
    this.headers = options.headers ?? {};
  }
}

/** How long a client should wait before it tries again. */
const RETRY_AFTER_SECONDS = "5";

export function badRequest(code: string, message: string, hint?: string): Problem {
  return new Problem(400, code, { message, ...(hint && { hint }) });
}

export function tryLater(code: string, message: string, hint?: string): Problem {
  return new Problem(503, code, { message, ...(hint && { hint }), headers: { "Retry-After": RETRY_AFTER_SECONDS } });
}

export function problemBody(problem: Problem, requestId: string): ErrorBody {
  return {
    statusCode: problem.status,
    error: STATUS_CODES[problem.status] ?? "Error",
    code: problem.code,
    message: problem.message,
    ...(problem.hint !== undefined && { hint: problem.hint }),
    request_id: requestId,
  };
}

export function problemAnswer(problem: Problem, requestId: string): Answer {
  return { status: problem.status, headers: problem.headers, json: problemBody(problem, requestId) };
}
