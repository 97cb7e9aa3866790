import type { ResultStore } from "../../deliver/result-store.ts";
import type { DeadLetters, JobBrowser, JobQueue } from "../../queue/job-queue.ts";
import { alarm } from "./alarm.ts";
import { prepareDataFolder } from "./data-folder.ts";
import { sqliteDeadLetters } from "./dead-letters.ts";
import { sqliteBrowser } from "./job-browser.ts";
import { sqliteQueue } from "./job-queue.ts";
import { sqliteResults } from "./results.ts";
import type { Connection } from "./sqlite/connection.ts";
import { jobDatabase } from "./sqlite/job-database.ts";
import { threadConnection } from "./sqlite/thread-connection.ts";

/** Jobs and results in one database, `jobs.db`, which several processes may have open at once. */
export interface JobStore {
  queue: JobQueue;
  results: ResultStore;
  deadLetters: DeadLetters;
  browser: JobBrowser;
  /** Finishes what was asked before, and ends all waiting. */
  close(): Promise<void>;
}

export interface JobStoreOptions {
  now?: () => number;
  /** How long to wait for other processes that write. */
  busyTimeoutMs?: number;
}

const BUSY_TIMEOUT_MS = 5000;

/** Throws `DatabaseUnavailable`, with a hint, when the data folder cannot be used. */
export async function openJobStore(dataDir: string, options: JobStoreOptions = {}): Promise<JobStore> {
  const { busyTimeoutMs = BUSY_TIMEOUT_MS, now = Date.now } = options;
  const { databasePath: path, secretKey } = await prepareDataFolder(dataDir);
  return jobStore(await threadConnection({ path, secretKey, busyTimeoutMs }), now);
}

/** The adapters on a connection that is open. */
export function jobStore(connection: Connection, now: () => number): JobStore {
  const store = { database: jobDatabase(connection), alarm: alarm(), now };
  return {
    queue: sqliteQueue(store),
    results: sqliteResults(store),
    deadLetters: sqliteDeadLetters(store),
    browser: sqliteBrowser(store),
    async close() {
      await store.database.close();
      store.alarm.stop();
    },
  };
}
