import { execFile, execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chownSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
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
  /** Runs SQL as the server's administrator. */
  admin<Row = unknown>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Ends it as a crash would. */
  kill(): Promise<void>;
  /** Ends it in good order: `smart` waits for all connections to end, `fast` ends them. */
  stop(mode: "smart" | "fast"): Promise<void>;
  /** Starts it again where it was. */
  start(): Promise<void>;
  /** It accepts connections and says nothing, as a machine does that hangs. Ends when disposed of. */
  freeze(): Disposable;
  /** Another server that follows this one. */
  standby(): Promise<TestPostgres>;
  /** From then on a standby takes writes. */
  promote(): Promise<void>;
}

export interface TestPostgresOptions {
  /** Syncs to disk: only where a test is about crashes. */
  durable?: boolean;
  settings?: Record<string, string | number>;
  /** A folder for the data, such as a small disk, but for the log of changes; else one of its own. */
  dataIn?: string;
  /** Lines of pg_hba.conf that come first. */
  access?: readonly string[];
}

const USER = "lazaret";
/** No TCP unless asked for: the number is only part of the socket's name, in a folder that nobody else has. */
const PORT = 5432;

/** A real PostgreSQL in a folder of its own, reached by its socket there. */
export async function testPostgres(options: TestPostgresOptions = {}): Promise<TestPostgres> {
  const { access = [], dataIn } = options;
  const folder = ownedFolder();
  const data = join(dataIn ?? folder.path, "data");
  const init = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
  await run("initdb", dataIn === undefined ? init : [...init, "-X", join(folder.path, "wal")]);
  if (access.length > 0) {
    const path = join(data, "pg_hba.conf");
    writeFileSync(path, `${access.join("\n")}\n${readFileSync(path, "utf8")}`);
  }
  const server = serverOn(data, folder, options);
  await server.start();
  await server.admin(`CREATE ROLE ${USER} LOGIN`);
  await server.admin(`CREATE DATABASE ${USER} OWNER ${USER}`);
  return server;
}

function serverOn(data: string, folder: { path: string } & Disposable, options: TestPostgresOptions): TestPostgres {
  const { durable = false } = options;
  const settings = {
    listen_addresses: "",
    unix_socket_directories: folder.path,
    max_connections: 200,
    shared_buffers: "32MB",
    fsync: durable ? "on" : "off",
    // The same code paths; only the disk is spared.
    full_page_writes: durable ? "on" : "off",
    autovacuum_naptime: "5s",
    ...options.settings,
  };
  const port = options.settings?.port ?? PORT;
  const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  let child: ReturnType<typeof spawn>;

  function spawnServer(): void {
    child = spawn(binary("postgres"), ["-D", data, ...args], { ...environment(), stdio: "ignore" });
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

  async function end(signal: "SIGKILL" | "SIGINT" | "SIGTERM"): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, "exit");
    child.kill(signal);
    await exit;
  }

  function signalAll(signal: "SIGSTOP" | "SIGCONT"): void {
    const { pid } = child;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
    for (const each of [pid, ...children.map(Number)]) if (each) process.kill(each, signal);
  }

  function urlOf(name: string, database: string): string {
    return `postgresql://${name}@/${database}?host=${encodeURIComponent(folder.path)}&port=${port}`;
  }

  const pools = {
    sql: new pg.Pool({ connectionString: urlOf(USER, USER), max: 2 }),
    admin: new pg.Pool({ connectionString: urlOf("postgres", "postgres"), max: 2, idleTimeoutMillis: 100 }),
  };
  for (const pool of Object.values(pools)) pool.on("error", () => {});
  return {
    url: urlOf(USER, USER),
    get pid() {
      return child.pid ?? 0;
    },
    sql: async (text, values) => (await pools.sql.query(text, values)).rows,
    admin: async (text, values) => (await pools.admin.query(text, values)).rows,
    kill: () => end("SIGKILL"),
    stop: (mode) => end(mode === "fast" ? "SIGINT" : "SIGTERM"),
    start,
    freeze() {
      signalAll("SIGSTOP");
      return { [Symbol.dispose]: () => signalAll("SIGCONT") };
    },
    async standby() {
      const place = ownedFolder();
      const copy = join(place.path, "data");
      await run("pg_basebackup", [
        "-h",
        folder.path,
        "-p",
        String(port),
        "-U",
        "postgres",
        "-D",
        copy,
        "-R",
        "-c",
        "fast",
      ]);
      const server = serverOn(copy, place, options);
      await server.start();
      return server;
    },
    async promote() {
      await pools.admin.query("SELECT pg_promote(true, 60)");
    },
    async [Symbol.asyncDispose]() {
      for (const pool of Object.values(pools)) await pool.end();
      await end("SIGINT");
      folder[Symbol.dispose]();
    },
  };
}

/** For such a process. */
export function ownedFolder(): { path: string } & Disposable {
  const folder = temporaryFolder();
  const user = unprivileged();
  if (user) chownSync(folder.path, user.uid, user.gid);
  return folder;
}

/** Of a process that refuses to be root's. */
export function environment(): { uid?: number; gid?: number; env: NodeJS.ProcessEnv; cwd: string } {
  return { ...unprivileged(), env: { ...process.env, LC_ALL: "C" }, cwd: "/" };
}

async function run(name: string, args: readonly string[]): Promise<void> {
  await promisify(execFile)(binary(name), args, environment());
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

export async function answers(url: string): Promise<boolean> {
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
