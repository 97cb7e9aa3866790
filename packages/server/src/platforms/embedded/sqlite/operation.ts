import type { Durability } from "./transaction.ts";

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
