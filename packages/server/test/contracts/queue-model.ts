import { type Job, noFailures } from "../../src/model/job.ts";
import type { Settlement } from "../../src/model/settlement.ts";
import { type JobState, LEASE_SECONDS, MAX_ATTEMPTS, POISON } from "../../src/queue/job-queue.ts";

/** The queue as a plain list: what it should do, said as simply as possible. */
export interface QueueModel {
  add(job: Job): void;
  /** The jobs that are leased, in order, each with the number of its lease. */
  take(limit: number): { job: Job; attempt: number; lease: number }[];
  /** Whether the lease is the newest of its job, which is then written. */
  extend(lease: number): boolean;
  save(lease: number, job: Job): boolean;
  settle(lease: number, settlement: Settlement): boolean;
  redrive(ids: readonly string[] | "all"): number;
  purge(ids: readonly string[]): number;
  advance(ms: number): void;
  jobs(): Seen[];
}

export interface Seen {
  id: string;
  state: JobState;
  attempts: number;
}

interface Entry {
  job: Job;
  attempts: number;
  /** The wait for its turn, its delay or its lease: when it began and how long it lasts. */
  since: number;
  waitMs: number;
  lease: number | undefined;
  reason: string | undefined;
}

export function queueModel(): QueueModel {
  let entries: Entry[] = [];
  let now = 0;
  let leases = 0;

  const dueAt = (entry: Entry): number => entry.since + entry.waitMs;
  const holding = (lease: number): Entry | undefined => entries.find((entry) => entry.lease === lease);
  const chosen = (ids: readonly string[] | "all"): Entry[] =>
    entries.filter((entry) => entry.reason !== undefined && (ids === "all" || ids.includes(entry.job.id)));

  function begin(entry: Entry, waitMs: number): void {
    entry.since = now;
    entry.waitMs = waitMs;
  }

  function bury(entry: Entry, reason: string): void {
    entry.lease = undefined;
    entry.reason = reason;
  }

  function stateOf(entry: Entry): JobState {
    if (entry.reason !== undefined) return "buried";
    if (dueAt(entry) <= now) return "ready";
    return entry.lease === undefined ? "delayed" : "leased";
  }

  return {
    add(job) {
      entries.push({ job, attempts: 0, since: now, waitMs: 0, lease: undefined, reason: undefined });
    },

    take(limit) {
      for (const entry of entries) if (entry.since > now) entry.since = now;
      const taken: { job: Job; attempt: number; lease: number }[] = [];
      const due = entries.filter((entry) => stateOf(entry) === "ready").sort((a, b) => dueAt(a) - dueAt(b));
      for (const entry of due) {
        if (taken.length === limit) break;
        if (entry.attempts === MAX_ATTEMPTS) {
          bury(entry, POISON);
          continue;
        }
        entry.attempts += 1;
        entry.lease = leases;
        leases += 1;
        begin(entry, LEASE_SECONDS * 1000);
        taken.push({ job: entry.job, attempt: entry.attempts, lease: entry.lease });
      }
      return taken;
    },

    extend(lease) {
      const entry = holding(lease);
      if (entry) begin(entry, LEASE_SECONDS * 1000);
      return entry !== undefined;
    },

    save(lease, job) {
      const entry = holding(lease);
      if (entry) entry.job = job;
      return entry !== undefined;
    },

    settle(lease, settlement) {
      const entry = holding(lease);
      if (!entry) return false;
      entry.lease = undefined;
      if (settlement.kind === "done") {
        entries = entries.filter((each) => each !== entry);
        return true;
      }
      entry.job = settlement.job;
      if (settlement.kind === "buried") bury(entry, settlement.reason);
      else {
        entry.attempts = 0;
        begin(entry, settlement.afterSeconds * 1000);
      }
      return true;
    },

    redrive(ids) {
      const redriven = chosen(ids);
      for (const entry of redriven) {
        entry.job = { ...entry.job, ...noFailures };
        entry.attempts = 0;
        entry.reason = undefined;
        begin(entry, 0);
      }
      return redriven.length;
    },

    purge(ids) {
      const purged = chosen(ids);
      entries = entries.filter((entry) => !purged.includes(entry));
      return purged.length;
    },

    advance(ms) {
      now += ms;
    },

    jobs: () => entries.map((entry) => ({ id: entry.job.id, state: stateOf(entry), attempts: entry.attempts })),
  };
}
