import type { Settlement } from "../../model/settlement.ts";
import { type HeldShares, type JobQueue, LEASE_SECONDS, type Lease, MAX_ATTEMPTS } from "../../queue/job-queue.ts";
import { jobOf, storedJob } from "../shared/stored-job.ts";
import type { StoreParts } from "./sqlite/job-database.ts";
import type { Holder, LeasedJob, ShareCounts } from "./sqlite/job-operations.ts";
import { RESULT_MS } from "./sqlite/operations.ts";

/** Other processes add jobs too, without ringing our alarm. */
const LONGEST_WAIT_MS = 1000;

export function sqliteQueue({ database, alarm, now }: StoreParts): JobQueue {
  const leaseMs = LEASE_SECONDS * 1000;

  function leaseOf({ id, token, attempt, ...stored }: LeasedJob): Lease {
    const holder = { id, token };
    return {
      job: jobOf(id, stored),
      attempt,
      extend: () => database.run("extend", { ...holder, now: now(), leaseMs }),
      save: (job) => database.run("save", { ...holder, job: storedJob(job) }),
      settle: (settlement) => settle(holder, settlement),
    };
  }

  async function settle(holder: Holder, settlement: Settlement): Promise<boolean> {
    if (settlement.kind === "done") return database.run("finish", holder);
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
      const { traceId } = job;
      const expected = traceId === undefined ? {} : { expected: { traceId, expiresAt: now() + RESULT_MS } };
      await database.run("add", { id: job.id, job: storedJob(job), now: now(), ...expected });
      alarm.ring();
    },

    async take(limit, shares) {
      const args = { now: now(), limit, leaseMs, maxAttempts: MAX_ATTEMPTS };
      const taken = await database.run("take", { ...args, ...countsOf(shares) });
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

    counts: () => database.run("counts", { now: now() }),
  };
}

/** On their way to the database's thread. */
function countsOf(
  { held, perShare }: HeldShares = { held: new Map(), perShare: Number.MAX_SAFE_INTEGER },
): ShareCounts {
  return { held: [...held], perShare };
}
