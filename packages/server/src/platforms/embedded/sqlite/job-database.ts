import type { Connection } from "./connection.ts";
import { DatabaseUnavailable, unavailable } from "./database-unavailable.ts";
import type { ArgsOf, OperationName, Request, ResultOf } from "./operations.ts";
import type { Outcome } from "./run-batch.ts";

/** The database as the adapters see it. Throws `DatabaseUnavailable`, a kind of `QueueUnavailable`. */
export interface JobDatabase {
  /** What is asked within one turn of the event loop, or while a commit is under way, shares the next commit. */
  run<Name extends OperationName>(name: Name, args: ArgsOf<Name>): Promise<ResultOf<Name>>;
  /** Finishes what was asked before. */
  close(): Promise<void>;
}

interface Waiting {
  request: Request;
  settle(outcome: Outcome): void;
  fail(error: unknown): void;
}

/** So that no commit takes long, however many wait. */
const LARGEST_BATCH = 500;

export function jobDatabase(connection: Connection): JobDatabase {
  const waiting: Waiting[] = [];
  let flushing: Promise<void> | undefined;
  let closed = false;

  async function flush(): Promise<void> {
    while (waiting.length > 0) {
      await new Promise(setImmediate);
      const batch = waiting.splice(0, LARGEST_BATCH);
      try {
        const outcomes = await connection.run(batch.map(({ request }) => request));
        for (const [index, outcome] of outcomes.entries()) batch[index]?.settle(outcome);
      } catch (error) {
        for (const { fail } of batch) fail(error);
      }
    }
    flushing = undefined;
  }

  return {
    run<Name extends OperationName>(name: Name, args: ArgsOf<Name>): Promise<ResultOf<Name>> {
      if (closed) return Promise.reject(new DatabaseUnavailable("the job database is closed", "lazaret is stopping"));
      return new Promise<ResultOf<Name>>((resolve, reject) => {
        const settle = (outcome: Outcome): void => {
          if (outcome.kind === "value") resolve(outcome.value as ResultOf<Name>);
          else reject(outcome.kind === "unavailable" ? unavailable(outcome.failure) : outcome.error);
        };
        waiting.push({ request: { name, args }, settle, fail: reject });
        flushing ??= flush();
      });
    },

    async close() {
      closed = true;
      await flushing;
      await connection.close();
    },
  };
}
