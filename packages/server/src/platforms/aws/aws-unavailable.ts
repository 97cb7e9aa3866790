import { QueueUnavailable } from "../../model/faults.ts";

/** A service of AWS did not do what it was asked, and what an operator can do about it. */
export class AwsUnavailable extends QueueUnavailable {
  readonly hint: string;
  /** The service's name for it, or Node's. */
  readonly code: string;

  constructor(message: string, { hint, code, passes }: { hint: string; code: string; passes?: boolean }) {
    super(`${message} (${code})`, { passes });
    this.name = "AwsUnavailable";
    this.hint = hint;
    this.code = code;
  }
}

type Meaning = readonly [words: string, hint: string];

const throttled: Meaning = [
  "the service asks for fewer requests",
  "it passes by itself; if it happens often, raise the quotas of the account or the table's capacity",
];
const badCredentials: Meaning = [
  "the service does not accept the credentials",
  "check the role of the task or function, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
];
const expired: Meaning = [
  "the credentials have expired",
  "give the process a role, whose credentials renew themselves, or set new ones",
];
const denied: Meaning = [
  "access is denied",
  "the role needs the permissions on queue, table and key that the stack gives",
];
const noSuchQueue: Meaning = ["there is no such queue", "check the queue's URL, and the region"];
const noSuchTable: Meaning = ["there is no such table", "check the table's name, and the region"];
const noAnswer: Meaning = [
  "the service did not answer in time",
  "check the network: a private subnet needs a NAT gateway or endpoints for SQS and DynamoDB",
];
const unreachable: Meaning = ["the service cannot be reached", noAnswer[1]];
const closed: Meaning = ["the connection was closed by the other side", noAnswer[1]];
const PASSING: readonly Meaning[] = [throttled, noAnswer, unreachable, closed];

/** By the SDK's name for the error, or Node's code. */
const meanings: Readonly<Record<string, Meaning>> = {
  ProvisionedThroughputExceededException: throttled,
  RequestLimitExceeded: throttled,
  ThrottlingException: throttled,
  Throttling: throttled,
  RequestThrottled: throttled,
  RequestThrottledException: throttled,
  KmsThrottled: throttled,
  OverLimit: ["too many messages are in flight", "more than 120,000 jobs are leased at once; use fewer workers"],
  ExpiredToken: expired,
  ExpiredTokenException: expired,
  UnrecognizedClientException: badCredentials,
  InvalidClientTokenId: badCredentials,
  InvalidSignatureException: badCredentials,
  SignatureDoesNotMatch: badCredentials,
  MissingAuthenticationTokenException: badCredentials,
  CredentialsProviderError: [
    "there are no credentials",
    "give the process a role, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
  ],
  AccessDenied: denied,
  AccessDeniedException: denied,
  KmsAccessDenied: denied,
  QueueDoesNotExist: noSuchQueue,
  "AWS.SimpleQueueService.NonExistentQueue": noSuchQueue,
  ResourceNotFoundException: noSuchTable,
  TimeoutError: noAnswer,
  ETIMEDOUT: noAnswer,
  ECONNREFUSED: unreachable,
  ECONNRESET: closed,
  EPIPE: closed,
  ENOTFOUND: unreachable,
  EAI_AGAIN: unreachable,
};

/**
 * What is thrown for an error of the SDK. Of the error itself only its name is passed on: the rest may hold the request, with
 * its signature and the job.
 */
export function awsUnavailable(error: unknown, attempt: string): unknown {
  if (error instanceof QueueUnavailable || !(error instanceof Error)) return error;
  const status = answeredStatus(error);
  const code = codeOf(error);
  if (error.message === "Region is missing") {
    return new AwsUnavailable(`cannot ${attempt}: no region is set`, { hint: "set AWS_REGION", code: "no region" });
  }
  if (status === undefined && code === undefined) return error;
  const name = code ?? error.name;
  const meaning = meanings[name] ?? byStatus(status, name);
  const [words, hint] = meaning;
  const passes = PASSING.includes(meaning) || (status ?? 0) >= 500;
  return new AwsUnavailable(`cannot ${attempt}: ${words}`, { hint, code: name, passes });
}

/** An error that stands for one entry of a batch. */
export function entryUnavailable(attempt: string, code: string | undefined): AwsUnavailable {
  const name = code ?? "no answer for it";
  const [words, hint] = meanings[name] ?? ["the service refused it", "it may pass by itself"];
  return new AwsUnavailable(`cannot ${attempt}: ${words}`, { hint, code: name });
}

function byStatus(status: number | undefined, name: string): Meaning {
  if (status === undefined) return unreachable;
  if (status >= 500) return [`the service answered ${status}`, "it passes by itself; the AWS health page may say more"];
  return [`the service refused it with ${status}`, `this should not happen; ${name} says why`];
}

/** The code of Node's network errors, or the name of what the service answered. */
function codeOf(error: Error): string | undefined {
  if (Object.hasOwn(meanings, error.name)) return error.name;
  if ("code" in error && typeof error.code === "string" && /^E[A-Z_]+$/.test(error.code)) return error.code;
  return undefined;
}

/** The status of the answer that an error of the SDK stands for; undefined when there was none. */
export function answeredStatus(error: Error): number | undefined {
  if (!("$metadata" in error) || typeof error.$metadata !== "object" || error.$metadata === null) return undefined;
  const metadata = error.$metadata;
  return "httpStatusCode" in metadata && typeof metadata.httpStatusCode === "number"
    ? metadata.httpStatusCode
    : undefined;
}

/** The same where no hint is needed. An error of the SDK holds the request with its signature: it is not kept as a cause. */
export function awsFailure(attempt: string, error: unknown): Error {
  const { name, message } = error instanceof Error ? error : { name: "Error", message: String(error) };
  return new Error(`cannot ${attempt}: ${name}${message && message !== name ? `, ${message}` : ""}`);
}
