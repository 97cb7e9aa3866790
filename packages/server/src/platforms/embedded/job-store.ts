import type { AccessStore } from "../../access/access-store.ts";
import type { AuditLog } from "../../access/audit-log.ts";
import type { SharedCounts } from "../../access/shared-counts.ts";
import type { CallbackFailures } from "../../deliver/callback-failures.ts";
import type { Findings } from "../../deliver/findings.ts";
import type { ResultStore } from "../../deliver/result-store.ts";
import { alarm } from "../../flow/alarm.ts";
import type { JobHistory } from "../../queue/job-history.ts";
import type { DeadLetters, JobBrowser, JobQueue } from "../../queue/job-queue.ts";
import type { UsageMeter } from "../../scan/usage-meter.ts";
import type { Outbox, OutboxLimits } from "../shared/messages/outbox.ts";
import { type Retention, USUAL_RETENTION } from "../shared/retention.ts";
import { sqliteAccess } from "./access-store.ts";
import { sqliteAudit } from "./audit-log.ts";
import { sqliteCallbackFailures } from "./callback-failures.ts";
import { prepareDataFolder } from "./data-folder.ts";
import { sqliteDeadLetters } from "./dead-letters.ts";
import { sqliteFindings } from "./findings.ts";
import { sqliteBrowser } from "./job-browser.ts";
import { sqliteHistory } from "./job-history.ts";
import { sqliteQueue } from "./job-queue.ts";
import { sqliteOutbox } from "./outbox.ts";
import { sqliteResults } from "./results.ts";
import { sqliteCounts } from "./shared-counts.ts";
import { type Connection, jobDatabase, threadConnection } from "./sqlite/job-database.ts";
import { sqliteUpkeep, type Upkeep } from "./upkeep.ts";
import { sqliteUsage } from "./usage.ts";

/** Jobs, results and messages in one database, `jobs.db`, which several processes may have open at once. */
export interface JobStore {
  queue: JobQueue;
  results: ResultStore;
  deadLetters: DeadLetters;
  browser: JobBrowser;
  history: JobHistory;
  findings: Findings;
  /** @internal tests do not wait for its time */
  upkeep: Pick<Upkeep, "sweep">;
  outbox: Outbox;
  callbackFailures: CallbackFailures;
  usage: UsageMeter;
  access: AccessStore;
  audit: AuditLog;
  sharedCounts: SharedCounts;
  /** Writes a page that is there already. Throws `DatabaseUnavailable`. */
  tryToWrite(): Promise<void>;
  /** Finishes what was asked before, and ends all waiting. */
  close(): Promise<void>;
}

export interface JobStoreOptions {
  now?: () => number;
  /** Milliseconds by a clock that nobody sets. A time that is told is taken for both. */
  elapsed?: () => number;
  /** How long to wait for other processes that write. */
  busyTimeoutMs?: number;
  outboxLimits?: OutboxLimits;
  /** How long finished jobs and findings are kept, and how many. */
  kept?: Retention;
}

const BUSY_TIMEOUT_MS = 5000;

/** Throws `DatabaseUnavailable`, with a hint, when the data folder cannot be used. */
export async function openJobStore(dataDir: string, options: JobStoreOptions = {}): Promise<JobStore> {
  const { busyTimeoutMs = BUSY_TIMEOUT_MS, now = Date.now } = options;
  const { databasePath: path, secretKey } = await prepareDataFolder(dataDir);
  return jobStore(await threadConnection({ path, secretKey, busyTimeoutMs }), now, options);
}

/**
 * The adapters on a connection that is open.
 * @internal tests bring connections that fail, or are in their own thread
 */
export function jobStore(
  connection: Connection,
  now: () => number,
  options: Pick<JobStoreOptions, "elapsed" | "outboxLimits" | "kept"> = {},
): JobStore {
  const { outboxLimits, kept = USUAL_RETENTION } = options;
  const { elapsed = now === Date.now ? () => performance.now() : now } = options;
  const store = { database: jobDatabase(connection), alarm: alarm(), now };
  // Jobs wake workers, messages those who send.
  const posted = alarm();
  const upkeep = sqliteUpkeep(store, kept);
  return {
    queue: sqliteQueue(store, { elapsed, upkeep, keepsHistory: kept.historyMost > 0 }),
    results: sqliteResults(store),
    deadLetters: sqliteDeadLetters(store),
    browser: sqliteBrowser(store),
    history: sqliteHistory(store, kept),
    findings: sqliteFindings(store, { kept, upkeep }),
    upkeep,
    callbackFailures: sqliteCallbackFailures(store),
    usage: sqliteUsage(store),
    access: sqliteAccess(store),
    audit: sqliteAudit(store),
    sharedCounts: sqliteCounts(store),
    outbox: sqliteOutbox({ ...store, alarm: posted }, outboxLimits),
    tryToWrite: () => store.database.run("writeAgain", { now: now() }),
    async close() {
      upkeep.stop();
      await store.database.close();
      store.alarm.stop();
      posted.stop();
    },
  };
}
