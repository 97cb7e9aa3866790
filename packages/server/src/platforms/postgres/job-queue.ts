import { turns } from "../../flow/turns.ts";
import { type Job, shareOf, traceOf } from "../../model/job.ts";
import type { Settlement } from "../../model/settlement.ts";
import {
  type HeldShares,
  isBefore,
  type JobQueue,
  LEASE_SECONDS,
  type Lease,
  MAX_ATTEMPTS,
  type QueueCounts,
  type ShareLine,
} from "../../queue/job-queue.ts";
import { jobOf, storedJob } from "../shared/stored-job.ts";
import { UNREADABLE } from "./database/browse-sql.ts";
import { DatabaseUnavailable } from "./database/database-unavailable.ts";
import { type Held, type Holder, jobWrites, type KeptJob, type Written } from "./database/job-writes.ts";
import { heardAtWrite, type StoreParts } from "./database/store-parts.ts";
import {
  countJobs,
  type LeasedRow,
  leaseSql,
  rebaseSql,
  sharesFromSql,
  sharesSql,
  sweepSql,
} from "./database/take-sql.ts";
import { keptJob } from "./job-history.ts";
import type { Upkeep } from "./upkeep.ts";

/** Other processes add jobs too, and a notification of that may be lost. */
const LONGEST_WAIT_MS = 1000;
const LEASE_MS = LEASE_SECONDS * 1000;
/** For a clock that was wrong for a moment only, in which a process wrote that died. */
const REBASE_EVERY_MS = 600_000;
const SWEEP_EVERY_MS = 10_000;
/**
 * Rows of jobs that are done stay in the index as long as any transaction is open that began before, such as a backup. While there
 * is work, they are passed only so often; a share that is new waits for that, too. One that had jobs lately is looked for each time,
 * or each of its jobs would wait so long while others have many.
 */
const SEE_ALL_EVERY_MS = 200;
const QUIET_SHARES = 100;
/** Longer than a transaction takes that adds jobs: what it adds is due when it began. */
const ADDING_MS = 1000;

/** Enough that no two shares are taken for one. */
const SHARE_BYTES = 12;
const DIGESTS_AT_HAND = 256;

interface Line extends ShareLine {
  share: string;
}

interface Look {
  now: number;
  lines: Line[];
}

