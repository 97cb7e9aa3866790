import { RESULT_RETENTION_HOURS } from "@lazaret/contract";
import { accessOperations, auditSweep } from "./access-operations.ts";
import { browseOperations } from "./browse-operations.ts";
import { type Failure, failureOf } from "./database-unavailable.ts";
import { findingOperations, findingSweep } from "./finding-operations.ts";
import {
  HistoryDamaged,
  type HistoryWriter,
  historyOperations,
  historySweep,
  historyWriter,
} from "./history-operations.ts";
import { clockCare, jobOperations } from "./job-operations.ts";
import type { OpenDatabase } from "./open-database.ts";
import { outboxOperations } from "./outbox-operations.ts";
import {
  callbackFailureOperations,
  expectation,
  failureSweep,
  resultOperations,
  resultSweep,
  usageOperations,
} from "./result-operations.ts";
import { type TraceDigest, traceDigests } from "./trace-digests.ts";
import { type Durability, type Operation, operation, transactions } from "./transaction.ts";
import { upkeepOperations } from "./upkeep-operations.ts";

export const RESULT_MS = RESULT_RETENTION_HOURS * 3600 * 1000;

/** Everything that can be asked of an open database. Named part by part, so that declarations can be made of it. */
type Operations = ReturnType<typeof jobOperations> &
  ReturnType<typeof browseOperations> &
  ReturnType<typeof historyOperations> &
  ReturnType<typeof findingOperations> &
  ReturnType<typeof resultOperations> &
  ReturnType<typeof callbackFailureOperations> &
  ReturnType<typeof usageOperations> &
  ReturnType<typeof outboxOperations> &
  ReturnType<typeof accessOperations> &
  ReturnType<typeof upkeepOperations> & { writeAgain: Operation<{ now: number }, void> };

function operations(
  { db, sealer, clockCheckEveryMs }: OpenDatabase,
  parts: { traceDigest: TraceDigest; history: HistoryWriter },
): Operations {
  const { traceDigest, history } = parts;
  const clock = clockCare(db, clockCheckEveryMs);
  const writeAgain = db.prepare("UPDATE seal SET key_check = key_check");
  return {
    ...jobOperations(db, { sealer, clock, expect: expectation(db, traceDigest), history }),
    ...browseOperations(db, { sealer, clock }),
    ...historyOperations(db, { sealer, traceDigest }),
    ...findingOperations(db, sealer),
    ...resultOperations(db, { sealer, traceDigest }),
    ...callbackFailureOperations(db, sealer),
    ...usageOperations(db),
    ...outboxOperations(db, sealer),
    ...accessOperations(db),
    ...upkeepOperations(db, [
      resultSweep(db, RESULT_MS),
      failureSweep(db),
      auditSweep(db),
      historySweep(db),
      findingSweep(db),
    ]),

    /** Writes what is there already: a page, through the log of changes to the disk. */
    writeAgain: operation("durable", (_: { now: number }): void => {
      writeAgain.run();
    }),
  };
}

export type OperationName = keyof Operations;
export type ArgsOf<Name extends OperationName> = Parameters<Operations[Name]["run"]>[0];
export type ResultOf<Name extends OperationName> = ReturnType<Operations[Name]["run"]>;

/** One request on its way to the database. */
export interface Request {
  name: OperationName;
  args: unknown;
}

export type Outcome =
  | { kind: "value"; value: unknown }
  /** The storage's fault. */
  | { kind: "unavailable"; failure: Failure }
  /** Ours. */
  | { kind: "mistake"; error: unknown };

/** Runs requests together and answers an outcome for each, in their order. */
export type RunBatch = (requests: readonly Request[]) => Outcome[];

/** What damage one of them met with, or a mistake, is nothing to the others. */
function mayBeOfOne(outcome: Outcome): boolean {
  return outcome.kind === "mistake" || (outcome.kind === "unavailable" && outcome.failure.damaged === true);
}

/**
 * All that write share one transaction, and so one fsync. When the storage fails it fails for all of them; a mistake in
 * one of them, or what is damaged, does not fail the others. Those that only read come after, and do not depend on it.
 */
export function batchRunner(database: OpenDatabase): RunBatch {
  const { db, path, sealer, inPlace = () => {} } = database;
  const traceDigest = traceDigests(sealer);
  const history = historyWriter(db, { sealer, traceDigest });
  const table = operations(database, { traceDigest, history });
  const inTransaction = transactions(db);
  const kindOf = ({ name }: Request): "read" | Durability => table[name].kind;
  const run = ({ name, args }: Request): unknown => (table[name].run as (args: unknown) => unknown)(args);

  function attempt(requests: readonly Request[], work: () => unknown[]): Outcome[] {
    try {
      return work().map((value) => ({ kind: "value", value }));
    } catch (error) {
      const failure = failureOf(error, path);
      return requests.map(() => (failure ? { kind: "unavailable", failure } : { kind: "mistake", error }));
    }
  }

  /** Jobs that are finished go into the history together. */
  function runTogether(requests: readonly Request[], { withoutHistory = false } = {}): unknown[] {
    history.begin(withoutHistory);
    const values = requests.map(run);
    history.end();
    return values;
  }

  function inOne(requests: readonly Request[], durability: Durability): unknown[] {
    try {
      return inTransaction(durability, () => runTogether(requests));
    } catch (error) {
      if (!(error instanceof HistoryDamaged)) throw error;
      // Else no job could be settled as long as it is damaged, and each would be delivered for ever.
      return inTransaction(durability, () => runTogether(requests, { withoutHistory: true }));
    }
  }

  function write(requests: readonly Request[]): Outcome[] {
    if (requests.length === 0) return [];
    const durability = requests.some((request) => kindOf(request) === "durable") ? "durable" : "relaxed";
    const outcomes = attempt(requests, () => inOne(requests, durability));
    const isOfOne = requests.length > 1 && outcomes[0] && mayBeOfOne(outcomes[0]);
    return isOfOne ? requests.flatMap((request) => write([request])) : outcomes;
  }

  function runAll(requests: readonly Request[]): Outcome[] {
    const writes = requests.filter((request) => kindOf(request) !== "read");
    const written = write(writes);
    const outcomes = new Map(writes.map((request, index) => [request, written[index]]));
    return requests.flatMap((request) => outcomes.get(request) ?? attempt([request], () => [run(request)]));
  }

  return (requests) => {
    const outcomes = runAll(requests);
    // What is in a file that has no name any more is as good as lost, and nobody must think otherwise. Nor where that cannot be told.
    const looked = attempt(requests, () => [inPlace()]);
    return looked[0]?.kind === "value" ? outcomes : looked;
  };
}
