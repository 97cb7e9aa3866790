import type { Refusal } from "../access/limiter.ts";
import { Problem } from "./problem.ts";

interface Words {
  of(quota: number): string;
  policy(quota: number): string;
  hint: string;
}

/** What a limit is about, and the policy of it in the words of draft-ietf-httpapi-ratelimit-headers-11. */
const words: Record<Refusal["limit"], Words> = {
  rate_limit: {
    of: (quota) => `${counted(quota, "request")} per second`,
    policy: (quota) => (quota < 1 ? `q=1;w=${Math.ceil(1 / Math.max(quota, 1e-6))}` : `q=${Math.floor(quota)};w=1`),
    hint: "send requests more slowly, or try again after Retry-After",
  },
  monthly_files: {
    of: (quota) => `${counted(quota, "file")} per month`,
    policy: whole,
    hint: "a new month begins on its first day, UTC; an operator can raise the limit",
  },
  monthly_bytes: {
    of: (quota) => `${counted(quota, "byte")} per month`,
    policy: (quota) => `${whole(quota)};qu="content-bytes"`,
    hint: "a new month begins on its first day, UTC; an operator can raise the limit",
  },
  jobs_waiting: {
    of: (quota) => `${counted(quota, "job")} waiting`,
    policy: whole,
    hint: "submit more when some are done",
  },
  scans_at_once: {
    of: (quota) => `${counted(quota, "synchronous scan")} at once`,
    policy: (quota) => `${whole(quota)};qu="concurrent-requests"`,
    hint: "wait for the answer to one before the next, or use the asynchronous API",
  },
};

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function whole(quota: number): string {
  return `q=${Math.floor(quota)}`;
}

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
      "RateLimit-Policy": `"${limit}";${policy(quota)}`,
      RateLimit: `"${limit}";r=0;t=${seconds}`,
    },
  });
}
