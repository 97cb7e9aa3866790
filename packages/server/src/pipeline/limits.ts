import { availableParallelism } from "node:os";
import {
  CONCURRENT_REQUESTS_P_PER_VCPU,
  CONCURRENT_REQUESTS_Q,
  SYNC_TIMEOUT_SECONDS,
  WAITING_PER_SLOT,
} from "@lazaret/contract";

/**
 * How much, how many and how long: the numbers that are ours to choose, and that stages are made with. Those of the spec are in
 * the contract package, those of a retry in retry-policy.ts, and those that only one file knows stand in it.
 */
const KIB = 1024;
const MIB = 1024 * KIB;

/** A queued job, and every scan that is made by its rules. */
export function jobLimits(settings: { jobMaxMib: number; jobTimeoutSeconds: number }): {
  maxBytes: number;
  maxSeconds: number;
} {
  return { maxBytes: settings.jobMaxMib * MIB, maxSeconds: settings.jobTimeoutSeconds };
}

/** Places for jobs and slots for synchronous scans of other shares, besides those that one share may hold. */
const SPARE = 1 / 4;

/** Files that are scanned at once: for the synchronous API and for the jobs of one share, and for those of the others besides. */
export interface ScansAtOnce {
  concurrency: number;
  spareScans: number;
  jobsAtOnce: number;
  spareJobs: number;
}

/** Files scanned at once by the synchronous API, unless an operator says otherwise. */
export function concurrencyOf(variant: "P" | "Q", vcpus: number = availableParallelism()): number {
  return variant === "Q" ? CONCURRENT_REQUESTS_Q : vcpus * CONCURRENT_REQUESTS_P_PER_VCPU;
}

export function scansAtOnce(settings: { concurrency: number; workers: number }, byEngine: number): ScansAtOnce {
  const concurrency = settings.concurrency || byEngine;
  const jobsAtOnce = settings.workers || concurrency;
  const [spareScans, spareJobs] = [concurrency, jobsAtOnce].map((atOnce) => Math.ceil(atOnce * SPARE)) as [
    number,
    number,
  ];
  return { concurrency, spareScans, jobsAtOnce, spareJobs };
}

/** As many as there can be at the same moment. */
export function allScans({ concurrency, spareScans, jobsAtOnce, spareJobs }: ScansAtOnce): number {
  return concurrency + spareScans + jobsAtOnce + spareJobs;
}

/** Of deploy/clamd.conf. */
const RECOMMENDED_CLAMD_THREADS = 36;
/** A scan takes a whole vCPU: more threads than this make nothing faster. */
const CLAMD_THREADS_PER_VCPU = 4;
const RECOMMENDED_CLAMD_QUEUE = 448;
/** Test files, readiness and commands, of each of some processes. */
const FURTHER_CONNECTIONS = 64;

/** The lines of clamd.conf that go with so many scans at once: none waits in clamd, and each may have two connections. */
export function clamdLines(atOnce: ScansAtOnce, vcpus: number = availableParallelism()): Record<string, string> {
  const scans = allScans(atOnce);
  const threads = Math.min(scans, Math.max(RECOMMENDED_CLAMD_THREADS, CLAMD_THREADS_PER_VCPU * vcpus));
  return {
    MaxThreads: String(threads),
    MaxQueue: String(Math.max(RECOMMENDED_CLAMD_QUEUE, 2 * scans + FURTHER_CONNECTIONS)),
  };
}

