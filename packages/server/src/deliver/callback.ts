import { setTimeout as pause } from "node:timers/promises";
import {
  CALLBACK_RETRIES,
  CALLBACK_RETRY_SECONDS,
  CALLBACK_TIMEOUT_SECONDS,
  CALLBACKS_PER_ORIGIN,
  type CallbackPayload,
  callbackHeaderNames as names,
} from "@lazaret/contract";
import { firstOf, timeLimit } from "../flow/time-limit.ts";
import type { LogEvent, LogFields } from "../log.ts";
import { type Callback, type Job, shareOf } from "../model/job.ts";
import type { Report } from "../model/report.ts";
import type { ConnectorFactory } from "../net/exchange.ts";
import { failureCode, failureWords } from "../net/failures.ts";
import { keptConnections } from "../net/kept-connections.ts";
import type { OriginList } from "../net/origin-list.ts";
import { linkFields, type Span, traceHeaders } from "../traces/spans.ts";
import type { CallbackFailure } from "./callback-failures.ts";
import { mergeHeaders } from "./callback-headers.ts";
import { type Receivers, receivers } from "./receivers.ts";
import { callbackPayload } from "./render.ts";
import type { SignCallback } from "./signature.ts";

type Delivery = { delivered: true } | { delivered: false; failure: CallbackFailure };

export interface CallbackSender {
  /**
   * One invocation: a POST, and up to five retries of whatever was not answered with 2xx. A refused destination is
   * tried as often as any other: what a name resolves to may change in a second, and each try of a job counts alike.
   * Throws `signal.reason` when the signal aborts, `Busy` before the first POST when too many wait for the receiver
   * already or it is in trouble, and when the callback cannot be signed.
   */
  send(job: Job, report: Report, signal: AbortSignal, watching?: Watching): Promise<Delivery>;
  /** Drops every connection. Invocations under way throw. */
  close(): Promise<void>;
}

/** Who wants to know of each POST. */
interface Watching {
  onPost?(post: Post): void;
  /** Of the run; each POST has one below it. */
  span?: Span | undefined;
}

/** One POST that ended, for people. */
interface Post {
  /** Counted over all invocations. */
  attempt: number;
  ms: number;
  status?: number;
  /** Why it failed. */
  code?: string;
}

export interface CallbackSenderOptions {
  connector: ConnectorFactory;
  /** Sent to receivers as `lazaret/<version>`, unless the client has a User-Agent of its own. */
  version: string;
  /** Cuts the payload down to what the installation's version knows. */
  shape?: (payload: CallbackPayload) => CallbackPayload;
  /** Callbacks are signed when it is given. */
  sign?: SignCallback;
  /** Who is sent the place of a POST in its trace. Nobody by default. */
  traced?: OriginList;
  /** One line for each POST. */
  log(event: LogEvent, fields: LogFields): void;
  /** For one POST, from the dial to the last of the answer's headers. */
  timeoutMs?: number;
  /** POSTs under way to one origin at once. */
  perOrigin?: number;
  /** So many invocations may wait for one origin, besides those whose POSTs are under way; any number by default. */
  longestLine?: number;
  /** A receiver that lets POSTs wait for so long is in trouble. */
  hangsAfterMs?: number;
  /** Milliseconds since 1970. */
  now?: () => number;
  /** Throws `signal.reason` when the signal aborts. */
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  /** From 0 to 1. */
  random?: () => number;
}

/** POSTs of one invocation. */
const POSTS_PER_INVOCATION: number = 1 + CALLBACK_RETRIES;

/** By how much of itself a wait is made longer or shorter at most, so that jobs that failed together part. */
const JITTER = 0.2;

/** How one POST ended. */
type PostOutcome = { kind: "delivered"; statusCode: number } | PostFailure;

interface PostFailure extends Pick<CallbackFailure, "code" | "message" | "statusCode"> {
  kind: "failed";
}

type Visit = ReturnType<Receivers["visit"]>;

