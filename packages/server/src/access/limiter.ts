import type { Limits, Tenant } from "./access-store.ts";
import { readings } from "./readings.ts";
import { SILENT_MS } from "./shared-counts.ts";
import { type TokenBucket, tokenBucket } from "./token-bucket.ts";

/** Who asks: its limits are those of its key and those of its tenant, and both hold. */
interface Limited {
  account: { tenant: string; key: string };
  tenant: Pick<Tenant, "limits">;
  /** Of the key alone. */
  limits: Limits;
}

/**
 * Says whether a request is within the limits of its key and its tenant. What other processes let through is known a few seconds later
 * (`exchange`); what this one does, at once.
 */
export interface Limiter {
  /** Whether anything is limited at all; the rest need not be asked otherwise. */
  limits(caller: Limited): boolean;
  /** Takes one request of the rate. Undefined when it may go on. */
  request(caller: Limited): Refusal | undefined;
  /** Asks for a file to be queued, or scanned now. What is answered is ended with the request. */
  begin(caller: Limited, work: Work): Promise<Refusal | Begun>;
  /** To be called for every file that was queued or scanned, before its `end`, also for who has no limits. */
  accepted(account: Limited["account"], work: Work): void;
  /** What this process says to others; undefined when there is nothing to say. */
  own(): string | undefined;
  /** What the others said, by their names. */
  heard(others: ReadonlyMap<string, string>): void;
}

export type Work = "job" | "scan";

export interface Refusal {
  kind: "refused";
  limit: "rate_limit" | "monthly_files" | "monthly_bytes" | "jobs_waiting" | "scans_at_once";
  whose: "key" | "tenant";
  quota: number;
  afterSeconds: number;
}

export interface Begun {
  kind: "begun";
  end(): void;
}

export interface LimiterOptions {
  /** Counts a file of this month. */
  count(account: Limited["account"]): void;
  /** Of all keys of a tenant, with all that was counted here. While this throws, what was known before holds; at first, nothing. */
  usedThisMonth(tenant: string): Promise<ReadonlyMap<string, MonthlyUse>>;
  /** Jobs of a tenant that are not done, counted up to a limit; undefined where they cannot be counted. The same when it throws. */
  jobsWaiting(tenant: string, upTo: number): Promise<number | undefined>;
  /** Milliseconds since 1970, for months. */
  now(): number;
  /** Milliseconds of a clock that is never set. */
  elapsed(): number;
}

interface MonthlyUse {
  accepted: number;
  bytes: number;
}

/** This month's use is read again after so long, and the line of jobs. */
const MONTH_MS = 2000;
const WAITING_MS = 1000;
/** What is not asked for is forgotten: by then a bucket is full again, whatever it owed. */
const IDLE_MS = 60_000;
/** Keys and tenants that others hear of, those asked for last: what all of them say must fit into one item of DynamoDB. */
const MOST_SAID = 1500;
/** What each other process said is remembered for so many, and so many processes that are silent. */
const MOST_HEARD = 2 * MOST_SAID;
const MOST_SILENT = 1000;
/** When somebody else's job or scan may be over. */
const SOON_SECONDS = 2;

/** One key or one tenant. */
interface Count {
  bucket: TokenBucket | undefined;
  /** Requests let through since this process counts. */
  requests: number;
  /** Files that are asked for, and not accepted yet. */
  begun: number;
  /** Synchronous scans under way here, and elsewhere as far as is known. */
  scans: number;
  scansElsewhere: number;
  askedAt: number;
}

/** What is said to others: requests let through, and scans under way. */
type Said = Record<string, readonly [requests: number, scans: number]>;

interface Side {
  whose: Refusal["whose"];
  name: string;
  limits: Limits;
}

