import { findings } from "@lazaret/contract";
import { SourceFailed } from "../model/source.ts";
import { failureCode, failureWords, isNetworkFailure, loggableCause, type NetworkFailure } from "../net/failures.ts";

/** What a failed download is called in a report, and in words. `passing` ones are worth another try. */
interface Reason {
  words: string;
  passing: boolean;
}

/** What a server can do wrong besides what goes wrong on the way. */
const ofServers = {
  too_slow: { words: "the server sends too slowly", passing: true },
  bad_encoding: { words: "the body is not valid in its encoding, or is cut short", passing: false },
  unsupported_encoding: { words: "the body has an encoding that cannot be read", passing: false },
  invalid_url: { words: "the URL is not valid", passing: false },
  bad_redirect: { words: "the server redirects to something that is not a valid URL", passing: false },
  too_many_redirects: { words: "there are too many redirects", passing: false },
} satisfies Record<string, Reason>;

/**
 * What goes wrong on the way passes, but for these: the policy is the same in five seconds, and so is a certificate, which
 * has no words of ours. A name that does not resolve passes: resolvers give that answer for names just made, and while they
 * start.
 */
const lasting: ReadonlySet<NetworkFailure> = new Set(["bad_response", "blocked_destination"]);

type FailureCode = keyof typeof ofServers | NetworkFailure;

export function failed(code: FailureCode, cause?: unknown): SourceFailed {
  const { words, passing } = reasonFor(code);
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
  const code = failureCode(error, stage);
  if (code === undefined) return error;
  if (isNetworkFailure(code)) return failed(code, error);
  return sourceFailed({ code, message: `cannot download: ${code}`, passing: false }, error);
}

function reasonFor(code: FailureCode): Reason {
  if (isNetworkFailure(code)) return { words: failureWords(code, "download") ?? code, passing: !lasting.has(code) };
  return ofServers[code];
}

function sourceFailed(
  failure: { code: string; message: string; statusCode?: number; passing: boolean },
  cause?: unknown,
): SourceFailed {
  return new SourceFailed({ finding: findings.downloadFailed, ...failure }, loggableCause(cause));
}
