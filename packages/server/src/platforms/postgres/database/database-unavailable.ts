import { QueueUnavailable } from "../../../model/faults.ts";

/** The database cannot be reached, read or written, and what an operator can do about it. */
export class DatabaseUnavailable extends QueueUnavailable {
  readonly hint: string;

  constructor(message: string, hint: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "DatabaseUnavailable";
    this.hint = hint;
  }
}

export type Failure =
  /** The connection was lost: what was asked may have been done, or not. Another try may find the server. */
  | { kind: "lost"; error: DatabaseUnavailable }
  /** Undone by the server because of others; another try helps. */
  | { kind: "undone"; error: DatabaseUnavailable }
  | { kind: "unavailable"; error: DatabaseUnavailable }
  /** Ours. */
  | { kind: "mistake" };

const SEEN = "look into the server's log; jobs accepted so far are kept";

/** By SQLSTATE, or its first two characters: what it means in words, and what helps. */
const meanings: Readonly<Record<string, readonly [words: string, hint: string]>> = {
  "28": ["access is refused", "LAZARET_POSTGRES_URL must name a user and password that the server accepts"],
  "3D": ["there is no such database", "make it: createdb -O USER NAME"],
  "25006": [
    "it takes no writes",
    "it is a replica, or set to read only; LAZARET_POSTGRES_URL must lead to the primary",
  ],
  "42501": ["the user lacks rights", "the user of LAZARET_POSTGRES_URL must own the schema or be granted its use"],
  "42P01": ["a table is missing", "run lazaret migrate"],
  "3F": ["the schema is missing", "run lazaret migrate"],
  "53100": ["the disk is full", "free some space there; jobs accepted so far are kept"],
  "53300": ["it has no connection left", "raise max_connections there, or lower LAZARET_POSTGRES_POOL"],
  "53": ["it lacks resources", SEEN],
  "54": ["a limit of the server is reached", SEEN],
  "55": ["somebody keeps it locked", "end the transaction that holds the lock (pg_stat_activity shows it)"],
  "57014": ["it took too long", "look for what keeps the server busy (pg_stat_activity shows it)"],
  "58": ["the server's disk reports an error", SEEN],
  XX: ["the server reports damage", SEEN],
};

const GONE = [
  "it cannot be reached",
  "start the server, or mend LAZARET_POSTGRES_URL; lazaret goes on by itself",
] as const;
const SLOW = ["it does not answer in time", "look for what keeps the server busy (pg_stat_activity shows it)"] as const;

export function failureOf(error: unknown): Failure {
  if (error instanceof DatabaseUnavailable) return { kind: "unavailable", error };
  if (!(error instanceof Error)) return { kind: "mistake" };
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (/^40/.test(code)) return { kind: "undone", error: unavailable(["others changed the same", SEEN], error) };
  // 57P: the server ends, or begins. 08: the protocol's own words for a lost connection.
  if (/^(?:08|57P)...?$/.test(code)) return { kind: "lost", error: unavailable(GONE, error) };
  const meaning = meanings[code] ?? meanings[code.slice(0, 2)];
  if (meaning && code.length === 5) return { kind: "unavailable", error: unavailable(meaning, error) };
  // pg's own words, which have no codes.
  if (/^Query read timeout/.test(error.message)) return { kind: "unavailable", error: unavailable(SLOW, error) };
  const gone =
    /^(?:Connection terminated|Client (?:has encountered|was closed)|timeout exceeded when trying to connect)/;
  if ("syscall" in error || error instanceof AggregateError || gone.test(error.message)) {
    return { kind: "lost", error: unavailable(GONE, error) };
  }
  return { kind: "mistake" };
}

/** The cause is told without what was asked: parameters of a statement are none of the log's business. */
function unavailable([words, hint]: readonly [string, string], cause: Error): DatabaseUnavailable {
  const code = "code" in cause ? ` (${cause.code})` : "";
  return new DatabaseUnavailable(`cannot use the job database: ${words}`, hint, {
    cause: new Error(`${cause.message}${code}`),
  });
}