export function limiter(options: LimiterOptions): Limiter {
  const { now, elapsed } = options;
  /** Those asked for last stand last. */
  const counts = new Map<string, Count>();
  const months = readings<Map<string, MonthlyUse>>(MONTH_MS, elapsed);
  const lines = readings<{ jobs: number; upTo: number }>(WAITING_MS, elapsed);
  /** Requests that each other process had let through when it was last heard. */
  let before: Map<string, Map<string, number>> | undefined;
  let heardAt = Number.NEGATIVE_INFINITY;
  /** Those that were heard of, and are not now; those that were last stand last. What they do until they are again is not counted. */
  const silent = new Set<string>();

  function countOf(name: string): Count {
    const none = { bucket: undefined, requests: 0, begun: 0, scans: 0, scansElsewhere: 0, askedAt: 0 };
    const count = counts.get(name) ?? none;
    count.askedAt = elapsed();
    counts.delete(name);
    counts.set(name, count);
    return count;
  }

  function bucketOf(count: Count, perSecond: number): TokenBucket {
    count.bucket ??= tokenBucket(count.askedAt, perSecond);
    count.bucket.change(count.askedAt, perSecond);
    return count.bucket;
  }

  function nameOfMonth({ tenant }: Limited["account"]): string {
    return `${tenant} ${new Date(now()).toISOString().slice(0, 7)}`;
  }

  function monthOf(account: Limited["account"]): Promise<Map<string, MonthlyUse> | undefined> {
    return months.read(nameOfMonth(account), async () => {
      const used = await options.usedThisMonth(account.tenant);
      return new Map([...used].map(([key, { accepted, bytes }]) => [key, { accepted, bytes }]));
    });
  }

  async function jobsOf({ account, sides }: { account: Limited["account"]; sides: readonly Side[] }): Promise<number> {
    const upTo = Math.max(...sides.map(({ limits }) => limits.jobsWaiting ?? 0));
    const read = (): ReturnType<typeof lines.read> =>
      lines.read(account.tenant, async () => {
        const jobs = await options.jobsWaiting(account.tenant, upTo);
        return { jobs: jobs ?? Number.NEGATIVE_INFINITY, upTo };
      });
    let line = await read();
    // Counted for somebody who may have fewer.
    if (line && line.upTo < upTo) {
      lines.forget(account.tenant);
      line = await read();
    }
    return line?.jobs ?? 0;
  }

  return {
    limits: ({ limits, tenant }) => hasAny(limits) || hasAny(tenant.limits),

    request(caller) {
      const sides = sidesOf(caller);
      const taken: [Count, TokenBucket][] = [];
      let refusal: Refusal | undefined;
      for (const { whose, name, limits } of sides) {
        const quota = limits.requestsPerSecond;
        if (quota === undefined) continue;
        const count = countOf(name);
        const bucket = bucketOf(count, quota);
        const waitMs = bucket.waitMs(count.askedAt);
        const afterSeconds = waitMs / 1000;
        if (waitMs === 0) taken.push([count, bucket]);
        // Whoever waits for the shorter one is refused again.
        else if (afterSeconds > (refusal?.afterSeconds ?? 0))
          refusal = refused("rate_limit", { whose, quota, afterSeconds });
      }
      // Of both or of none: who is refused has used nothing.
      if (refusal) return refusal;
      for (const [count, bucket] of taken) {
        bucket.take(count.askedAt, 1);
        count.requests += 1;
      }
      return undefined;
    },

    async begin(caller, work) {
      const { account } = caller;
      const sides = sidesOf(caller);
      const asksFor = (name: keyof Limits): boolean => sides.some(({ limits }) => limits[name] !== undefined);
      const keys =
        asksFor("filesPerMonth") || asksFor("bytesPerMonth") ? ((await monthOf(account)) ?? new Map()) : new Map();
      const jobs = work === "job" && asksFor("jobsWaiting") ? await jobsOf({ account, sides }) : 0;
      // From here on at once: nobody comes between what is asked and what is counted.
      const all = sides.map((side) => ({ ...side, count: countOf(side.name) }));
      for (const { whose, limits, count } of all) {
        const uses: MonthlyUse[] = whose === "tenant" ? [...keys.values()] : [keys.get(account.key) ?? noUse];
        const over = beyond(limits, {
          files: uses.reduce((sum, use) => sum + use.accepted, count.begun),
          bytes: uses.reduce((sum, use) => sum + use.bytes, 0),
          jobs: work === "job" ? jobs + count.begun - count.scans : Number.NEGATIVE_INFINITY,
          scans: work === "scan" ? count.scans + count.scansElsewhere : Number.NEGATIVE_INFINITY,
        });
        if (over) {
          const afterSeconds = over.limit.startsWith("monthly") ? secondsOfMonth(now()) : SOON_SECONDS;
          return refused(over.limit, { whose, quota: over.quota, afterSeconds });
        }
      }
      const add = (by: number): void => {
        for (const { count } of all) {
          count.begun += by;
          if (work === "scan") count.scans += by;
        }
      };
      add(1);
      return { kind: "begun", end: () => add(-1) };
    },

    accepted(account, work) {
      options.count(account);
      // Where nobody is limited this is all.
      if (months.none && lines.none) return;
      const keys = months.known(nameOfMonth(account));
      if (keys) {
        const use = keys.get(account.key) ?? { ...noUse };
        use.accepted += 1;
        keys.set(account.key, use);
      }
      const line = work === "job" ? lines.known(account.tenant) : undefined;
      if (line) line.jobs += 1;
    },

    own() {
      const since = elapsed() - IDLE_MS;
      for (const [name, count] of counts) if (count.askedAt < since && count.begun === 0) counts.delete(name);
      months.clean();
      lines.clean();
      if (counts.size === 0) {
        before = undefined;
        return undefined;
      }
      const said: Said = {};
      for (const [name, { requests, scans }] of [...counts].slice(-MOST_SAID)) said[name] = [requests, scans];
      return JSON.stringify(said);
    },

    heard(others) {
      for (const count of counts.values()) count.scansElsewhere = 0;
      for (const process of before?.keys() ?? []) if (!others.has(process)) silent.add(process);
      // What they did in a longer time is not owed: it may have been no more than they might.
      const lately = elapsed() - heardAt <= SILENT_MS ? before : undefined;
      heardAt = elapsed();
      const known = new Map<string, Map<string, number>>();
      for (const [process, text] of others) {
        const isBack = silent.delete(process);
        const requestsOf = lately?.get(process) ?? new Map<string, number>();
        for (const [name, [requests, scans]] of Object.entries(JSON.parse(text) as Said)) {
          const last = requestsOf.get(name) ?? (lately && !isBack ? 0 : requests);
          requestsOf.delete(name);
          requestsOf.set(name, requests);
          const count = counts.get(name);
          if (!count) continue;
          count.scansElsewhere += scans;
          // Fewer than before: it had forgotten, and begun anew.
          count.bucket?.takeForOthers(elapsed(), requests < last ? requests : requests - last);
        }
        keepLast(requestsOf, MOST_HEARD);
        known.set(process, requestsOf);
      }
      keepLast(silent, MOST_SILENT);
      before = known;
    },
  };
}

