import type { OpenDatabase } from "./open-database.ts";
import type { Request } from "./operations.ts";
import { batchRunner, type Outcome } from "./run-batch.ts";

/** A way to the database. One batch at a time. */
export interface Connection {
  /** Rejects with `DatabaseUnavailable` when the database cannot be asked at all. */
  run(requests: readonly Request[]): Promise<Outcome[]>;
  close(): Promise<void>;
}

/**
 * In this thread, which stands still while the disk is asked.
 * @internal for tests with a clock of their own
 */
export function directConnection(database: OpenDatabase): Connection {
  const runBatch = batchRunner(database);
  return {
    run: async (requests) => runBatch(requests),
    close: async () => database.db.close(),
  };
}
