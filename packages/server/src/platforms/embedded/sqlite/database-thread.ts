import { parentPort, workerData } from "node:worker_threads";
import { type Failure, failureOf } from "./database-unavailable.ts";
import { type DatabaseOptions, openDatabase } from "./open-database.ts";
import { batchRunner, type Outcome, type Request } from "./operations.ts";

/** The thread that has the database open, and seals what goes into it. */
export type ThreadRequest = { kind: "batch"; requests: readonly Request[] } | { kind: "close" };
export type ThreadAnswer =
  | { kind: "ready" }
  | { kind: "refused"; failure: Failure }
  | { kind: "outcomes"; outcomes: Outcome[] };

const options = workerData as DatabaseOptions;

try {
  serve();
} catch (error) {
  const failure = failureOf(error, options.path);
  if (!failure) throw error;
  reply({ kind: "refused", failure });
}

function serve(): void {
  const database = openDatabase(options);
  const runBatch = batchRunner(database);
  parentPort?.on("message", (request: ThreadRequest) => {
    if (request.kind === "batch") return reply({ kind: "outcomes", outcomes: runBatch(request.requests) });
    database.db.close();
    parentPort?.close();
  });
  reply({ kind: "ready" });
}

function reply(answer: ThreadAnswer): void {
  parentPort?.postMessage(answer);
}
