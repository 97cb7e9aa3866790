import {
  BadRequestError,
  LazaretError,
  type LazaretErrorFields,
  ScanTimeoutError,
  TooBigError,
  UnauthorizedError,
  UnavailableError,
  UnexpectedAnswerError,
} from "../errors.ts";
import { isRecord } from "../result.ts";
import type { ErrorBody } from "../wire.ts";
import { retryAfterSeconds } from "./retry-policy.ts";

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

type ErrorClass = new (message: string, fields: LazaretErrorFields) => LazaretError;

const byStatus: Readonly<Record<number, ErrorClass>> = {
  400: BadRequestError,
  401: UnauthorizedError,
  408: ScanTimeoutError,
  413: TooBigError,
  429: UnavailableError,
  503: UnavailableError,
  504: ScanTimeoutError,
};

/** The error that an answer stands for. `what` says what was attempted; the secret is taken out of what the server wrote. */
export function answerError(what: string, answer: Answer, secret: string): LazaretError {
  const { status, headers } = answer;
  const body = errorBodyIn(answer);
  const clear = (text: string | undefined): string | undefined => text?.replaceAll(secret, "***");
  const fields = {
    status,
    requestId: body.request_id ?? headers.get("x-request-id") ?? undefined,
    retryAfterSeconds: retryAfterSeconds(headers.get("retry-after"), Date.now()),
  };
  if (status < 400) {
    const hint = status >= 300 && headers.has("location") ? "use the address it redirects to as baseUrl" : undefined;
    return new UnexpectedAnswerError(`${what}: answered ${status}`, { ...fields, code: "unexpected_status", hint });
  }
  const Kind = byStatus[status] ?? LazaretError;
  const said = clear(body.message) ?? "no reason was given";
  return new Kind(`${what}: ${status}, ${said}`, {
    ...fields,
    code: clear(body.code) ?? `http_${status}`,
    hint: clear(body.hint),
  });
}

/** The error body's texts, as far as there are any: what stands between us and the server answers in its own way. */
function errorBodyIn(answer: Answer): Partial<Pick<ErrorBody, "code" | "message" | "hint" | "request_id">> {
  const value = parsedJson(answer.text);
  if (!isRecord(value)) return {};
  const texts = ["code", "message", "hint", "request_id"].filter((name) => typeof value[name] === "string");
  return Object.fromEntries(texts.map((name) => [name, value[name]]));
}

/** Undefined when it is no JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
