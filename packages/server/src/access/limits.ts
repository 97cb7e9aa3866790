import type { Limits } from "./access-store.ts";

type LimitName = keyof Limits;

/** Every limit: what it counts, and whether it may be written as a size (`10GB`). */
export const LIMITS: Readonly<Record<LimitName, { what: string; bytes: boolean }>> = {
  requestsPerSecond: { what: "requests in a second", bytes: false },
  filesPerMonth: { what: "files scanned in a month", bytes: false },
  bytesPerMonth: { what: "bytes scanned in a month, such as 500GB", bytes: true },
  jobsWaiting: { what: "jobs that wait at the same time", bytes: false },
  scansAtOnce: { what: "synchronous scans at the same time", bytes: false },
  largestFile: { what: "the largest file, such as 100MB", bytes: true },
};
export const LIMIT_NAMES = Object.keys(LIMITS) as LimitName[];

const UNITS: Record<string, number> = { "": 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 };
/** Beyond this a share is none. */
const HIGHEST_WEIGHT = 1000;

type Parsed = { value: number } | { problem: string };

/** A limit as somebody wrote it: a whole number from 1 on; a kilobyte has 1,024 bytes. */
export function parseLimit(name: LimitName, written: string): Parsed {
  const { bytes } = LIMITS[name];
  const [, number, unit = ""] = (bytes ? /^(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?$/i : /^(\d+)$/).exec(written) ?? [];
  const value = Math.round(Number(number) * (UNITS[unit.toLowerCase()] ?? 1));
  if (number !== undefined && value >= 1 && Number.isSafeInteger(value)) return { value };
  return { problem: bytes ? "must be a size, such as 4096, 500KB or 10GB" : "must be a whole number from 1 on" };
}

export function parseWeight(written: string): Parsed {
  const value = Number(written);
  if (/^\d+$/.test(written) && value >= 1 && value <= HIGHEST_WEIGHT) return { value };
  return { problem: `must be a whole number from 1 to ${HIGHEST_WEIGHT}` };
}

/** What is wrong with the name of a bucket in which `*` may stand for anything. */
export function bucketProblem(pattern: string): string | undefined {
  return /^[\w.*-]{1,255}$/.test(pattern) ? undefined : "must be the name of a bucket, in which * stands for anything";
}
