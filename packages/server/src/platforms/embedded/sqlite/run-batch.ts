import { type Failure, failureOf } from "./database-unavailable.ts";
import type { OpenDatabase } from "./open-database.ts";
import { operations, type Request } from "./operations.ts";
import { type Durability, inTransaction } from "./transaction.ts";

export type Outcome =
  | { kind: "value"; value: unknown }
  /** The storage's fault. */
  | { kind: "unavailable"; failure: Failure }
  /** Ours. */
  | { kind: "mistake"; error: unknown };

/** Runs requests together and answers an outcome for each, in their order. */
export type RunBatch = (requests: readonly Request[]) => Outcome[];

/**
 * All that write share one transaction, and so one fsync. When the storage fails it fails for all of them; a mistake in
 * one of them does not fail the others. Those that only read come after, and do not depend on it.
 */
export function batchRunner(database: OpenDatabase): RunBatch {
  const { db, path, inPlace = () => {} } = database;
  const table = operations(database);
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

  function write(requests: readonly Request[]): Outcome[] {
    if (requests.length === 0) return [];
    const durability = requests.some((request) => kindOf(request) === "durable") ? "durable" : "relaxed";
    const outcomes = attempt(requests, () => inTransaction(db, durability, () => requests.map(run)));
    const alone = requests.length === 1 || outcomes[0]?.kind !== "mistake";
    return alone ? outcomes : requests.flatMap((request) => write([request]));
  }

  function runAll(requests: readonly Request[]): Outcome[] {
    const writes = requests.filter((request) => kindOf(request) !== "read");
    const written = write(writes);
    const outcomes = new Map(writes.map((request, index) => [request, written[index]]));
    return requests.flatMap((request) => outcomes.get(request) ?? attempt([request], () => [run(request)]));
  }

  return (requests) => {
    const outcomes = runAll(requests);
    // What is in a file that has no name any more is as good as lost, and nobody is told otherwise.
    const lost = attempt(requests, () => [inPlace()]);
    return lost[0]?.kind === "unavailable" ? lost : outcomes;
  };
}
