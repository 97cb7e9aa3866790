import { errors } from "undici";

/**
 * What goes wrong on the way to another machine and back, by Node's code or ours, in words. Clients know them by heart:
 * where downloads and POSTs have different words both are here, and where a POST has none it shows the code.
 */
type Words = string | { download: string; post?: string };

const failures = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: {
    download: "the connection was closed by the other side",
    post: "the connection was closed by the receiver",
  },
  ECONNABORTED: { download: "the connection was aborted" },
  EPIPE: {
    download: "the connection was closed by the other side",
    post: "the connection was closed by the receiver",
  },
  ETIMEDOUT: { download: "connecting took too long", post: "the receiver did not answer in time" },
  EHOSTUNREACH: "the host cannot be reached",
  EHOSTDOWN: { download: "the host is down" },
  ENETUNREACH: "the network cannot be reached",
  ENETDOWN: { download: "the network is down" },
  EADDRNOTAVAIL: { download: "no local port is free" },
  EMFILE: { download: "too many files are open" },
  ENFILE: { download: "too many files are open" },
  ENOTFOUND: "the host name does not resolve",
  EAI_AGAIN: "the name server does not answer",
  headers_timeout: { download: "the server did not answer in time" },
  body_timeout: { download: "the server stopped sending" },
  short_body: { download: "the body broke off before it was complete" },
  bad_response: "the answer is not valid HTTP",
  blocked_destination: {
    download: "the URL leads to an address or port that is not open to downloads",
    post: "the URL leads to an address or port that is not open to callbacks",
  },
} satisfies Record<string, Words>;

export type NetworkFailure = keyof typeof failures;

/** undici's names for what Node or we have a name for: until the headers have come, and in the body. */
const renamed: Readonly<Record<string, { answer?: NetworkFailure; body?: NetworkFailure }>> = {
  UND_ERR_HEADERS_TIMEOUT: { answer: "headers_timeout" },
  UND_ERR_BODY_TIMEOUT: { body: "body_timeout" },
  // All that breaks off the body makes it too short.
  UND_ERR_SOCKET: { answer: "ECONNRESET", body: "short_body" },
  UND_ERR_HEADERS_OVERFLOW: { answer: "bad_response" },
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: { answer: "bad_response", body: "short_body" },
  HTTPParserError: { answer: "bad_response", body: "short_body" },
};

/** The code of an error of an exchange. Undefined for an error without one, which is none of the network's. */
export function failureCode(error: unknown, stage: "answer" | "body" = "answer"): string | undefined {
  const code = codeOf(error);
  return code === undefined ? undefined : (renamed[code]?.[stage] ?? code);
}

/** The words for a code; undefined for a code that has none. */
export function failureWords(code: string, what: "download" | "post"): string | undefined {
  if (!isNetworkFailure(code)) return undefined;
  const words: Words = failures[code];
  return typeof words === "string" ? words : words[what];
}

export function isNetworkFailure(code: string): code is NetworkFailure {
  return Object.hasOwn(failures, code);
}

/** The error as a cause for logs. A parser error holds a piece of the answer, which is not for them. */
export function loggableCause(error: unknown): ErrorOptions | undefined {
  return error instanceof errors.HTTPParserError ? undefined : { cause: error };
}

/** undici's parser errors have no code of ours or Node's, but a name. */
function codeOf(error: unknown): string | undefined {
  if (error instanceof errors.HTTPParserError) return error.name;
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
