import { errors } from "undici";

/** Why a callback is not delivered: data, not a fault. */
export interface CallbackFailure {
  /** Node's error code, `HTTP_<status>` or `blocked_destination`. */
  code: string;
  /** For people; never tells a resolved address. */
  message: string;
  statusCode?: number;
  /** POSTs that were tried so far, over all invocations. */
  attempts: number;
  /** Milliseconds since 1970. */
  lastAttemptAt: number;
}

/** How one POST ended. */
export type PostOutcome = { kind: "delivered"; statusCode: number } | PostFailure;

export interface PostFailure {
  kind: "failed";
  code: string;
  message: string;
  statusCode?: number;
}

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was closed by the receiver",
  EPIPE: "the connection was closed by the receiver",
  ETIMEDOUT: "the receiver did not answer in time",
  EHOSTUNREACH: "the host cannot be reached",
  ENETUNREACH: "the network cannot be reached",
  ENOTFOUND: "the host name does not resolve",
  EAI_AGAIN: "the name server does not answer",
  blocked_destination: "the URL leads to an address or port that is not open to callbacks",
  bad_response: "the answer is not valid HTTP",
};

/** undici's names for what Node or we have a name for. */
const renamed: Readonly<Record<string, string>> = {
  UND_ERR_SOCKET: "ECONNRESET",
  UND_ERR_HEADERS_OVERFLOW: "bad_response",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "bad_response",
};

/** Any 2xx counts as received; redirects are not followed, as they would take the client's headers elsewhere. */
export function outcomeOf(statusCode: number): PostOutcome {
  if (statusCode >= 200 && statusCode <= 299) return { kind: "delivered", statusCode };
  const message = `cannot call back: the receiver answered ${statusCode}`;
  return { kind: "failed", code: `HTTP_${statusCode}`, message, statusCode };
}

/**
 * An error of the exchange. Its own message is not passed on: it may hold an address or a piece of the answer. One
 * without a code is a failure all the same, so that no receiver can find a way to have a job run for ever.
 */
export function failureOf(error: unknown): PostFailure {
  const code = codeOf(error);
  return { kind: "failed", code, message: `cannot call back: ${words[code] ?? code}` };
}

function codeOf(error: unknown): string {
  if (error instanceof errors.HTTPParserError) return "bad_response";
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "EUNKNOWN";
  return renamed[code] ?? code;
}
