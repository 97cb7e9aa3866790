import { findings } from "@lazaret/contract";
import { errors } from "undici";
import { SourceFailed } from "../model/source.ts";

/** What a failed download is called in a report, and in words. `passing` ones are worth another try. */
interface Reason {
  words: string;
  passing: boolean;
}

/**
 * A name that does not resolve counts as passing: resolvers give that answer for names just made, and while they
 * start. A refused destination does not: the policy is the same in five seconds. Nor does a certificate.
 */
const reasons = {
  ECONNREFUSED: { words: "the connection was refused", passing: true },
  ECONNRESET: { words: "the connection was closed by the other side", passing: true },
  ECONNABORTED: { words: "the connection was aborted", passing: true },
  EPIPE: { words: "the connection was closed by the other side", passing: true },
  ETIMEDOUT: { words: "connecting took too long", passing: true },
  EHOSTUNREACH: { words: "the host cannot be reached", passing: true },
  EHOSTDOWN: { words: "the host is down", passing: true },
  ENETUNREACH: { words: "the network cannot be reached", passing: true },
  ENETDOWN: { words: "the network is down", passing: true },
  EADDRNOTAVAIL: { words: "no local port is free", passing: true },
  EMFILE: { words: "too many files are open", passing: true },
  ENFILE: { words: "too many files are open", passing: true },
  ENOTFOUND: { words: "the host name does not resolve", passing: true },
  EAI_AGAIN: { words: "the name server does not answer", passing: true },
  headers_timeout: { words: "the server did not answer in time", passing: true },
  body_timeout: { words: "the server stopped sending", passing: true },
  too_slow: { words: "the server sends too slowly", passing: true },
  short_body: { words: "the body broke off before it was complete", passing: true },
  bad_response: { words: "the answer is not valid HTTP", passing: false },
  bad_encoding: { words: "the body is not valid in its encoding, or is cut short", passing: false },
  unsupported_encoding: { words: "the body has an encoding that cannot be read", passing: false },
  invalid_url: { words: "the URL is not valid", passing: false },
  bad_redirect: { words: "the server redirects to something that is not a valid URL", passing: false },
  too_many_redirects: { words: "there are too many redirects", passing: false },
  blocked_destination: { words: "the URL leads to an address or port that is not open to downloads", passing: false },
} satisfies Record<string, Reason>;

export type FailureCode = keyof typeof reasons;

/** undici's names for what Node or we have a name for, until the headers have come. */
const inAnswer: Readonly<Record<string, FailureCode>> = {
  UND_ERR_HEADERS_TIMEOUT: "headers_timeout",
  UND_ERR_SOCKET: "ECONNRESET",
  UND_ERR_HEADERS_OVERFLOW: "bad_response",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "bad_response",
  HTTPParserError: "bad_response",
};

/** The same in the body, where all that breaks off the stream makes it too short. */
const inBody: Readonly<Record<string, FailureCode>> = {
  UND_ERR_BODY_TIMEOUT: "body_timeout",
  UND_ERR_SOCKET: "short_body",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "short_body",
  HTTPParserError: "short_body",
};

export function failed(code: FailureCode, cause?: unknown): SourceFailed {
  const { words, passing } = reasons[code];
  return sourceFailed({ code, message: `cannot download: ${words}`, passing }, cause);
}

/** The server answered, but not with a whole file. */
export function failedStatus(statusCode: number): SourceFailed {
  const passing = statusCode >= 500 || [408, 425, 429].includes(statusCode);
  const message = `cannot download: the server answered ${statusCode}`;
  return sourceFailed({ code: `HTTP_${statusCode}`, message, statusCode, passing });
}

/**
 * What went wrong on the way, as data. Codes we have no words for are told as they are. An error without a code is
 * none of the network's, and is thrown on.
 */
export function failedBy(error: unknown, stage: "answer" | "body"): unknown {
  if (error instanceof SourceFailed) return error;
  const code = codeOf(error);
  if (code === undefined) return error;
  const named = (stage === "answer" ? inAnswer : inBody)[code] ?? code;
  if (isKnown(named)) return failed(named, error);
  return sourceFailed({ code: named, message: `cannot download: ${named}`, passing: false }, error);
}

/** undici's parser errors have no code, but a name. */
function codeOf(error: unknown): string | undefined {
  if (error instanceof errors.HTTPParserError) return error.name;
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

function isKnown(code: string): code is FailureCode {
  return Object.hasOwn(reasons, code);
}

function sourceFailed(
  failure: { code: string; message: string; statusCode?: number; passing: boolean },
  cause?: unknown,
): SourceFailed {
  // A parser error holds a piece of the answer, which is not for logs.
  const kept = cause instanceof errors.HTTPParserError ? undefined : { cause };
  return new SourceFailed({ finding: findings.downloadFailed, ...failure }, kept);
}
