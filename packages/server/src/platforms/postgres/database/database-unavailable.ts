import { QueueUnavailable } from "../../../model/faults.ts";

/** What is known about a statement that failed, for who may try again. */
export type FailureKind =
  /** The connection was lost: what was asked may have been done, or not. Another try may find the server. */
  | "lost"
  /** No connection in time, or the server is about to start: nothing was done, and another try may find it ready. */
  | "late"
  /** Undone by the server because of others; another try helps. */
  | "undone"
  /** Nothing was done, as this server takes no writes; another may by now. */
  | "demoted"
  /** No answer in time: it may have been done, and another try would wait as long. */
  | "silent"
  /** A table is damaged, missing or closed to us: what has nothing to do with it may be done. */
  | "partly"
  | "unavailable";

const PASSING_KINDS: readonly FailureKind[] = ["lost", "late", "undone", "demoted", "silent"];
/** Classes of SQLSTATE: lack of resources, a limit, a lock, an operator, the server's disk. */
const PASSING_CODES = /^5[3-8]...$/;

interface DatabaseUnavailableOptions extends ErrorOptions {
  kind?: FailureKind | undefined;
  /** By its kind, if not given. */
  passes?: boolean;
}

/** The database cannot be reached, read or written, and what an operator can do about it. */
export class DatabaseUnavailable extends QueueUnavailable {
  readonly hint: string;
  readonly kind: FailureKind;

  constructor(message: string, hint: string, options: DatabaseUnavailableOptions = {}) {
    const { kind = "unavailable", passes = PASSING_KINDS.includes(kind), ...rest } = options;
    super(message, { ...rest, passes });
    this.name = "DatabaseUnavailable";
    this.hint = hint;
    this.kind = kind;
  }
}

const SEEN = "look into the server's log; jobs accepted so far are kept";
const BUSY = "look for what keeps the server busy (pg_stat_activity shows it)";

type Meaning = readonly [words: string, hint: string];

/** By SQLSTATE, or its first two characters: what it means in words, and what helps. */
const meanings: Readonly<Record<string, Meaning>> = {
  "25006": [
    "it takes no writes",
    "it is a standby, or set to read only; LAZARET_POSTGRES_URL must lead to the primary, or name all servers: a:5432,b:5432",
  ],
  "28": [
    "access is refused",
    "LAZARET_POSTGRES_URL must name a user and password that the server accepts; where pg_hba.conf wants TLS, add ?sslmode=verify-full",
  ],
  "3D": ["there is no such database", "make it: createdb -O USER NAME"],
  "3F": ["the schema is missing", "run lazaret migrate"],
  "42501": ["the user lacks rights", "the user of LAZARET_POSTGRES_URL must own the schema or be granted its use"],
  "42P01": ["a table is missing", "run lazaret migrate"],
  "53100": ["the disk is full", "free some space there; jobs accepted so far are kept, and lazaret goes on by itself"],
  "53300": ["it has no connection left", "raise max_connections there, or lower LAZARET_POSTGRES_POOL"],
  "53": ["it lacks resources", SEEN],
  "54": ["a limit of the server is reached", SEEN],
  "55": ["somebody keeps it locked", "end the transaction that holds the lock (pg_stat_activity shows it)"],
  "57014": ["it took longer than the server allows", `${BUSY}, or raise statement_timeout for this user`],
  "58": ["the server's disk reports an error", SEEN],
  XX: ["the server reports damage", SEEN],
};

const GONE: Meaning = [
  "it cannot be reached",
  "start the server, or mend LAZARET_POSTGRES_URL; lazaret goes on by itself when it is back",
];
const SLOW: Meaning = ["it does not answer in time", BUSY];
const NO_TLS: Meaning = ["it offers no TLS", "set ssl = on there, or sslmode=disable in LAZARET_POSTGRES_URL"];
const DISTRUSTED: Meaning = [
  "its certificate is not trusted",
  "sslrootcert in LAZARET_POSTGRES_URL must be the PEM file of the authority that signed it",
];
const MISNAMED: Meaning = [
  "its certificate is for another name",
  "write the host as the certificate has it, or use sslmode=verify-ca",
];
const STATEMENT_POOLING: Meaning = [
  "a pooler between takes no transactions",
  "set pool_mode = transaction there (or session): statement pooling cannot serve",
];
const UNHEARD: Meaning = [
  "somebody cancelled the wait for its standby",
  "it is committed there alone; lazaret writes it again until a standby has it",
];

/** Errors of TLS, as Node names them. */
const TLS_CODES = /^(?:CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|ERR_TLS_|ERR_SSL_|EPROTO$|INVALID_CA|HOSTNAME_MISMATCH)/;

/**
 * What an error of the driver means: a `DatabaseUnavailable`, or undefined when the mistake is ours. `where` is the server's name.
 */
export function unavailableFrom(error: unknown, where: string): DatabaseUnavailable | undefined {
  if (error instanceof DatabaseUnavailable) return error;
  if (!(error instanceof Error)) return undefined;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  const [kind, meaning] = meaningOf(code, error) ?? [];
  if (!kind || !meaning) return undefined;
  const [words, hint] = meaning;
  // The cause is told without what was asked: parameters of a statement are none of the log's business.
  const cause = new Error(code === "" ? error.message : `${error.message} (${code})`);
  return new DatabaseUnavailable(`cannot use the job database at ${where}: ${words}`, hint, {
    cause,
    kind,
    passes: PASSING_KINDS.includes(kind) || PASSING_CODES.test(code),
  });
}

function kindOf(code: string): FailureKind {
  if (code === "25006") return "demoted";
  return /^(?:XX...|42501|42P01)$/.test(code) ? "partly" : "unavailable";
}

function meaningOf(code: string, error: Error): readonly [FailureKind, Meaning] | undefined {
  const { message } = error;
  if (/statement pooling/.test(message)) return ["unavailable", STATEMENT_POOLING];
  if (code.startsWith("40")) return ["undone", ["others changed the same", SEEN]];
  if (code === "57P03") return ["late", GONE];
  // 57P: the server ends, or begins. 08: the protocol's own words for a lost connection. 25P03: it was idle in a transaction.
  if (/^(?:08...|57P..|25P03)$/.test(code)) return ["lost", GONE];
  const meaning = code.length === 5 ? (meanings[code] ?? meanings[code.slice(0, 2)]) : undefined;
  if (meaning) return [kindOf(code), meaning];
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return ["unavailable", MISNAMED];
  if (TLS_CODES.test(code)) return ["unavailable", DISTRUSTED];
  // pg's own words, which have no codes.
  if (/^The server does not support SSL/.test(message)) return ["unavailable", NO_TLS];
  if (/^SASL|password must be a string/.test(message)) return ["unavailable", meanings["28"] ?? GONE];
  if (/^Query read timeout/.test(message)) return ["silent", SLOW];
  if (/^timeout expired/.test(message)) return ["late", SLOW];
  if (/^(?:Connection terminated|Client (?:has encountered|was closed)|There was an error estab)/.test(message)) {
    return ["lost", GONE];
  }
  return "syscall" in error || error instanceof AggregateError ? ["lost", GONE] : undefined;
}

/** The commit was acknowledged before a standby had it, as somebody ended the wait for that. */
export function unheardByStandby(where: string): DatabaseUnavailable {
  const [words, hint] = UNHEARD;
  return new DatabaseUnavailable(`cannot use the job database at ${where}: ${words}`, hint, { kind: "lost" });
}
