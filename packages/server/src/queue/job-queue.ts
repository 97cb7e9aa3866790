import { randomUUID } from "node:crypto";
import type { Job } from "../model/job.ts";
import type { JobCard } from "../model/job-card.ts";
import type { Life } from "../model/life.ts";
import type { Settlement } from "../model/settlement.ts";

/**
 * Keeps jobs until they are settled, through crashes at any moment. At least once: a job may be taken again although
 * somebody works on it (a lease that ran out), and then only the newest lease can write.
 *
 *   add ─▶ ready ──take──▶ leased ──settle──▶ done: gone
 *           ▲ ▲ ▲             │ │ └─────────▶ buried ──redrive──┐
 *           │ │ └──ran out────┘ └──again──▶ delayed ──due──┐    │
 *           │ └────────────────────────────────────────────┘    │
 *           └───────────────────────────────────────────────────┘
 *
 * Delays and leases are lengths of time. A clock that is set back makes nobody wait longer than the whole length once
 * more; one that is set forward only ends them early, or leaves leases as they are. Each adapter passes test/contracts/job-queue.ts and job-queue-time.ts.
 */
export interface JobQueue {
  /**
   * Resolves when the job is on disk (fsync) or in the queue service; it is due at once. Throws `QueueUnavailable` when
   * it cannot be kept. After a throw it may be there all the same, whole, when only the answer was lost.
   *
   * With a trace id it is the newest submission of that from then on, and stays so until its result came (`ResultStore`),
   * however long it waits. Both are kept or neither: a submission that is refused does not hide the result before it.
   */
  add(job: Job): Promise<void>;

  /**
   * Leases of jobs that are due, at most `limit`; waits for none. The share that holds least for its weight comes first, of
   * several such the one that this process has given least for its weight, then the one whose first job is due longest; inside
   * a share those due longest. The jobs of a share that holds all it may are passed over. A platform that cannot choose
   * hands out what comes. Each counts as an attempt. A job that was taken `MAX_ATTEMPTS` times without being settled is
   * buried with the reason `POISON` instead of being leased again. Throws `QueueUnavailable`.
   */
  take(limit: number, shares?: HeldShares): Promise<Lease[]>;

  /**
   * Resolves when a job may be due, so that workers need not ask all the time: at once when one is, early when this
   * process adds or puts back one, and in any case after about a second. Resolves at once when the signal is aborted. Jobs
   * that `take` would pass over are not waited for.
   */
  wait(signal: AbortSignal, shares?: HeldShares): Promise<void>;

  /** For metrics and readiness. */
  counts(): Promise<QueueCounts>;

  /**
   * Jobs of a share that are neither done nor buried, counted up to a limit and not beyond, for who may submit more. A platform may
   * leave out those that were not added as `counted`; undefined on one that cannot count by share. Throws `QueueUnavailable`.
   */
  unfinished(share: string, upTo: number): Promise<number | undefined>;
}

/** Who holds how many places of the worker that asks, by share (`shareOf`), and how many one share may hold. */
export interface HeldShares {
  readonly held: ReadonlyMap<string, number>;
  readonly perShare: number;
  /** Of the shares that have another weight than 1. */
  readonly weights?: ReadonlyMap<string, number>;
}

/** The jobs of one share, among those of others. */
export interface ShareLine {
  held: number;
  weight: number;
  /** What it was given by now: see `Turns`. */
  turn: number;
  /** When its first job is due, or was when the take began. */
  dueAt: number;
}

/** Which of two shares comes first. */
export function isBefore(one: ShareLine, other: ShareLine): boolean {
  // Thirds that add up to the same in another order differ in their last bit.
  const turn = Math.round((one.turn - other.turn) * 1e6);
  return (one.held / one.weight - other.held / other.weight || turn || one.dueAt - other.dueAt) < 0;
}

/** All of it throws `QueueUnavailable` when the queue cannot be asked: then the lease is neither kept nor lost. */
export interface Lease {
  readonly job: Job;
  /** How often the job was taken, this time included, since it was added, put back or redriven. */
  readonly attempt: number;
  /** Keeps the lease for another full time. False when it is lost: somebody else has the job now. Called at a third. */
  extend(): Promise<boolean>;
  /** Writes progress (the report) without settling. False when the lease is lost. Durable when it resolves. */
  save(job: Job): Promise<boolean>;
  /** Ends the lease. False when it was lost: then nothing was written. Durable when it resolves. */
  settle(settlement: Settlement): Promise<boolean>;
}

