import { execFile, execFileSync } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Measured, start } from "../processes.ts";
import { pidOf } from "../services.ts";

export interface OwnPostgres {
  pid: number;
  /** Of a database of that name, as the user who may do everything. */
  url(database: string): string;
  /** Runs SQL by psql, and answers what it prints. */
  sql(database: string, text: string): Promise<string>;
  stop(): Promise<void>;
}

const execute = promisify(execFile);
/** No TCP: the number is only part of the socket's name. */
const PORT = "5432";

/** Every commit is synced to disk. Its folder is beside ours, into which only we may look. */
export async function ownPostgres(beside: string): Promise<OwnPostgres> {
  const folder = mkdtempSync(`${beside}-postgres-`);
  const data = join(folder, "data");
  const prefix = unprivileged(folder);
  const run = (name: string, args: readonly string[]): Promise<{ stdout: string }> => {
    const [program = "", ...rest] = [...prefix, binary(name), ...args];
    return execute(program, rest, { cwd: folder, env: { ...process.env, LC_ALL: "C" } });
  };
  await run("initdb", ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]);
  const settings = {
    listen_addresses: "",
    unix_socket_directories: folder,
    logging_collector: "on",
    // All that are compared are open at once.
    max_connections: "300",
    // As docs/run-a-fleet-on-postgresql.md has it.
    shared_buffers: "1GB",
    max_wal_size: "4GB",
  };
  const args = ["-D", data, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])];
  const [program = "", ...rest] = [...prefix, binary("postgres"), ...args];
  const server: Measured = start(program, rest, { LC_ALL: "C" });
  server.ignoreOutput();
  // After the server was told to end, which is the order in which these are called.
  process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  const self: OwnPostgres = {
    pid: pidOf(server),
    url: (database) => `postgresql://postgres@/${database}?host=${encodeURIComponent(folder)}&port=${PORT}`,
    sql: async (database, text) =>
      (await run("psql", ["-X", "-q", "-A", "-t", "-h", folder, "-U", "postgres", "-d", database, "-c", text])).stdout,
    stop: () => server.stop("SIGINT"),
  };
  for (let left = 100; ; left -= 1) {
    try {
      await self.sql("postgres", "SELECT 1");
      return self;
    } catch (error) {
      if (left === 0) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** The newest that Debian's package has put there. */
function binary(name: string): string {
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  return versions.map((version) => join(root, version, "bin", name)).find(existsSync) ?? name;
}

/** The server refuses to be root's: then it is the user's that came with the package. */
function unprivileged(folder: string): readonly string[] {
  if (process.getuid?.() !== 0) return [];
  const id = (flag: string): string => execFileSync("id", [flag, "postgres"], { encoding: "utf8" }).trim();
  const [user, group] = [id("-u"), id("-g")];
  chownSync(folder, Number(user), Number(group));
  return ["setpriv", `--reuid=${user}`, `--regid=${group}`, "--clear-groups"];
}
