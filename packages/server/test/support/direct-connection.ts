import type { Connection } from "../../src/platforms/embedded/sqlite/job-database.ts";
import type { OpenDatabase } from "../../src/platforms/embedded/sqlite/open-database.ts";
import { batchRunner } from "../../src/platforms/embedded/sqlite/operations.ts";

/** A way to the database in this thread, which stands still while the disk is asked. */
export function directConnection(database: OpenDatabase): Connection {
  const runBatch = batchRunner(database);
  return { run: async (requests) => runBatch(requests), close: async () => database.db.close() };
}