export function callbackSender(options: CallbackSenderOptions): CallbackSender {
  const { version, sign, log, now = Date.now, sleep = pauseFor, random = Math.random } = options;
  const { timeoutMs = CALLBACK_TIMEOUT_SECONDS * 1000, perOrigin = CALLBACKS_PER_ORIGIN } = options;
  const { longestLine = Number.POSITIVE_INFINITY, shape = (payload) => payload, traced = () => false } = options;
  const places = receivers({
    posts: perOrigin,
    longestLine,
    ...(options.hangsAfterMs !== undefined && { hangsAfterMs: options.hangsAfterMs }),
    onTrouble: (receiver, trouble) => log("receiver", { receiver, trouble }),
  });
  const connections = keptConnections(options.connector);
  const closing = new AbortController();

  async function headersOf(
    job: Job,
    callback: Callback,
    post: { attempt: number; body: Uint8Array; startedAt: number; span: Span | undefined },
  ): Promise<string[]> {
    const timestamp = String(post.startedAt);
    return mergeHeaders({
      defaults: {
        Accept: "*/*",
        "User-Agent": `lazaret/${version}`,
        ...(post.span && traceHeaders(post.span, callback.headers)),
      },
      client: callback.headers,
      service: {
        "Content-Type": "application/json",
        "Content-Length": String(post.body.length),
        [names.deliveryId]: job.id,
        [names.deliveryAttempt]: String(post.attempt),
        ...(sign && {
          [names.timestamp]: timestamp,
          [names.signature]: await sign({
            timestamp,
            url: callback.url,
            body: post.body,
            ...(callback.tenantId !== undefined && { tenantId: callback.tenantId }),
          }),
        }),
      },
    });
  }

  /** The time starts when there is room at the origin, and so does the timestamp. */
  async function post(
    job: Job,
    callback: Callback,
    options: { url: URL; visit: Visit; retry: number; body: Uint8Array; signal: AbortSignal; span: Span | undefined },
  ): Promise<{ outcome: PostOutcome; attempt: number; startedAt: number }> {
    const { url, visit, retry, body, signal } = options;
    const attempt = attemptNumber(job, retry);
    const queuedAt = now();
    const place = await visit.enter(signal);
    let ended = Promise.resolve();
    const span = options.span && postSpan(options.span, url, { attempt, retry });
    try {
      const startedAt = now();
      const headers = await headersOf(job, callback, {
        attempt,
        body,
        startedAt,
        span: span && traced(url) ? span : undefined,
      });
      using limit = timeLimit(timeoutMs, signal);
      const outcome = await connections.post(url, { headers, body, mayReuse: retry === 0 }, limit.signal).then(
        (posted) => {
          ended = posted.ended;
          return posted.received ? delivered(posted.statusCode) : refused(posted.statusCode);
        },
        (error) => failed(error),
      );
      if (!signal.aborted) place.ended(outcome.kind === "delivered");
      span?.end({ status: outcome.statusCode, code: codeOf(outcome, signal) });
      log("callback", {
        job_id: job.id,
        trace_id: job.traceId,
        tenant: job.tenant,
        key: job.key || undefined,
        url: `${url.origin}${url.pathname}`,
        attempt,
        delivered: outcome.kind === "delivered",
        status: outcome.statusCode,
        code: codeOf(outcome, signal),
        waited_ms: startedAt - queuedAt,
        ms: now() - startedAt,
      });
      return { outcome, attempt, startedAt };
    } finally {
      span?.end({ error: "the POST was not made" });
      void ended.then(place.leave);
    }
  }

  return {
    async send(job, report, given, { onPost, span } = {}) {
      const { callback } = job;
      if (!callback) throw new Error(`cannot call back for job ${job.id}: it has no callback_url`);
      const url = new URL(callback.url);
      using visit = places.visit(url.origin, shareOf(job));
      using either = firstOf([given, closing.signal]);
      const { signal } = either;
      const body = Buffer.from(JSON.stringify(shape(callbackPayload(job, report))));

      for (let retry = 0; ; retry += 1) {
        const { outcome, attempt, startedAt } = await post(job, callback, { url, visit, retry, body, signal, span });
        onPost?.(postOf(outcome, { attempt, ms: now() - startedAt }));
        if (outcome.kind === "delivered") return { delivered: true };
        signal.throwIfAborted();
        if (retry === CALLBACK_RETRIES) {
          const { kind, ...failure } = outcome;
          return { delivered: false, failure: { ...failure, attempts: attempt, lastAttemptAt: startedAt } };
        }
        await sleep(retryWaitMs(retry + 1, random), signal);
      }
    },

    async close() {
      closing.abort(new Error("the callback sender is closed"));
      await connections.close();
    },
  };
}

/**
 * The wait before a retry inside an invocation, the first being 1: 0.25, 0.5, 1, 2, 4 s, each give or take a fifth.
 * @internal tested by property
 */
export function retryWaitMs(retry: number, random: () => number): number {
  const seconds = CALLBACK_RETRY_SECONDS * 2 ** (retry - 1);
  return Math.round(seconds * 1000 * (1 - JITTER + 2 * JITTER * random()));
}

/**
 * X-Delivery-Attempt: the POSTs of a job are counted over its invocations.
 * @internal tested by property
 */
export function attemptNumber(job: Job, retry: number): number {
  return job.failedCallbacks * POSTS_PER_INVOCATION + retry + 1;
}

function postSpan(above: Span, url: URL, { attempt, retry }: { attempt: number; retry: number }): Span {
  const fields = { ...linkFields(url.href), attempt, ...(retry > 0 && { retry }) };
  return above.child("callback", fields);
}

function delivered(statusCode: number): PostOutcome {
  return { kind: "delivered", statusCode };
}

function refused(statusCode: number): PostFailure {
  const message = `cannot call back: the receiver answered ${statusCode}`;
  return { kind: "failed", code: `HTTP_${statusCode}`, message, statusCode };
}

/**
 * An error of the exchange. Its own message is not passed on: it may hold an address or a piece of the answer. One
 * without a code is a failure all the same, so that no receiver can find a way to have a job run for ever.
 */
function failed(error: unknown): PostFailure {
  const code = failureCode(error) ?? "EUNKNOWN";
  return { kind: "failed", code, message: `cannot call back: ${failureWords(code, "post") ?? code}` };
}

function postOf(outcome: PostOutcome, post: Pick<Post, "attempt" | "ms">): Post {
  const { statusCode } = outcome;
  if (statusCode !== undefined) return { ...post, status: statusCode };
  return outcome.kind === "failed" ? { ...post, code: outcome.code } : post;
}

function codeOf(outcome: PostOutcome, signal: AbortSignal): string | undefined {
  if (outcome.kind === "delivered") return undefined;
  return signal.aborted ? "aborted" : outcome.code;
}

async function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  await pause(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
}
