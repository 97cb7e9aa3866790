import { type Job, redriven, shareOf } from "../../src/model/job.ts";
import type { Settlement } from "../../src/model/settlement.ts";
import {
  type HeldShares,
  type JobState,
  LEASE_SECONDS,
  MAX_ATTEMPTS,
  POISON,
  type Redrive,
} from "../../src/queue/job-queue.ts";

/** The queue as a plain list: what it should do, said as simply as possible. */
export interface QueueModel {
  add(job: Job): void;
  /** The jobs that are leased, in order, each with the number of its lease. */
  take(limit: number, shares?: HeldShares): { job: Job; attempt: number; lease: number }[];
  /** Whether the lease is the newest of its job, which is then written. */
  extend(lease: number): boolean;
  save(lease: number, job: Job): boolean;
  settle(lease: number, settlement: Settlement): boolean;
  redrive(ids: readonly string[] | "all", what?: Redrive): number;
  purge(ids: readonly string[] | "all"): number;
  advance(ms: number): void;
  /** Another process takes from now on: it has given nobody anything yet. */
  restart(): void;
  jobs(): Seen[];
  /** In the order in which they were added. */
  entries(): readonly QueueEntry[];
  stateOf(entry: QueueEntry): JobState;
  /** Those that may be taken now or later: the share first that holds least for its weight, then as `take` says. */
  open(shares?: HeldShares): QueueEntry[];
}

export interface Seen {
  id: string;
  state: JobState;
  attempts: number;
}

export interface QueueEntry {
  job: Job;
  /** Grows from job to job. */
  added: number;
  attempts: number;
  /** The wait for its turn, its delay or its lease: when it began and how long it lasts. */
  since: number;
  waitMs: number;
  lease: number | undefined;
  reason: string | undefined;
  /** When that was, and a number that grows from dead letter to dead letter. */
  buriedAt: number;
  buried: number;
}

type Entry = QueueEntry;

export const dueAt = (entry: QueueEntry): number => entry.since + entry.waitMs;

const ALL: HeldShares = { held: new Map(), perShare: Number.POSITIVE_INFINITY };

export interface ModelOptions {
  /** The model's own unless it is given one. */
  clock?: { now: number };
  /** Which share comes first when nothing else tells them apart. */
  lastWord?: readonly string[];
}

export function queueModel({ clock = { now: 0 }, lastWord = [] }: ModelOptions = {}): QueueModel {
  let entries: Entry[] = [];
  /** What each share was given, for its weight, and what those have at least who come now. */
  let given = new Map<string, number>();
  let least = 0;
  let leases = 0;
  let numbers = 0;

  const next = (): number => {
    numbers += 1;
    return numbers;
  };
  const holding = (lease: number): Entry | undefined => entries.find((entry) => entry.lease === lease);
  const chosen = (ids: readonly string[] | "all"): Entry[] =>
    entries.filter((entry) => entry.reason !== undefined && (ids === "all" || ids.includes(entry.job.id)));

  function begin(entry: Entry, waitMs: number): void {
    entry.since = clock.now;
    entry.waitMs = waitMs;
  }

  function bury(entry: Entry, reason: string): void {
    entry.lease = undefined;
    entry.reason = reason;
    entry.buriedAt = clock.now;
    entry.buried = next();
  }

  function stateOf(entry: Entry): JobState {
    if (entry.reason !== undefined) return "buried";
    if (dueAt(entry) <= clock.now) return "ready";
    return entry.lease === undefined ? "delayed" : "leased";
  }

  const turnOf = (share: string): number => Math.max(given.get(share) ?? 0, least);

  /** When the first job of each share is due. */
  function firstDue(): Map<string, number> {
    const first = new Map<string, number>();
    for (const entry of entries) {
      const share = shareOf(entry.job);
      if (entry.reason === undefined) first.set(share, Math.min(dueAt(entry), first.get(share) ?? dueAt(entry)));
    }
    return first;
  }

  function open({ held, perShare, weights }: HeldShares = ALL, first = firstDue()): Entry[] {
    const heldBy = ({ job }: Entry): number => held.get(shareOf(job)) ?? 0;
    const places = ({ job }: Entry): number[] => {
      const share = shareOf(job);
      const forWeight = (held.get(share) ?? 0) / (weights?.get(share) ?? 1);
      return [forWeight, Math.round(turnOf(share) * 1e6), first.get(share) ?? 0, lastWord.indexOf(share)];
    };
    return entries
      .filter((entry) => entry.reason === undefined && heldBy(entry) < perShare)
      .sort((a, b) => compare(places(a), places(b)) || dueAt(a) - dueAt(b));
  }

  /** All that one take gave, at once. */
  function give(taken: readonly { job: Job }[], weights: ReadonlyMap<string, number> = new Map()): void {
    if (taken.length === 0) return;
    const turns = [...Map.groupBy(taken, ({ job }) => shareOf(job))].map(
      ([share, { length }]) => [share, turnOf(share), length / (weights.get(share) ?? 1)] as const,
    );
    for (const [share, turn, more] of turns) given.set(share, turn + more);
    least = Math.min(...turns.map(([, turn]) => turn));
  }

  return {
    add(job) {
      const waiting = { attempts: 0, since: clock.now, waitMs: 0, lease: undefined };
      entries.push({ job, added: next(), ...waiting, reason: undefined, buriedAt: 0, buried: 0 });
    },

    take(limit, { held, perShare, weights = new Map() } = ALL) {
      for (const entry of entries) if (entry.since > clock.now) entry.since = clock.now;
      const shares = { held: new Map(held), perShare, weights };
      const first = firstDue();
      const taken: { job: Job; attempt: number; lease: number }[] = [];
      while (taken.length < limit) {
        const entry = open(shares, first).find((each) => stateOf(each) === "ready");
        if (!entry) break;
        if (entry.attempts === MAX_ATTEMPTS) {
          bury(entry, POISON);
          continue;
        }
        entry.attempts += 1;
        entry.lease = leases;
        leases += 1;
        begin(entry, LEASE_SECONDS * 1000);
        taken.push({ job: entry.job, attempt: entry.attempts, lease: entry.lease });
        shares.held.set(shareOf(entry.job), (shares.held.get(shareOf(entry.job)) ?? 0) + 1);
      }
      give(taken, weights);
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

    redrive(ids, what = "rest") {
      const letters = chosen(ids);
      for (const entry of letters) {
        entry.job = redriven(entry.job, what, clock.now);
        entry.attempts = 0;
        entry.reason = undefined;
        begin(entry, 0);
      }
      return letters.length;
    },

    purge(ids) {
      const purged = chosen(ids);
      entries = entries.filter((entry) => !purged.includes(entry));
      return purged.length;
    },

    advance(ms) {
      clock.now += ms;
    },

    restart() {
      given = new Map();
      least = 0;
    },

    jobs: () => entries.map((entry) => ({ id: entry.job.id, state: stateOf(entry), attempts: entry.attempts })),
    entries: () => entries,
    stateOf,
    open,
  };
}

function compare(one: readonly number[], other: readonly number[]): number {
  return one.map((number, at) => number - (other[at] ?? 0)).find((order) => order !== 0) ?? 0;
}