function keepLast(all: Map<string, unknown> | Set<string>, most: number): void {
  for (const name of all.keys()) {
    if (all.size <= most) return;
    all.delete(name);
  }
}

const noUse: MonthlyUse = { accepted: 0, bytes: 0 };

/** The first limit that has nothing left for one more. */
function beyond(
  limits: Limits,
  used: { files: number; bytes: number; jobs: number; scans: number },
): { limit: Refusal["limit"]; quota: number } | undefined {
  const { filesPerMonth, bytesPerMonth, jobsWaiting, scansAtOnce } = limits;
  if (filesPerMonth !== undefined && used.files >= filesPerMonth)
    return { limit: "monthly_files", quota: filesPerMonth };
  if (bytesPerMonth !== undefined && used.bytes >= bytesPerMonth)
    return { limit: "monthly_bytes", quota: bytesPerMonth };
  if (jobsWaiting !== undefined && used.jobs >= jobsWaiting) return { limit: "jobs_waiting", quota: jobsWaiting };
  if (scansAtOnce !== undefined && used.scans >= scansAtOnce) return { limit: "scans_at_once", quota: scansAtOnce };
  return undefined;
}

function refused(limit: Refusal["limit"], rest: Pick<Refusal, "whose" | "quota" | "afterSeconds">): Refusal {
  return { kind: "refused", limit, ...rest };
}

/** Neither has a space in its name. Keys of one name are one: while a key is exchanged, its limits are not doubled. */
function sidesOf({ account, tenant, limits }: Limited): readonly Side[] {
  return [
    { whose: "key", name: `${account.tenant} ${account.key}`, limits } as const,
    { whose: "tenant", name: account.tenant, limits: tenant.limits } as const,
  ].filter((side) => hasAny(side.limits));
}

function hasAny(limits: Limits): boolean {
  for (const _ in limits) return true;
  return false;
}

/** Until the next month of UTC begins. */
function secondsOfMonth(now: number): number {
  const day = new Date(now);
  return (Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + 1) - now) / 1000;
}
