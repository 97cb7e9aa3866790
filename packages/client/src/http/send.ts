import type { Connection } from "../connection.ts";
import { LazaretError, UnavailableError, UnexpectedAnswerError, UnreachableError } from "../errors.ts";
import { type Answer, answerError, isLostInProxy } from "./answer-error.ts";
import { readBytes, TooManyBytes } from "./read-bytes.ts";
import { waitBeforeRetryMs } from "./retry-policy.ts";
import { pause, timeLimit } from "./time-limit.ts";

export interface CallOptions {
  /** Ends the call, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** As in the client's options, for this call. */
  timeoutMs?: number | undefined;
  retries?: number | undefined;
}

interface ApiCall {
  method: "GET" | "POST";
  /** From `/api/v1` on. */
  path: string;
  /** Opened anew for each try. */
  body?: RequestBody | undefined;
  /** Statuses that are an answer and no error. */
  expect: readonly number[];
  /** To do it twice does something else than to do it once, as with jobs: not again when it may have been done. */
  makesJob?: boolean | undefined;
}

export interface RequestBody {
  contentType: string;
  /** False for what can be read only once: such a call is never tried again. */
  replayable: boolean;
  open(): Promise<OpenBody>;
}

export interface OpenBody {
  content: string | ReadableStream<Uint8Array>;
  sizeBytes?: number | undefined;
  /** Set when the content itself failed, so that the network is not blamed. */
  readonly failure?: LazaretError | undefined;
  /** Lets go of whatever was opened. */
  close(): void;
}

export type Send = (call: ApiCall, options: CallOptions) => Promise<Answer>;

const ANSWER_MAX_BYTES = 1024 * 1024;

/** Makes calls: with the key, a limited time for each try, and further tries for what may pass. */
export function sender(connection: Connection): Send {
  return async (call, options) => {
    const retries = call.body?.replayable === false ? 0 : (options.retries ?? connection.retries);
    for (let failed = 1; ; failed++) {
      const outcome = await tryOnce(connection, call, options);
      if (!(outcome instanceof LazaretError)) return outcome;
      const wait = mayPass(outcome, call)
        ? waitBeforeRetryMs({ failed, retries, retryAfterSeconds: outcome.retryAfterSeconds }, Math.random())
        : undefined;
      if (wait === undefined) throw outcome;
      await pause(wait, options.signal);
    }
  };
}

function mayPass(error: LazaretError, { makesJob = false }: ApiCall): boolean {
  if (isLostInProxy(error)) return !makesJob;
  return error instanceof UnavailableError || (error instanceof UnreachableError && error.code === "unreachable");
}

/** Resolves to an expected answer, or to why there is none. Rejects with the caller's reason to stop. */
async function tryOnce(connection: Connection, call: ApiCall, options: CallOptions): Promise<Answer | LazaretError> {
  const { signal } = options;
  signal?.throwIfAborted();
  const what = `${call.method} ${call.path.split("?")[0]} at ${connection.baseUrl}`;
  const timeoutMs = options.timeoutMs ?? connection.timeoutMs;
  const limit = timeLimit(timeoutMs, signal);
  let body: OpenBody | undefined;
  try {
    body = await call.body?.open();
    const response = await connection.fetch(`${connection.baseUrl}${call.path}`, {
      method: call.method,
      headers: headersOf(connection, call, body),
      // A redirected POST arrives as a GET, and what that answers says nothing about the file.
      redirect: "manual",
      signal: limit.signal,
      ...(body && { body: body.content, duplex: "half" }),
    });
    const text = new TextDecoder().decode(await readBytes(response.body, ANSWER_MAX_BYTES));
    const answer = { status: response.status, headers: response.headers, text };
    return call.expect.includes(answer.status) ? answer : answerError(what, answer, connection.apiKey);
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof LazaretError) return error;
    if (body?.failure) return body.failure;
    return noAnswer(what, error, limit.passed ? timeoutMs : undefined);
  } finally {
    limit.end();
    body?.close();
  }
}

function headersOf(connection: Connection, call: ApiCall, body: OpenBody | undefined): Record<string, string> {
  return {
    Accept: "application/json",
    Authorization: `Bearer ${connection.apiKey}`,
    ...(call.body && { "Content-Type": call.body.contentType }),
    ...(body?.sizeBytes !== undefined && { "Content-Length": String(body.sizeBytes) }),
  };
}

function noAnswer(what: string, error: unknown, timeoutMs: number | undefined): LazaretError {
  if (error instanceof TooManyBytes) {
    return new UnexpectedAnswerError(`${what}: the answer has ${error.message}`, { code: "unexpected_answer" });
  }
  if (timeoutMs !== undefined) {
    return new UnreachableError(`${what}: no answer within ${timeoutMs / 1000} s`, { code: "timeout", cause: error });
  }
  return new UnreachableError(`${what}: ${reasonOf(error)}`, {
    code: "unreachable",
    hint: "check that the server runs and that this is its address",
    cause: error,
  });
}

/** fetch hides what happened in its error's cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "the connection failed";
  const { cause } = error;
  return cause instanceof Error && cause.message ? cause.message : error.message;
}
