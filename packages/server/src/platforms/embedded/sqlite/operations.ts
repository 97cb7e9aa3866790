import { RESULT_RETENTION_HOURS } from "@lazaret/contract";
import { browseOperations } from "./browse-operations.ts";
import { clockCare } from "./clock-care.ts";
import { familyOperations } from "./family-operations.ts";
import { jobOperations } from "./job-operations.ts";
import type { OpenDatabase } from "./open-database.ts";
import { outboxOperations } from "./outbox-operations.ts";
import { expectation, resultOperations, resultSweep } from "./result-operations.ts";

export const RESULT_MS = RESULT_RETENTION_HOURS * 3600 * 1000;

/** Everything that can be asked of an open database. */
export function operations({ db, sealer, clockLookEveryMs }: OpenDatabase) {
  const clock = clockCare(db, clockLookEveryMs);
  return {
    ...jobOperations(db, { sealer, clock, sweep: resultSweep(db, RESULT_MS), expect: expectation(db, sealer) }),
    ...browseOperations(db, { sealer, clock }),
    ...resultOperations(db, sealer),
    ...familyOperations(db, sealer),
    ...outboxOperations(db, sealer),
  };
}

type Operations = ReturnType<typeof operations>;
export type OperationName = keyof Operations;
export type ArgsOf<Name extends OperationName> = Parameters<Operations[Name]["run"]>[0];
export type ResultOf<Name extends OperationName> = ReturnType<Operations[Name]["run"]>;

/** One request on its way to the database. */
export interface Request {
  name: OperationName;
  args: unknown;
}
