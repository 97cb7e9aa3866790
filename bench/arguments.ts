import { parseArgs } from "node:util";

/** How long is measured. Ratios are medians of the rounds. */
export interface Pace {
  /** At least 5. */
  rounds: number;
  /** Of scans of files below 1 MB: many rounds, and short ones, as what clamd takes for a file on a disk changes within seconds. */
  smallRounds: number;
  smallMs: number;
  /** Of larger ones, of which few are done in a second; as many rounds as of all else. */
  largeMs: number;
  submitMs: number;
  /** Of jobs from submit to callback, for the same reason; and how many of them in one measurement. */
  jobRounds: number;
  jobs: number;
  signedJobs: number;
  /** Before the first measurement, which is of services that run for long: how long each of them is kept busy. */
  warmUpMs: number;
  jobsToWarmUp: number;
  /** Over which memory must not grow. */
  jobsForMemory: number;
  /** Of submits and jobs with many waiting, each of 2,000; and how many wait. */
  waitingRounds: number;
  waiting: number;
  /** Of 16 uploads at once that show the memory. */
  uploadMb: number;
}

export const FULL: Pace = {
  rounds: 7,
  smallRounds: 35,
  smallMs: 600,
  largeMs: 3000,
  submitMs: 3000,
  jobRounds: 28,
  jobs: 500,
  signedJobs: 250,
  warmUpMs: 10_000,
  jobsToWarmUp: 4000,
  jobsForMemory: 100_000,
  waitingRounds: 35,
  waiting: 1_000_000,
  uploadMb: 100,
};

export const QUICK: Pace = {
  rounds: 5,
  smallRounds: 9,
  smallMs: 250,
  largeMs: 700,
  submitMs: 400,
  jobRounds: 10,
  jobs: 150,
  signedJobs: 75,
  warmUpMs: 4000,
  jobsToWarmUp: 1500,
  jobsForMemory: 6000,
  waitingRounds: 9,
  waiting: 100_000,
  uploadMb: 10,
};

/** How often, and for how long each time, scans of files of this size are measured. */
export function scansAt(pace: Pace, bytes: number): { rounds: number; forMs: number } {
  const { rounds, smallRounds, smallMs, largeMs } = pace;
  return bytes < 1024 * 1024 ? { rounds: smallRounds, forMs: smallMs } : { rounds, forMs: largeMs };
}

export const PARTS = ["targets", "scan", "mix", "queue", "postgres", "seen", "sizing"] as const;
type Part = (typeof PARTS)[number];

export interface Arguments {
  parts: readonly Part[];
  pace: Pace;
  /** Of clamd; a small folder of ours if none is named. */
  signaturesDir?: string;
  /** Whether a target that was missed makes the exit code 1. */
  strict: boolean;
}

/** Answers a sentence when they make no sense. */
export function parseArguments(args: readonly string[]): Arguments | string {
  const options = {
    only: { type: "string" },
    quick: { type: "boolean" },
    signatures: { type: "string" },
    strict: { type: "boolean" },
  } as const;
  let values: { only?: string; quick?: boolean; signatures?: string; strict?: boolean };
  try {
    values = parseArgs({ args: [...args], options }).values;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const { only, quick = false, signatures, strict = false } = values;
  const part = PARTS.find((each) => each === only);
  if (only !== undefined && part === undefined) return `there is no benchmark ${only}`;
  const parts = part ? [part] : quick ? (["targets"] as const) : PARTS;
  if (strict && !parts.includes("targets")) return "--strict is about the targets, which this run does not measure";
  return { parts, pace: quick ? QUICK : FULL, strict, ...(signatures !== undefined && { signaturesDir: signatures }) };
}

/** What every part of the bench is given. */
export interface BenchOptions {
  /** On a disk: what is synced in memory costs nothing. */
  folder: string;
  clamd: { socketPath: string; pid: number };
  pace: Pace;
}
