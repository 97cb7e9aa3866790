import { QueueUnavailable } from "../../../model/faults.ts";

/** The database cannot be opened, read or written, and what an operator can do about it. */
export class DatabaseUnavailable extends QueueUnavailable {
  readonly hint: string;

  constructor(message: string, hint: string, options: ErrorOptions & { passes?: boolean } = {}) {
    super(message, options);
    this.name = "DatabaseUnavailable";
    this.hint = hint;
  }
}

/** The same on its way between threads, which errors do not survive whole. */
export interface Failure {
  message: string;
  hint: string;
  cause?: string;
  /** Something in it; the rest may be whole. */
  damaged?: true;
  /** It may end by itself. */
  passes?: boolean;
}

/** By SQLite's primary result code: what it means in words, and what helps. */
const meanings: Readonly<Record<number, readonly [words: string, hint: string]>> = {
  3: ["access is refused", "the data folder and its files must belong to the user that runs lazaret"],
  5: ["another process keeps it locked", "end the process that holds a transaction open (fuser shows it)"],
  6: ["another process keeps it locked", "end the process that holds a transaction open (fuser shows it)"],
  7: ["there is not enough memory", "give the process more memory"],
  8: ["it cannot be written", "the data folder and its files must be writable for the user that runs lazaret"],
  10: ["the disk reports an error", "look into the system's log for errors of the disk; jobs accepted so far are kept"],
  11: [
    "it is damaged",
    "stop lazaret and restore the data folder; to start with no jobs, move jobs.db* away and make an empty jobs.db",
  ],
  13: ["the disk is full", "free some space; jobs accepted so far are kept"],
  14: ["it cannot be opened", "the data folder must exist and belong to the user that runs lazaret"],
  26: [
    "it is not a database",
    "restore the data folder; to start with no jobs, move jobs.db* away and make an empty jobs.db",
  ],
};

const DAMAGED: readonly number[] = [11, 26];
/** A lock, no memory, a disk that is full or away. A file that cannot be opened may be one for which there is no free space. */
const PASSING: readonly number[] = [5, 6, 7, 10, 13, 14];

/** Whether the storage failed in a way that it may recover from: a disk that is full, a lock. */
export function mayPass(error: unknown): boolean {
  const code = error instanceof Error && "errcode" in error ? Number(error.errcode) & 0xff : undefined;
  return code !== undefined && code in meanings && !DAMAGED.includes(code);
}

/** Undefined when the error is not the storage's fault but a mistake of ours. */
export function failureOf(error: unknown, path: string): Failure | undefined {
  if (error instanceof DatabaseUnavailable) return { message: error.message, hint: error.hint, passes: error.passes };
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  const code = Number(error.errcode) & 0xff;
  const meaning = meanings[code];
  if (!meaning) return undefined;
  const [words, hint] = meaning;
  const damaged = DAMAGED.includes(code) && ({ damaged: true } as const);
  const cause = `${error.message} (SQLite ${error.errcode})`;
  return {
    message: `cannot use the job database at ${path}: ${words}`,
    hint,
    cause,
    passes: PASSING.includes(code),
    ...damaged,
  };
}

export function unavailable({ message, hint, cause, passes = false }: Failure): DatabaseUnavailable {
  return new DatabaseUnavailable(message, hint, { passes, ...(cause !== undefined && { cause: new Error(cause) }) });
}