export interface QueueCounts {
  /** Due now, not leased. */
  ready: number;
  /** Put back, not due yet. */
  delayed: number;
  leased: number;
  buried: number;
  /** How long the longest due job has been waiting for a worker; 0 when there is none. */
  oldestSeconds: number;
}

/**
 * What an operator sees of dead letters and does with them, and what time does. Each adapter passes
 * test/contracts/dead-letters.ts.
 */
export interface DeadLetters {
  /** Newest first. */
  list(options: PageOptions): Promise<Page<DeadLetter>>;
  /** Undefined when there is none of that id. */
  show(id: string): Promise<DeadLetter | undefined>;
  /**
   * Puts dead letters back, due at once, their counts at zero. `rest` keeps their reports, so that only what is left is done; with
   * `whole` they are fetched and scanned again. Answers how many.
   */
  redrive(ids: readonly string[] | "all", what?: Redrive): Promise<number>;
  /** Deletes dead letters for good. Answers how many. */
  purge(ids: readonly string[] | "all"): Promise<number>;
  /**
   * Deletes those that were buried at that time or before, in milliseconds since 1970, and answers which. Undefined where the
   * platform does so by itself, and so is the next.
   */
  expire?(buriedBy: number): Promise<ExpiredLetter[]>;
  /** How many were buried at that time or before. */
  countBefore?(buriedBy: number): Promise<number>;
}

export type Redrive = "rest" | "whole";

export type ExpiredLetter = Pick<DeadLetter, "id" | "buriedAt">;

export interface DeadLetter {
  id: string;
  submittedAt: number;
  buriedAt: number;
  reason: string;
  /** Undefined when it cannot be read any more: the storage or its key was damaged. */
  job: JobCard | undefined;
}

/**
 * What an operator sees of all jobs that are not done. Used by the command line only. Each adapter passes
 * test/contracts/job-browser.ts.
 */
export interface JobBrowser {
  /** Newest first; of one state, or all. */
  list(options: PageOptions & { state?: JobState }): Promise<Page<JobEntry>>;
  /** Undefined when there is none of that id, or it is done. */
  show(id: string): Promise<JobEntry | undefined>;
}

export type JobState = "ready" | "delayed" | "leased" | "buried";

export interface JobEntry {
  id: string;
  state: JobState;
  submittedAt: number;
  /** How often it was taken since it was added, put back or redriven. */
  attempts: number;
  /** When it may be taken: put back until, or leased until. Undefined for a dead letter. */
  dueAt: number | undefined;
  /** As in `DeadLetter`. */
  job: JobCard | undefined;
  /** Undefined where `job` is, and in what an older version kept. */
  life?: Life | undefined;
}

interface PageOptions {
  limit: number;
  /** `next` of the page before. */
  after?: string;
}

export interface Page<Entry> {
  entries: Entry[];
  /** Undefined on the last page. */
  next: string | undefined;
}

export const LEASE_SECONDS = 30;
/** So often a worker may die while it scans a job alone. */
export const MAX_TRIALS = 3;
/**
 * …and with it in any other way: while it fetches or delivers, when nobody can tell whose fault it is. Far more than happens to a
 * bystander.
 */
export const MAX_ATTEMPTS = 20;
/** Why a job was buried that reached either. */
export const POISON = "poison";

const COUNTS = 0x1000;
let count = 0;
/** Many are made in the same millisecond. */
let last = { now: Number.NaN, front: "" };

/** A UUID of version 7: ids that are made one after the other lie next to each other in an index. */
export function newJobId(now: number = Date.now()): string {
  if (now !== last.now) {
    const time = now.toString(16).padStart(12, "0").slice(-12);
    last = { now, front: `${time.slice(0, 8)}-${time.slice(8)}-7` };
  }
  count = (count + 1) % COUNTS;
  const counted = count.toString(16).padStart(3, "0");
  return `${last.front}${counted}-${randomUUID().slice(19)}`;
}
