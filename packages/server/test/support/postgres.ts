import { execFile, execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chownSync, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { atTheEnd, temporaryFolder, watchChild } from "./leftovers.ts";
import { until } from "./until.ts";

export interface TestPostgres extends AsyncDisposable {
  /** Of a user without special rights, who owns the database. */
  readonly url: string;
  readonly pid: number;
  /** Runs SQL as that user. */
  sql<Row = unknown>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Ends it as a crash would. */
  kill(): Promise<void>;
  /** Starts it again where it was. */
  start(): Promise<void>;
}

const USER = "lazaret";
/** No TCP at all: the number is only part of the socket's name, in a folder that nobody else has. */
const PORT = 5432;

/** A real PostgreSQL in a folder of its own, reached by its socket there. It syncs to disk only where a test is about crashes. */
export async function testPostgres({ durable = false }: { durable?: boolean } = {}): Promise<TestPostgres> {
  const folder = temporaryFolder();
  const data = join(folder.path, "data");
  const user = unprivileged();
  if (user) chownSync(folder.path, user.uid, user.gid);
  const options = { ...user, env: { ...process.env, LC_ALL: "C" }, cwd: folder.path };
  const init = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
  await promisify(execFile)(binary("initdb"), init, options);

  const settings = {
    listen_addresses: "",
    unix_socket_directories: folder.path,
    max_connections: 200,
    shared_buffers: "32MB",
    fsync: durable ? "on" : "off",
    // The same code paths; only the disk is spared.
    full_page_writes: durable ? "on" : "off",
    autovacuum_naptime: "5s",
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  let child: ReturnType<typeof spawn>;

  function spawnServer(): void {
    child = spawn(binary("postgres"), ["-D", data, ...args], { ...options, stdio: "ignore" });
    if (child.pid) watchChild(child.pid);
  }

  async function start(): Promise<void> {
    spawnServer();
    const up = async (): Promise<boolean> => {
      // After a crash it refuses to start until the last process of the one before has noticed and ended.
      if (child.exitCode !== null) spawnServer();
      return await answers(urlOf("postgres", "postgres"));
    };
    await until("the server answers", up, { limitMs: 60_000 });
  }

  async function end(signal: "SIGKILL" | "SIGINT"): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, "exit");
    child.kill(signal);
    await exit;
  }

  function urlOf(name: string, database: string): string {
    return `postgresql://${name}@/${database}?host=${encodeURIComponent(folder.path)}&port=${PORT}`;
  }

  await start();
  const admin = new pg.Client({ connectionString: urlOf("postgres", "postgres") });
  await admin.connect();
  await admin.query(`CREATE ROLE ${USER} LOGIN`);
  await admin.query(`CREATE DATABASE ${USER} OWNER ${USER}`);
  await admin.end();
  const url = urlOf(USER, USER);
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on("error", () => {});
  return {
    url,
    get pid() {
      return child.pid ?? 0;
    },
    sql: async (text, values) => (await pool.query(text, values)).rows,
    kill: () => end("SIGKILL"),
    start,
    async [Symbol.asyncDispose]() {
      await pool.end();
      await end("SIGINT");
      folder[Symbol.dispose]();
    },
  };
}

let shared: Promise<TestPostgres> | undefined;

/** One server for all tests of a file; each takes a schema of its own. */
export function sharedPostgres(): Promise<TestPostgres> {
  shared ??= testPostgres().then((server) => {
    atTheEnd(() => server[Symbol.asyncDispose]());
    return server;
  });
  return shared;
}

export function newSchema(): string {
  return `s_${randomUUID().replaceAll("-", "")}`;
}

/** From then on the time in this schema is what is told, and not the server's. */
export async function stopTime({ sql }: TestPostgres, schema: string, ms: number): Promise<void> {
  await sql(`CREATE TABLE ${schema}.told_time AS SELECT ${ms}::bigint AS ms`);
  await sql(
    `CREATE OR REPLACE FUNCTION ${schema}.now_ms() RETURNS bigint LANGUAGE sql STABLE
     AS $$ SELECT ms FROM ${schema}.told_time $$`,
  );
}

export async function tellTime({ sql }: TestPostgres, schema: string, ms: number): Promise<void> {
  await sql(`UPDATE ${schema}.told_time SET ms = $1`, [ms]);
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 });
  client.on("error", () => {});
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

/** The newest that Debian's package has put there. */
function binary(name: string): string {
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  const found = versions.map((version) => join(root, version, "bin", name)).find(existsSync);
  return found ?? name;
}

/** The server refuses to be root's: then it is the user's that came with the package. */
function unprivileged(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string): number => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}
