import { traceOf } from "../../model/job.ts";
import type { Settlement } from "../../model/settlement.ts";
import {
  type HeldShares,
  type JobQueue,
  LEASE_SECONDS,
  type Lease,
  MAX_ATTEMPTS,
  type QueueCounts,
} from "../../queue/job-queue.ts";
import { finishedJob } from "../shared/finished-job.ts";
import { jobOf, storedJob } from "../shared/stored-job.ts";
import { buriedCount } from "./dead-letters.ts";
import type { HistoryRow } from "./sqlite/history-operations.ts";
import type { StoreParts } from "./sqlite/job-database.ts";
import type { Holder, LeasedJob, ShareCounts } from "./sqlite/job-operations.ts";
import { RESULT_MS } from "./sqlite/operations.ts";
import type { Upkeep } from "./upkeep.ts";

/** Other processes add jobs too, without ringing our alarm. */
const LONGEST_WAIT_MS = 1000;
/** Counting many takes this part of the time at most, however often it is asked for. */
const PART = 20;

interface QueueParts {
  elapsed(): number;
  upkeep: Pick<Upkeep, "begin">;
  keepsHistory: boolean;
}

export function sqliteQueue(
  { database, alarm, now }: StoreParts,
  { elapsed, upkeep, keepsHistory }: QueueParts,
): JobQueue {
  const leaseMs = LEASE_SECONDS * 1000;

  function leaseOf({ id, token, attempt, ...stored }: LeasedJob): Lease {
    const holder = { id, token };
    return {
      job: jobOf(id, stored),
      attempt,
      extend: () => database.run("extend", { ...holder, now: now(), leaseMs }),
      save: (job) => database.run("save", { ...holder, job: storedJob(job) }),
      settle: (settlement) => settle(holder, attempt, settlement),
    };
  }

  /** Of a job that leaves something behind. */
  function keptOf({ job }: Settlement & { kind: "done" }, attempts: number): { kept?: HistoryRow } {
    if (!job || !keepsHistory) return {};
    const finishedAt = now();
    const trace = traceOf(job);
    const content = JSON.stringify(finishedJob(job, { finishedAt, attempts }));
    const kept: HistoryRow = { submittedAt: job.submittedAt, finishedAt, content };
    if (trace) kept.trace = trace;
    return { kept };
  }

  async function settle(holder: Holder, attempt: number, settlement: Settlement): Promise<boolean> {
    if (settlement.kind === "done") return database.run("finish", { ...holder, ...keptOf(settlement, attempt) });
    const job = storedJob(settlement.job);
    if (settlement.kind === "buried") {
      return database.run("bury", { ...holder, job, now: now(), reason: settlement.reason });
    }
    const delayMs = Math.round(settlement.afterSeconds * 1000);
    const written = await database.run("putBack", { ...holder, job, now: now(), delayMs });
    if (written) alarm.ring();
    return written;
  }

  return {
    async add(job) {
      const trace = traceOf(job);
      const expected = trace && { expected: { trace, expiresAt: now() + RESULT_MS } };
      await database.run("add", { id: job.id, job: storedJob(job), now: now(), ...expected });
      alarm.ring();
    },

    async take(limit, shares) {
      const args = { now: now(), elapsed: elapsed(), limit, leaseMs, maxAttempts: MAX_ATTEMPTS };
      const taken = await database.run("take", { ...args, ...countsOf(shares) });
      upkeep.begin();
      return taken.map(leaseOf);
    },

    async wait(signal, shares) {
      const { rings } = alarm;
      // Who cannot ask waits the whole time, and then hears from `take` what is wrong.
      const dueMs = await database.run("untilDue", { now: now(), ...countsOf(shares) }).catch(() => undefined);
      if (alarm.rings !== rings) return;
      const ms = Math.min(dueMs ?? LONGEST_WAIT_MS, LONGEST_WAIT_MS);
      if (ms > 0) await alarm.sleep(ms, signal);
    },

    counts: queueCounts({ database, now }),
    unfinished: (share, upTo) => database.run("unfinished", { share, upTo }),
  };
}

/** On their way to the database's thread. */
function countsOf(
  { held, perShare, weights = new Map() }: HeldShares = { held: new Map(), perShare: Number.MAX_SAFE_INTEGER },
): ShareCounts {
  return { held: [...held], perShare, weights: [...weights] };
}

/**
 * Counts in steps, between which others have their turn. What takes several steps is remembered for a while, and may be off
 * by what moved meanwhile; fewer jobs are counted anew each time, and exactly.
 */
function queueCounts({ database, now }: Omit<StoreParts, "alarm">): () => Promise<QueueCounts> {
  let known: { counts: QueueCounts; until: number } | undefined;

  return async () => {
    const startedAt = performance.now();
    if (known && startedAt < known.until) return known.counts;
    const at = now();
    // Both are waited for together: one that fails alone, while nobody waits for it, would end the process.
    const [buried, { next: more, ...first }] = await Promise.all([
      buriedCount(database),
      database.run("counts", { now: at }),
    ]);
    const counts = { ...first, buried };
    for (let next = more; next !== undefined; ) {
      const part = await database.run("counts", { now: at, after: next });
      counts.ready += part.ready;
      counts.delayed += part.delayed;
      counts.leased += part.leased;
      next = part.next;
    }
    const tookMs = performance.now() - startedAt;
    known = more === undefined ? undefined : { counts, until: performance.now() + PART * tookMs };
    return counts;
  };
}
