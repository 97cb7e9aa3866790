import type { DatabaseSync } from "node:sqlite";
import type { Retention } from "../../shared/retention.ts";

/** Before and after every time. */
export const FIRST = Number.MIN_SAFE_INTEGER;
export const LAST = Number.MAX_SAFE_INTEGER;

/**
 * `durable` is on disk when the transaction ends. `relaxed` survives the end of the process at any moment, but not a
 * power cut, unless something durable follows: for what may be forgotten together with the processes it was for.
 */
export type Durability = "durable" | "relaxed";

/** Does the work in one transaction: all of it is kept, or nothing. */
export type Transaction = <Result>(durability: Durability, work: () => Result) => Result;

/**
 * For who has many of them, with statements that are compiled once: compiled each time, they take some 15 µs of each commit.
 * The lock is taken first: upgrading a read to a write fails at once when another process wrote in between.
 */
export function transactions(db: DatabaseSync): Transaction {
  const begin = db.prepare("BEGIN IMMEDIATE");
  const commit = db.prepare("COMMIT");
  let set: Durability | undefined;
  return (durability, work) => {
    if (durability !== set) db.exec(`PRAGMA synchronous = ${durability === "durable" ? "FULL" : "NORMAL"}`);
    set = durability;
    begin.run();
    try {
      const result = work();
      commit.run();
      return result;
    } catch (error) {
      // SQLite ends the transaction itself after some faults.
      if (db.isTransaction) db.exec("ROLLBACK");
      throw error;
    }
  };
}

export function inTransaction<Result>(db: DatabaseSync, durability: Durability, work: () => Result): Result {
  return transactions(db)(durability, work);
}

/** Other work of the thread waits for no transaction longer than about this, however much there is to do. */
const SLICE_MS = 8;

/** Answers whether a transaction that began now has taken its time, and the rest is left to the next. */
export function timeSlice(): () => boolean {
  const endsAt = performance.now() + SLICE_MS;
  return () => performance.now() >= endsAt;
}

/** Deletes some of what is over, and answers whether there may be more. */
export type Sweep = (now: number, kept: Retention) => boolean;

/** One thing that can be asked of the database, run in its thread. Arguments and result can be cloned. */
export interface Operation<Args, Result> {
  kind: "read" | Durability;
  run(args: Args): Result;
}

/** Keeps the types of arguments and result. */
export function operation<Args, Result>(
  kind: Operation<Args, Result>["kind"],
  run: (args: Args) => Result,
): Operation<Args, Result> {
  return { kind, run };
}