/** Deliveries cost a socket and a timer each; far more of them than scans can be under way. */
export const DELIVERIES_AT_ONCE = 750;
export const DELIVERIES_PER_SHARE = 500;
/** Jobs whose object is tagged or deleted have a socket each, and their report: a store that is silent holds them for long. */
export const FINISHES_AT_ONCE = 256;
export const FINISHES_PER_SHARE = 64;
/** Jobs that wait for a slow source have a socket and up to 256 KiB each. Two tenants whose sources drip must not take all of them. */
export const SLOW_AT_ONCE = 256;
export const SLOW_PER_SHARE = 64;
/** Suspects that are fetched or scanned: one alone, while the next come. */
export const SUSPECTS_AT_ONCE = 4;
export const SUSPECTS_PER_SHARE = 3;
/** So many POSTs wait for one receiver in this process; the jobs of the rest wait in the queue. */
export const LONGEST_LINE = 32;
/** How long a job is put back for when there is no room for it, and nobody knows when there will be. */
export const BUSY_SECONDS = 15;
/** How often an engine that could not be reached is asked whether it is back. */
export const ENGINE_PAUSE_MS = 2000;

const LONGEST_PAUSE_SECONDS = 30;
/** Before a program of ours that died so many times in a row soon after its start is started again: at once, then 1, 2, 4 s and so on. */
export function restartSeconds(earlyDeaths: number): number {
  return earlyDeaths <= 1 ? 0 : Math.min(2 ** (earlyDeaths - 2), LONGEST_PAUSE_SECONDS);
}

/** A synchronous request. */
export const SYNC_TIMEOUT_MS: number = SYNC_TIMEOUT_SECONDS * 1000;
/** What is larger is held on disk while it comes slowly. */
export const IN_MEMORY_BYTES: number = 64 * KIB;

/** Synchronous requests that wait for a slot. */
export function longestLine(settings: { waitingLine: number }, concurrency: number): number {
  return settings.waitingLine || concurrency * WAITING_PER_SLOT;
}

/** One try to tag or delete an object, with all its requests. A store that drips its answer gets no longer. */
export const ACT_TIMEOUT_MS = 15_000;
/** A message for topic and event bus, until it is kept. */
export const ANNOUNCE_TIMEOUT_MS = 30_000;

/** An engine that does not answer is not ready. */
export const HEALTH_TIMEOUT_MS = 5_000;
/** A queue that does not answer is not ready, and whoever asks has an answer within two seconds. */
export const QUEUE_ANSWER_MS = 1500;
/** Anybody may ask for readiness, any number of times. */
export const READINESS_MS = 500;
/** …and for the metrics. */
export const COUNTS_MS = 1000;
/** …and for what the console shows of both. */
export const ADMIN_COUNTS_MS = 1000;
/** The doctor has clamd scan files, and reads folders. */
export const DOCTOR_MS = 30_000;
/** Alarms on signatures that grow old wait for this line. */
export const SIGNATURE_AGE_EVERY_MS = 600_000;

/** A key that is shorter can be guessed. `dev` takes it all the same. */
export const SHORTEST_KEY = 16;
/** API keys and signing keys that were exchanged are in use from then on at the latest. */
export const KEYS_EVERY_MS = 60_000;
/** Keys and tenants that an operator makes or takes away: all processes have them within 10 s. */
export const ACCESS_EVERY_MS = 3000;
/** A tenants file that has changed must stay so for one look: it holds within 3 s. */
export const TENANTS_FILE_EVERY_MS = 1000;
/** When a key was last used is written down this often. */
export const USED_EVERY_MS = 60_000;
/** Keys that ended so long ago are looked for this often, and taken away. */
export const ENDED_EVERY_MS = 3_600_000;
/** Keys in LAZARET_API_KEYS_FILE and lazaret.json that have changed must stay so for one look: they hold within 10 s. */
export const KEY_FILES_EVERY_MS = 3000;
/** What processes count for limits is known to the others after two of these at the latest. */
export const COUNTS_SHARED_EVERY_MS = 2000;
/** Counted files are written down this often. */
export const USAGE_EVERY_MS = 2000;

/** Between SIGTERM and the end, whatever hangs. */
export const GRACE_MS = 25_000;
/** The last part of it, for what is cut off then to be put back and for everything to be closed. */
export const CLOSING_MS = 3_000;
