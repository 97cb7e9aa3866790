import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type JobStoreOptions, openJobStore } from "../../src/platforms/embedded/job-store.ts";
import { USUAL_RETENTION } from "../../src/platforms/shared/retention.ts";
import { LEASE_SECONDS } from "../../src/queue/job-queue.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { accessStoreContract } from "./access-store.ts";
import { auditLogContract } from "./audit-log.ts";
import { callbackFailuresContract } from "./callback-failures.ts";
import { deadLettersContract } from "./dead-letters.ts";
import { findingsContract } from "./findings.ts";
import { jobBrowserContract } from "./job-browser.ts";
import { jobHistoryContract } from "./job-history.ts";
import { jobQueueContract } from "./job-queue.ts";
import { jobQueueTimeContract } from "./job-queue-time.ts";
import { poisonContract } from "./poison.ts";
import { resultStoreContract } from "./result-store.ts";
import { sharedCountsContract } from "./shared-counts.ts";
import type { Platform, Stores } from "./stores.ts";
import { usageContract } from "./usage.ts";

const embedded: Platform = {
  name: "the embedded platform",
  ordered: true,
  toldClock: true,
  async make(some) {
    const folder = temporaryFolder();
    const clock = { now: Date.UTC(2026, 0, 1) };
    const stores = await open(folder.path, clock, { kept: { ...USUAL_RETENTION, ...some } });
    return {
      ...stores,
      async [Symbol.asyncDispose]() {
        await stores[Symbol.asyncDispose]();
        folder[Symbol.dispose]();
      },
    };
  },
};

async function open(dataDir: string, clock: { now: number }, options: JobStoreOptions): Promise<Stores> {
  const now = (): number => clock.now;
  const store = await openJobStore(dataDir, { now, ...options });
  return {
    ...store,
    leaseSeconds: LEASE_SECONDS,
    now,
    async advance(seconds) {
      clock.now += seconds * 1000;
    },
    sweep: store.upkeep.sweep,
    async damageKept() {
      using db = new DatabaseSync(join(dataDir, "jobs.db"), { timeout: 10_000 });
      for (const table of ["history_content", "findings"]) {
        db.exec(`UPDATE ${table} SET sealed = zeroblob(length(sealed))`);
      }
    },
    another: () => open(dataDir, clock, options),
    async unwritable() {
      const locked = await open(dataDir, clock, { ...options, busyTimeoutMs: 1 });
      const lock = new DatabaseSync(join(dataDir, "jobs.db"), { timeout: 10_000 });
      lock.exec("BEGIN IMMEDIATE");
      return {
        ...locked,
        async [Symbol.asyncDispose]() {
          lock.close();
          await locked[Symbol.asyncDispose]();
        },
      };
    },
    [Symbol.asyncDispose]: store.close,
  };
}

jobQueueContract(embedded);
jobQueueTimeContract(embedded);
poisonContract(embedded);
deadLettersContract(embedded);
jobBrowserContract(embedded);
jobHistoryContract(embedded);
resultStoreContract(embedded);
findingsContract(embedded);
usageContract(embedded);
accessStoreContract(embedded);
auditLogContract(embedded);
sharedCountsContract(embedded);
callbackFailuresContract(embedded);
