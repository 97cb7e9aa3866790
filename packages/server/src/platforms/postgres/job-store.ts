import { randomUUID } from "node:crypto";
import type { AccessStore } from "../../access/access-store.ts";
import type { AuditLog } from "../../access/audit-log.ts";
import type { SharedCounts } from "../../access/shared-counts.ts";
import type { CallbackFailures } from "../../deliver/callback-failures.ts";
import type { Findings } from "../../deliver/findings.ts";
import type { ResultStore } from "../../deliver/result-store.ts";
import type { JobHistory } from "../../queue/job-history.ts";
import type { DeadLetters, JobBrowser, JobQueue } from "../../queue/job-queue.ts";
import type { UsageMeter } from "../../scan/usage-meter.ts";
import type { Outbox, OutboxLimits } from "../shared/messages/outbox.ts";
import { type Retention, USUAL_RETENTION } from "../shared/retention.ts";
import { type Sealer, sealer } from "../shared/sealed.ts";
import { postgresAccess } from "./access-store.ts";
import { postgresAudit } from "./audit-log.ts";
import { postgresCallbackFailures } from "./callback-failures.ts";
import { type ConnectionOptions, type Connections, connections } from "./database/connections.ts";
import { DatabaseUnavailable } from "./database/database-unavailable.ts";
import { migrate, pendingMigrations } from "./database/migrate.ts";
import { type StoreParts, toldTimes } from "./database/store-parts.ts";
import { wakeUps } from "./database/wake-ups.ts";
import { type BulkWrite, writeLane } from "./database/write-lane.ts";
import { postgresDeadLetters } from "./dead-letters.ts";
import { postgresFindings } from "./findings.ts";
import { postgresBrowser } from "./job-browser.ts";
import { postgresHistory } from "./job-history.ts";
import { postgresQueue } from "./job-queue.ts";
import { postgresOutbox } from "./outbox.ts";
import { postgresResults } from "./results.ts";
import { postgresCounts } from "./shared-counts.ts";
import { postgresUpkeep, type Upkeep } from "./upkeep.ts";
import { postgresUsage } from "./usage.ts";

/** Jobs, results and messages in one schema, which any number of processes on any number of machines share. */
export interface JobStore extends StoreParts {
  queue: JobQueue;
  results: ResultStore;
  deadLetters: DeadLetters;
  browser: JobBrowser;
  history: JobHistory;
  findings: Findings;
  /** @internal tests do not wait for its time */
  upkeep: Pick<Upkeep, "sweep">;
  outbox: Outbox;
  callbackFailures: CallbackFailures;
  usage: UsageMeter;
  access: AccessStore;
  audit: AuditLog;
  sharedCounts: SharedCounts;
  /** Writes a row that is there already. Throws `DatabaseUnavailable`. */
  tryToWrite(): Promise<void>;
  /** Finishes what was asked before, and ends all waiting. */
  close(): Promise<void>;
}

export interface DatabaseOptions extends ConnectionOptions {
  schema: string;
}

export interface JobStoreOptions extends DatabaseOptions {
  secretKey: Uint8Array;
  /** False where an operator applies migrations by hand. */
  migrate: boolean;
  outboxLimits?: OutboxLimits;
  /** How long finished jobs and findings are kept, and how many. */
  kept?: Retention;
}

