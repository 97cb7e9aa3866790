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
  502: UnavailableError,
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
  if (body.code === undefined) {
    const message = `${what}: ${status}, and not from Lazaret: ${whoAnswered(headers)} answered${clear(said(body.message))}`;
    return new Kind(message, { ...fields, code: foreignCode(status), hint: clear(body.hint) ?? proxyHints[status] });
  }
  const reason = clear(body.message) ?? "no reason was given";
  return new Kind(`${what}: ${status}, ${reason}`, { ...fields, code: clear(body.code) ?? "", hint: clear(body.hint) });
}

/** What to do about an answer of what stands between us and the server. */
const proxyHints: Readonly<Record<number, string>> = {
  404: "check that baseUrl is a Lazaret server",
  413: "let the proxy take larger bodies (nginx: client_max_body_size 200m)",
  502: "the proxy cannot reach Lazaret, or was cut off by it: check that it runs, and its log",
  503: "the proxy has no Lazaret to send this to: check that one is ready",
  504: "the proxy waits less long than a scan may take: 60 seconds, and the upload (nginx: proxy_read_timeout 75s)",
};

/** Lazaret's own answers always carry a code. */
function foreignCode(status: number): string {
  return `http_${status}`;
}

/** Nobody knows whether Lazaret has had the request. */
export function isLostInProxy({ status, code }: LazaretError): boolean {
  return (status === 502 || status === 504) && code === foreignCode(status);
}

function said(message: string | undefined): string {
  return message === undefined ? "" : `: ${message}`;
}

function whoAnswered(headers: Headers): string {
  const [, name] = /^([\w.-]{1,40})/.exec(headers.get("server") ?? "") ?? [];
  return name === undefined ? "a proxy or load balancer" : `a proxy or load balancer (${name})`;
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
