import type { Refusal } from "../access/limiter.ts";
import { Problem } from "./problem.ts";

/** What a limit is about, and the policy of it in the words of draft-ietf-httpapi-ratelimit-headers-11. */
const words: Record<Refusal["limit"], { of: (quota: number) => string; policy: string; hint: string }> = {
  rate_limit: {
    of: (quota) => `${quota} requests per second`,
    policy: ";w=1",
    hint: "send requests more slowly, or try again after Retry-After",
  },
  monthly_files: {
    of: (quota) => `${quota} files per month`,
    policy: "",
    hint: "a new month begins on its first day, UTC; an operator can raise the limit",
  },
  monthly_bytes: {
    of: (quota) => `${quota} bytes per month`,
    policy: ';qu="content-bytes"',
    hint: "a new month begins on its first day, UTC; an operator can raise the limit",
  },
  jobs_waiting: {
    of: (quota) => `${quota} jobs waiting`,
    policy: "",
    hint: "submit more when some are done",
  },
  scans_at_once: {
    of: (quota) => `${quota} synchronous scans at once`,
    policy: ';qu="concurrent-requests"',
    hint: "wait for the answer to one before the next, or use the asynchronous API",
  },
};

/** The 429 of a request beyond a limit. */
export function beyondLimit({ limit, whose, quota, afterSeconds }: Refusal): Problem {
  const { of, policy, hint } = words[limit];
  // A field of an HTTP header takes integers; a month has fewer seconds than this.
  const seconds = Math.min(Math.max(1, Math.ceil(afterSeconds)), 31 * 86_400);
  return new Problem(429, limit, {
    message: `the limit of this ${whose} is ${of(quota)}`,
    hint,
    headers: {
      "Retry-After": String(seconds),
      "RateLimit-Policy": `"${limit}";q=${Math.floor(quota)}${policy}`,
      RateLimit: `"${limit}";r=0;t=${seconds}`,
    },
  });
}