/** Throws `DatabaseUnavailable`, with a hint, when the database cannot be used. */
export async function openJobStore(options: JobStoreOptions): Promise<JobStore> {
  await using undo = new AsyncDisposableStack();
  const ways = connections(options);
  undo.defer(ways.close);
  const schema = `"${options.schema}"`;
  if (options.migrate) await migrate(ways, { schema });
  else await refusePending(ways, schema);
  const secrets = sealer(options.secretKey);
  await checkKey(ways, secrets, schema);

  const lane = writeLane(ways);
  const parts: StoreParts = {
    connections: ways,
    lane,
    wakeUps: wakeUps(ways, { channel: `lazaret_${options.schema}`.slice(0, 63), origin: randomUUID() }),
    sealer: secrets,
    times: toldTimes(),
    schema,
  };
  const writeAgain: BulkWrite<undefined, undefined> = {
    durable: true,
    async run(query, asked) {
      await query(`UPDATE ${schema}.seal SET key_check = key_check`);
      return asked.map(() => undefined);
    },
  };
  const { kept = USUAL_RETENTION } = options;
  const upkeep = postgresUpkeep({ connections: ways, schema, kept });
  const queue = postgresQueue(parts, { upkeep, keepsHistory: kept.historyMost > 0 });
  const refusals = recentRefusals();
  undo.move();
  return {
    ...parts,
    queue: { ...queue, add: (job) => refusals.watch(queue.add(job)) },
    results: postgresResults(parts),
    deadLetters: postgresDeadLetters(parts),
    browser: postgresBrowser(parts),
    history: postgresHistory(parts, kept),
    findings: postgresFindings(parts, { kept, upkeep }),
    upkeep,
    callbackFailures: postgresCallbackFailures(parts),
    usage: postgresUsage(parts),
    access: postgresAccess(parts),
    audit: postgresAudit(parts),
    sharedCounts: postgresCounts(parts),
    outbox: postgresOutbox(parts, options.outboxLimits),
    async tryToWrite() {
      refusals.throwRecent();
      await orTrouble(lane.write(writeAgain, undefined), ways);
    },
    async close() {
      await lane.close();
      await upkeep.stop();
      await parts.wakeUps.close();
      await ways.close();
    },
  };
}

const REFUSED_LATELY_MS = 10_000;

/**
 * On a full disk a row that is there can be written again, and one more cannot be kept. So who refused a job because the server
 * said no could not keep one, until one is kept.
 */
function recentRefusals(): { watch(added: Promise<void>): Promise<void>; throwRecent(): void } {
  let last: { error: DatabaseUnavailable; at: number } | undefined;
  return {
    async watch(added) {
      try {
        await added;
        last = undefined;
      } catch (error) {
        const refused = error instanceof DatabaseUnavailable && ["unavailable", "partly"].includes(error.kind);
        if (refused) last = { error, at: performance.now() };
        throw error;
      }
    },
    throwRecent() {
      if (last && performance.now() - last.at < REFUSED_LATELY_MS) throw last.error;
    },
  };
}

/** Shorter than readiness waits: while writes are tried again and again, what is wrong is known already. */
const TROUBLE_KNOWN_MS = 1000;

async function orTrouble(written: Promise<void>, ways: Connections): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(() => (ways.trouble ? late.reject(ways.trouble) : late.resolve(written)), TROUBLE_KNOWN_MS);
  try {
    await Promise.race([written, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Applies the migrations that are missing, or only answers them. */
export async function migrateDatabase(options: DatabaseOptions & { dryRun: boolean }): Promise<readonly Named[]> {
  await using undo = new AsyncDisposableStack();
  const ways = connections(options);
  undo.defer(ways.close);
  const schema = `"${options.schema}"`;
  const pending = await pendingMigrations(ways, { schema });
  if (options.dryRun) return pending;
  const applied = await migrate(ways, { schema });
  return pending.filter(({ name }) => applied.includes(name));
}

type Named = Readonly<Record<"name" | "sql", string>>;

async function refusePending(ways: Connections, schema: string): Promise<void> {
  const pending = await pendingMigrations(ways, { schema });
  if (pending.length === 0) return;
  throw new DatabaseUnavailable(
    `the job database lacks ${pending.map(({ name }) => name).join(", ")}, and LAZARET_MIGRATE is off`,
    "run lazaret migrate; lazaret migrate --dry-run prints the SQL",
  );
}

/** The first process writes down which key this database is sealed with; a process with another one is refused. */
async function checkKey(ways: Connections, { keyCheck }: Sealer, schema: string): Promise<void> {
  const find = (): Promise<{ keyCheck: Buffer }[]> => ways.query(`SELECT key_check AS "keyCheck" FROM ${schema}.seal`);
  let [found] = await find();
  if (!found) {
    await ways.query(`INSERT INTO ${schema}.seal (key_check) VALUES ($1) ON CONFLICT DO NOTHING`, [keyCheck]);
    [found] = await find();
  }
  if (found?.keyCheck.equals(keyCheck)) return;
  throw new DatabaseUnavailable(
    "the jobs of this database were sealed with another key",
    "LAZARET_SECRET_KEY must be the same for all processes on one database, and stay",
  );
}
