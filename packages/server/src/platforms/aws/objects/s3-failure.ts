import { findings } from "@lazaret/contract";
import { SourceFailed, type SourceFailure } from "../../../model/source.ts";
import { answeredStatus } from "../aws-unavailable.ts";

interface Reason {
  finding: string;
  words: string;
  passing: boolean;
}

const missing = (words: string): Reason => ({ finding: findings.objectNotFound, words, passing: false });
const denied = (words: string): Reason => ({ finding: findings.objectAccessDenied, words, passing: false });
const failed = (words: string, passing: boolean): Reason => ({ finding: findings.downloadFailed, words, passing });

/** An operator can mend these; jobs wait for that as long as they wait for any trouble that passes. */
const credentials = (words: string): Reason => ({ ...denied(words), passing: true });
const noCredentials: Reason = credentials("there are no credentials for the store");
const badCredentials: Reason = credentials("the store does not accept the credentials, or not for this region");
const oldCredentials: Reason = credentials("the credentials have expired");

const reasons: Readonly<Record<string, Reason>> = {
  NoSuchKey: missing("there is no such object"),
  NotFound: missing("there is no such object"),
  NoSuchVersion: missing("there is no such version"),
  NoSuchBucket: missing("there is no such bucket"),
  InvalidBucketName: missing("there can be no such bucket"),
  EndpointError: missing("there can be no such bucket here"),
  KeyTooLongError: missing("there can be no such key"),
  MethodNotAllowed: missing("that version marks that the object was deleted"),
  AccessDenied: denied("access is denied"),
  InvalidObjectState: denied("it is archived, and has to be restored first"),
  CredentialsProviderError: noCredentials,
  TokenProviderError: noCredentials,
  InvalidAccessKeyId: badCredentials,
  SignatureDoesNotMatch: badCredentials,
  AuthorizationHeaderMalformed: badCredentials,
  InvalidToken: badCredentials,
  InvalidSecurity: badCredentials,
  RequestTimeTooSkewed: credentials("the clocks of the store and of this machine are too far apart"),
  ExpiredToken: oldCredentials,
  ExpiredTokenException: oldCredentials,
  TokenRefreshRequired: oldCredentials,
  PermanentRedirect: failed("the bucket is in another region", true),
  RequestTimeout: failed("the store waited too long", true),
  SlowDown: failed("the store asks for fewer requests", true),
  ETIMEDOUT: failed("the store did not answer in time", true),
  ECONNREFUSED: failed("the connection was refused", true),
  ECONNRESET: failed("the connection was closed by the other side", true),
  ENOTFOUND: failed("the host name does not resolve", true),
};

const notUnderstood: Reason = failed("the store's answer cannot be understood", true);
const bodyReasons = {
  body_timeout: failed("the store stopped sending", true),
  short_body: failed("the body broke off before it was complete", true),
};

/** Statuses of HTTP that may be others in a while. */
const passingStatuses: readonly number[] = [408, 409, 425, 429];

/**
 * Undefined for an error that is none of the store's. Of the error itself only its name is passed on: what the store wrote
 * besides may hold account numbers or key ids, and what Node wrote the address.
 */
export function s3Failure(error: unknown, attempt: string): SourceFailure | undefined {
  if (error instanceof SourceFailed) return error.failure;
  if (!(error instanceof Error)) return undefined;
  const statusCode = answeredStatus(error);
  const code = codeOf(error, statusCode);
  if (code === undefined) return undefined;
  const reason =
    reasons[code] ?? (statusCode === undefined ? failed("the network failed", true) : byStatus(statusCode));
  const { finding, words, passing } = reason;
  const message = `cannot ${attempt}: ${words}`;
  return { finding, code, message, passing, ...(statusCode === undefined ? {} : { statusCode }) };
}

/** What `open` and `list` throw for it. The SDK's error is not kept: it holds the request with its signature. */
export function s3SourceFailed(error: unknown, attempt: string): unknown {
  const failure = s3Failure(error, attempt);
  return failure ? new SourceFailed(failure) : error;
}

/** A failure that we noticed ourselves. */
export function bodyFailed(code: "body_timeout" | "short_body"): SourceFailed {
  const { finding, words, passing } = bodyReasons[code];
  return new SourceFailed({ finding, code, message: `cannot read the object: ${words}`, passing });
}

/** The store says that all is well, and nothing that makes sense. */
export function badAnswer(attempt: string): SourceFailed {
  const { finding, words, passing } = notUnderstood;
  return new SourceFailed({ finding, code: "bad_response", message: `cannot ${attempt}: ${words}`, passing });
}

/** There cannot be what was asked for, whatever the store says. */
export function notThere(attempt: string, reason: { code: string; words: string }): SourceFailed {
  const { finding, words, passing } = missing(reason.words);
  return new SourceFailed({ finding, code: reason.code, message: `cannot ${attempt}: ${words}`, passing });
}

function byStatus(status: number): Reason {
  if (status < 300) return notUnderstood;
  if (status === 404) return missing("there is no such object");
  if (status === 405) return missing("that version marks that the object was deleted");
  if (status === 401 || status === 403) return denied("access is denied");
  return failed(`the store answered ${status}`, status >= 500 || passingStatuses.includes(status));
}

/** The SDK's own name for it, as the store's XML or Node has it; else the status. */
function codeOf(error: Error, statusCode: number | undefined): string | undefined {
  if (Object.hasOwn(reasons, error.name)) return error.name;
  if (statusCode !== undefined) return isName(error.name) ? error.name : `HTTP_${statusCode}`;
  if ("code" in error && typeof error.code === "string") return isOfNetwork(error.code) ? error.code : undefined;
  return error.name === "TimeoutError" ? "ETIMEDOUT" : undefined;
}

/** Node's other codes with ERR_ are for mistakes in a program. */
function isOfNetwork(code: string): boolean {
  return !code.startsWith("ERR_") || /^ERR_(TLS|SSL)_/.test(code);
}

/** Names that the SDK gives where the store gave none say less than the status. */
function isName(name: string): boolean {
  return (
    /^[A-Z][A-Za-z.]{2,63}$/.test(name) && !["Error", "UnknownError", "Unknown", "S3ServiceException"].includes(name)
  );
}