export function postgresQueue(
  { connections, lane, wakeUps, sealer, times, schema }: StoreParts,
  { upkeep, keepsHistory }: { upkeep: Pick<Upkeep, "begin">; keepsHistory: boolean },
): JobQueue {
  const writes = jobWrites({ sealer, schema, shareDigest: digestOf });
  const sql = {
    shares: sharesSql(schema),
    sharesFrom: sharesFromSql(schema),
    lease: leaseSql(schema),
    rebase: rebaseSql(schema),
    sweep: sweepSql(schema),
  };
  let rebasedAt = 0;
  let sweptAt = Number.NEGATIVE_INFINITY;
  const digests = new Map<string, string>();
  const given = turns();
  /**
   * When the first job of each share was due at the last look, or that look if it was not due yet; quiet shares first. What lies before that in the
   * index is done, or was written by a transaction that took long: `SEE_ALL_EVERY_MS` finds it.
   */
  let begins = new Map<string, number>();
  let sawAllAt = Number.NEGATIVE_INFINITY;

  /** What is in clear must not show whose job it is. */
  function digestOf(share: string): string {
    const known = digests.get(share);
    if (known !== undefined) return known;
    if (digests.size === DIGESTS_AT_HAND) digests.clear();
    const digest = Buffer.from(sealer.digest(`share ${share}`)).toString("hex", 0, SHARE_BYTES);
    digests.set(share, digest);
    return digest;
  }

  /** Shares that may be taken from, whether or not a job of theirs is due already. */
  async function openShares(shares: HeldShares | undefined): Promise<Look> {
    const byDigest = (counts: ReadonlyMap<string, number> = new Map()): Map<string, number> =>
      new Map([...counts].map(([share, count]) => [digestOf(share), count]));
    const held = byDigest(shares?.held);
    const weights = byDigest(shares?.weights);
    const look = async (statement: string, values?: readonly unknown[]): Promise<Look> => {
      const rows = await connections.query<{ now: number; share: string | null; dueAt: number }>(statement, values);
      const all = rows.flatMap(({ share, dueAt }) =>
        share === null
          ? []
          : { share, dueAt, held: held.get(share) ?? 0, weight: weights.get(share) ?? 1, turn: given.of(share) },
      );
      const now = rows[0]?.now ?? 0;
      const found = new Map(all.map(({ share, dueAt }) => [share, Math.min(dueAt, now)]));
      const quiet = [...begins.keys()].filter((share) => !found.has(share)).slice(-QUIET_SHARES);
      begins = new Map([...quiet.map((share) => [share, now - ADDING_MS] as const), ...found]);
      all.sort((one, other) => (one.share < other.share ? -1 : 1));
      return { now, lines: all.filter((line) => line.held < (shares?.perShare ?? Number.POSITIVE_INFINITY)) };
    };
    if (performance.now() - sawAllAt < SEE_ALL_EVERY_MS && !times.wroteBack) {
      const found = await look(sql.sharesFrom, [[...begins.keys()], [...begins.values()]]);
      if (found.lines.some(({ dueAt }) => dueAt <= found.now)) return found;
    }
    const asked = performance.now();
    times.wroteBack = false;
    const found = await look(sql.shares);
    sawAllAt = asked;
    return found;
  }

  /**
   * A clock that was set back would make jobs wait as long as it was wrong. So a job whose delay or lease began in the future
   * waits its whole length again, from now on; never longer.
   */
  async function careForTime(now: number): Promise<boolean> {
    const due = now < times.latest || performance.now() - rebasedAt >= REBASE_EVERY_MS;
    times.latest = now;
    if (due) {
      sawAllAt = Number.NEGATIVE_INFINITY;
      for (let more = true; more; ) more = (await connections.query<{ more: boolean }>(sql.rebase))[0]?.more ?? false;
      rebasedAt = performance.now();
    }
    return due;
  }

  /** Results that are over, and what else has had its time; on the side of a take, because workers take all the time. */
  async function sweep(): Promise<void> {
    if (performance.now() - sweptAt < SWEEP_EVERY_MS) return;
    sweptAt = performance.now();
    for (const statement of sql.sweep) await connections.query(statement);
  }

  async function leaseSome(quotas: ReadonlyMap<string, number>): Promise<{ rows: LeasedRow[]; buried: number }> {
    const wanted = [[...quotas.keys()], [...quotas.values()]];
    const from = [...quotas.keys()].map((share) => begins.get(share) ?? 0);
    const rows = await connections.query<LeasedRow & { buried: number; seq: number | null }>(sql.lease, [
      ...wanted,
      MAX_ATTEMPTS,
      LEASE_MS,
      Math.max(...quotas.values()),
      from,
    ]);
    return { rows: rows.filter(({ seq }) => seq !== null), buried: rows[0]?.buried ?? 0 };
  }

  /** Undefined when it cannot be read, and was buried. */
  async function leaseOf({ id, token, attempt, sealed, ...row }: LeasedRow): Promise<Lease | undefined> {
    const holder = { id, token };
    const content = sealer.unseal(sealed, ["job", id]);
    if (content === undefined) {
      await lane.write(writes.bury, { ...holder, reason: UNREADABLE });
      return undefined;
    }
    const held = (job: Job): Held => ({ ...holder, job: storedJob(job) });
    return {
      job: jobOf(id, { ...row, content }),
      attempt,
      extend: async () => sure(await lane.write(writes.extend, { ...holder, leaseMs: LEASE_MS })),
      save: async (job) => sure(await lane.write(writes.save, held(job))),
      settle: (settlement) => settle(holder, attempt, settlement),
    };
  }

  /** In rounds, as a share that has fewer than its part leaves the rest to others. */
  async function takeInto(leases: Lease[], limit: number, shares: HeldShares | undefined): Promise<void> {
    const held = new Map(shares?.held);
    const first = new Map<string, number>();
    for (;;) {
      const { now, lines } = await openShares({ perShare: Number.POSITIVE_INFINITY, ...shares, held });
      if (await careForTime(now)) continue;
      const left = limit - leases.length;
      // What is taken in several rounds is shared out as if it were one.
      for (const { share, dueAt } of lines) if (!first.has(share)) first.set(share, dueAt);
      const due = lines.filter(({ dueAt }) => dueAt <= now);
      const quotas = divide(
        left,
        due.map((line) => ({ ...line, dueAt: first.get(line.share) ?? line.dueAt })),
        shares?.perShare,
      );
      if (quotas.size === 0) return;
      const { rows, buried } = await leaseSome(quotas);
      const found = (await Promise.all(rows.map(leaseOf))).filter((lease) => lease !== undefined);
      leases.push(...found);
      for (const { job } of found) held.set(shareOf(job), (held.get(shareOf(job)) ?? 0) + 1);
      if (leases.length === limit) return;
      // There are no more, or somebody else is at them.
      if (found.length + buried === 0 || (quotas.size === 1 && lines.length === 1 && buried === 0)) return;
    }
  }

  function serve(leases: readonly Lease[], weights: ReadonlyMap<string, number> = new Map()): void {
    const counts = new Map<string, number>();
    const weightOf = new Map<string, number>();
    for (const { job } of leases) {
      const share = digestOf(shareOf(job));
      counts.set(share, (counts.get(share) ?? 0) + 1);
      weightOf.set(share, weights.get(shareOf(job)) ?? 1);
    }
    given.served(counts, (share) => weightOf.get(share) ?? 1);
  }

  async function finish(holder: Holder, kept: KeptJob | undefined): Promise<Written> {
    try {
      return await lane.write(writes.finish, { ...holder, kept });
    } catch (error) {
      if (!kept || (error instanceof DatabaseUnavailable && error.kind !== "partly")) throw error;
      // Else no job could be settled as long as the history is damaged, and each would be delivered for ever.
      return await lane.write(writes.finish, { ...holder, kept: undefined });
    }
  }

  async function settle(holder: Holder, attempt: number, settlement: Settlement): Promise<boolean> {
    if (settlement.kind === "done") {
      const kept = settlement.job && keepsHistory ? keptJob(settlement.job, attempt, sealer) : undefined;
      return sure(await finish(holder, kept));
    }
    const held = { ...holder, job: storedJob(settlement.job) };
    if (settlement.kind === "buried") {
      return sure(await lane.write(writes.bury, { ...held, reason: settlement.reason }));
    }
    const delayMs = Math.round(settlement.afterSeconds * 1000);
    const written = sure(await lane.write(writes.putBack, { ...held, delayMs }));
    if (written) wakeUps.jobs.ring();
    return written;
  }

  function sure({ written, now }: Written): boolean {
    heardAtWrite(times, now);
    if (written !== undefined) return written;
    throw new DatabaseUnavailable(
      "cannot tell whether the job was written: the connection was lost",
      "lazaret goes on by itself; the job runs again if it was not",
    );
  }

  return {
    async add(job) {
      const { now } = await lane.write(writes.add, { id: job.id, trace: traceOf(job), job: storedJob(job) });
      heardAtWrite(times, now);
      const share = digestOf(shareOf(job));
      // A share that is new need not wait until all are looked for.
      if (!begins.has(share)) begins.set(share, now - ADDING_MS);
      wakeUps.jobs.ring();
    },

    async take(limit, shares) {
      await sweep();
      upkeep.begin();
      const leases: Lease[] = [];
      try {
        await takeInto(leases, limit, shares);
      } catch (error) {
        // Those that are leased already are run: left alone, they would look as if their worker had died.
        if (leases.length === 0) throw error;
      }
      serve(leases, shares?.weights);
      return leases;
    },

    async wait(signal, shares) {
      const { rings } = wakeUps.jobs;
      // Who cannot ask waits the whole time, and then hears from `take` what is wrong.
      const { now, lines } = await openShares(shares).catch(() => ({ now: 0, lines: [] }));
      if (wakeUps.jobs.rings !== rings) return;
      const ms = Math.min(LONGEST_WAIT_MS, ...lines.map(({ dueAt }) => dueAt - now));
      if (ms > 0) await wakeUps.jobs.sleep(ms, signal);
    },

    counts: (): Promise<QueueCounts> => countJobs(connections.query, schema),

    async unfinished(share, upTo) {
      const [found] = await connections.query<{ jobs: number }>(
        `SELECT count(*) AS jobs FROM (SELECT FROM ${schema}.jobs WHERE share = $1 LIMIT $2) AS few`,
        [digestOf(share), upTo],
      );
      return found?.jobs;
    },
  };
}

/**
 * How many to take of each share: one after the other to the share that comes first by then. A share that has fewer leaves its part to the next round.
 */
function divide(limit: number, lines: readonly Line[], perShare = Number.POSITIVE_INFINITY): Map<string, number> {
  const quotas = new Map<string, number>();
  if (lines.length === 1 && lines[0]) {
    const quota = Math.min(limit, perShare - lines[0].held);
    return quota > 0 ? quotas.set(lines[0].share, quota) : quotas;
  }
  const open = lines.map((line) => ({ ...line }));
  for (let given = 0; given < limit && open.length > 0; given += 1) {
    const next = open.reduce((best, line) => (isBefore(line, best) ? line : best));
    quotas.set(next.share, (quotas.get(next.share) ?? 0) + 1);
    next.held += 1;
    if (next.held >= perShare) open.splice(open.indexOf(next), 1);
  }
  return quotas;
}
