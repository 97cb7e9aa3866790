import type { DatabaseSync } from "node:sqlite";
import { version } from "../../../version.ts";
import { DatabaseUnavailable } from "./database-unavailable.ts";
import { inTransaction } from "./transaction.ts";

/**
 * What brings a database from one version to the next; `user_version` counts those that were done. Never changed, only
 * added to.
 *
 * A job is in one of four states:
 *
 *   ready    due_at in the past
 *   delayed  due_at in the future, no token
 *   leased   due_at in the future, the end of the lease; lease_token
 *   buried   buried_at, no due_at, no token
 *
 * A job whose lease ran out is ready; its token stays until somebody else takes it. `since` is when due_at was written:
 * should the clock be set back behind it, the time between the two starts again.
 *
 * A message in the outbox is due, delayed or leased in the same way, and `added_at` is when its retention began.
 * `outbox_counts` has what waits for each receiver, which is written together with every change of the outbox, and what
 * became of the rest.
 *
 * Jobs that are done are kept in pages: what one transaction finished is sealed together, up to a size. `ids` and `traces` have one entry for
 * each job of the page, in its order; `upto` is how many jobs there were up to and with this page. Findings have a row each.
 *
 * In clear are only our own ids, times and counts, and the names of tenants and keys. `sealed` is all that a client sent; `sealed_reason` is why a job was
 * buried, or nothing for poison; `trace`, `traces` and `share` are keyed digests of the trace id and of whose job it is.
 */
const migrations: readonly string[] = [
  `
  CREATE TABLE seal (key_check BLOB NOT NULL) STRICT;

  CREATE TABLE jobs (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    submitted_at INTEGER NOT NULL,
    since INTEGER NOT NULL,
    due_at INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    counts TEXT NOT NULL,
    lease_token TEXT,
    buried_at INTEGER,
    sealed_reason BLOB,
    sealed BLOB NOT NULL
  ) STRICT;
  CREATE INDEX jobs_due ON jobs (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX jobs_buried ON jobs (buried_at, seq) WHERE buried_at IS NOT NULL;

  CREATE TABLE results (
    trace BLOB PRIMARY KEY,
    job_id TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    sealed BLOB
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX results_expiry ON results (expires_at);
  `,
  `
  CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY,
    receiver TEXT NOT NULL,
    id TEXT NOT NULL,
    added_at INTEGER NOT NULL,
    since INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    failures INTEGER NOT NULL DEFAULT 0,
    lease_token TEXT,
    bytes INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    UNIQUE (receiver, id)
  ) STRICT;
  CREATE INDEX outbox_due ON outbox (receiver, due_at);
  CREATE INDEX outbox_age ON outbox (receiver, added_at);

  CREATE TABLE outbox_counts (
    receiver TEXT PRIMARY KEY,
    waiting INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    sent INTEGER NOT NULL DEFAULT 0,
    failed_tries INTEGER NOT NULL DEFAULT 0,
    dropped INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;
  `,
  `
  CREATE TABLE callback_failures (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    failed_at INTEGER NOT NULL,
    url BLOB NOT NULL,
    sealed BLOB NOT NULL
  ) STRICT;
  CREATE INDEX callback_failures_age ON callback_failures (failed_at);

  CREATE TABLE usage (month TEXT PRIMARY KEY, scans INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  `,
  `
  ALTER TABLE jobs ADD COLUMN share TEXT NOT NULL DEFAULT '';
  CREATE INDEX jobs_share_due ON jobs (share, due_at) WHERE due_at IS NOT NULL;
  `,
  `
  ALTER TABLE callback_failures ADD COLUMN tenant TEXT NOT NULL DEFAULT 'default';
  CREATE INDEX callback_failures_tenant ON callback_failures (tenant, seq);

  CREATE TABLE usage_by_key (
    month TEXT NOT NULL,
    tenant TEXT NOT NULL,
    key TEXT NOT NULL,
    accepted INTEGER NOT NULL,
    files INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (month, tenant, key)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE access_keys (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    content TEXT NOT NULL,
    expires_at INTEGER,
    last_used_at INTEGER
  ) STRICT;
  CREATE TABLE tenants (name TEXT PRIMARY KEY, content TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE access_version (version INTEGER NOT NULL) STRICT;
  INSERT INTO access_version VALUES (0);

  CREATE TABLE shared_counts (process TEXT PRIMARY KEY, at INTEGER NOT NULL, content TEXT NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE audit (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, content TEXT NOT NULL) STRICT;
  CREATE INDEX audit_age ON audit (at);
  `,
  `
  CREATE TABLE history_pages (
    page INTEGER PRIMARY KEY,
    finished_at INTEGER NOT NULL,
    upto INTEGER NOT NULL,
    ids TEXT NOT NULL,
    traces BLOB NOT NULL
  ) STRICT;
  CREATE INDEX history_pages_age ON history_pages (finished_at);
  CREATE TABLE history_content (page INTEGER PRIMARY KEY, sealed BLOB NOT NULL) STRICT;
  CREATE TABLE history_jobs (
    id TEXT PRIMARY KEY,
    submitted_at INTEGER NOT NULL,
    page INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE findings (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    at INTEGER NOT NULL,
    sealed BLOB NOT NULL
  ) STRICT;
  CREATE INDEX findings_time ON findings (at, id);
  `,
];

export const newestSchema: number = migrations.length;

/**
 * Who brought the database to which version, for the message of an earlier lazaret that meets it. No step of its own: an earlier lazaret can leave
 * it alone.
 */
const WRITERS = "CREATE TABLE IF NOT EXISTS writers (schema INTEGER PRIMARY KEY, lazaret TEXT NOT NULL) STRICT";

/** Brings the database to the newest version, in one transaction; other processes may try at the same moment. */
export function migrate(db: DatabaseSync, path: string): void {
  if (versionOf(db, path) === newestSchema) return;
  inTransaction(db, "durable", () => {
    for (const step of migrations.slice(versionOf(db, path))) db.exec(step);
    db.exec(`${WRITERS}; PRAGMA user_version = ${newestSchema}`);
    db.prepare("INSERT OR REPLACE INTO writers VALUES (?, ?)").run(newestSchema, version);
  });
}

function versionOf(db: DatabaseSync, path: string): number {
  const number = Number(db.prepare("PRAGMA user_version").get()?.user_version);
  if (number <= newestSchema) return number;
  const newer = writerOf(db, number);
  throw new DatabaseUnavailable(
    `cannot use the job database at ${path}: ${newer ? `lazaret ${newer} brought it to version ${number}` : `it has version ${number}`}, and this lazaret (${version}) knows ${newestSchema}`,
    `run lazaret ${newer ?? "as new as the one that wrote it"}${newer ? " or newer" : ""}; to go back, restore a backup from before the upgrade into an empty folder (docs/upgrade.md)`,
  );
}

/** The lazaret that brought it there; undefined where it has not said so. */
function writerOf(db: DatabaseSync, schema: number): string | undefined {
  if (!db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'writers'").get()) return undefined;
  const found = db.prepare("SELECT lazaret FROM writers WHERE schema = ?").get(schema)?.lazaret;
  return typeof found === "string" ? found : undefined;
}
