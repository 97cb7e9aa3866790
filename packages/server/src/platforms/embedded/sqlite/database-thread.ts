import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { Sealer } from "../../shared/sealed.ts";
import { type Failure, failureOf } from "./database-unavailable.ts";
import { type DatabaseOptions, type OpenDatabase, openDatabase } from "./open-database.ts";
import { batchRunner, type Outcome, type Request, type RunBatch } from "./operations.ts";

/** The thread that has the database open, and seals what goes into it. */
export type ThreadRequest = { kind: "batch"; requests: readonly Request[] } | { kind: "close" };
export type ThreadAnswer =
  | { kind: "ready" }
  | { kind: "refused"; failure: Failure }
  | { kind: "outcomes"; outcomes: Outcome[] };

export interface ThreadData {
  options: DatabaseOptions;
  /** Counts the requests: the thread sleeps until there is one more. */
  asked: Int32Array;
}

const { options, asked } = workerData as ThreadData;

const database = open();
if (database) serve(database);

function open(): OpenDatabase | undefined {
  try {
    return openDatabase(options);
  } catch (error) {
    const failure = failureOf(error, options.path);
    if (!failure) throw error;
    reply({ kind: "refused", failure });
    return undefined;
  }
}

/** Without an event loop, which takes a good part of the time of a small commit to wake up and to hand over one message. */
function serve(database: OpenDatabase): void {
  const runBatch = batchRunner(database);
  reply({ kind: "ready" });
  let heard = 0;
  while (answerNext(heard, runBatch, database.sealer)) heard += 1;
  database.db.close();
  parentPort?.close();
}

/** False for the last. A function of its own: what is compiled for a loop that never ends is thrown away as a whole, time and again. */
function answerNext(heard: number, runBatch: RunBatch, sealer: Sealer): boolean {
  // Who counts may be held up before it wakes us: by then we may have heard it, and wait for the next, which is not there yet.
  do Atomics.wait(asked, 0, heard);
  while (Atomics.load(asked, 0) === (heard | 0));
  const request: ThreadRequest | undefined = parentPort && receiveMessageOnPort(parentPort)?.message;
  // A request is there before it is counted. Not to end in silence, should that be wrong.
  if (!request) throw new Error(`request ${heard + 1} of ${Atomics.load(asked, 0)} is not there`);
  if (request.kind === "close") return false;
  reply({ kind: "outcomes", outcomes: runBatch(request.requests) });
  sealer.prepare();
  return true;
}

function reply(answer: ThreadAnswer): void {
  parentPort?.postMessage(answer);
}
