import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { endWithUs } from "../packages/server/src/engines/clamd/own-clamd.ts";

/** A real PostgreSQL, with all that makes it durable, which is killed and started again where it was. */
export interface Postgres {
  readonly url: string;
  /** Resolves when it answers. */
  start(): Promise<void>;
  /** With -9, before this returns. Resolves when it is dead; its own processes notice a moment later. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

const USER = "lazaret";
/** Only part of the socket's name. */
const PORT = 5432;
const ASK_MS = 50;
const START_LIMIT_MS = 120_000;

export async function startPostgres(folder: string): Promise<Postgres> {
  const user = unprivileged();
  mkdirSync(folder);
  // So that another user gets through to the folder of its own.
  if (user) await chmod(dirname(folder), 0o711);
  if (user) chownSync(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const options = { ...user, cwd: folder, env: { ...process.env, LC_ALL: "C" } };
  const init = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"];
  await promisify(execFile)(binary("initdb"), init, options);
  const settings = ["listen_addresses=", `unix_socket_directories=${folder}`, "max_connections=200", "fsync=on"];
  const args = ["-D", data, ...settings.flatMap((each) => ["-c", each])];
  let child: ChildProcess | undefined;
  let watcher: ChildProcess | undefined;

  /** As its superuser. */
  const sql = (text: string): Promise<unknown> => {
    const where = ["-h", folder, "-p", String(PORT), "-U", "postgres", "-d", "postgres"];
    return promisify(execFile)(binary("psql"), [...where, "-q", "-c", text], { env: options.env });
  };
  const answers = (): Promise<boolean> =>
    sql("SELECT 1").then(
      () => true,
      () => false,
    );

  function run(): void {
    child = spawn(binary("postgres"), args, { ...options, stdio: "ignore" });
    if (child.pid !== undefined) watcher = endWithUs(child.pid);
  }

  async function start(): Promise<void> {
    run();
    for (const until = performance.now() + START_LIMIT_MS; performance.now() < until; await pause(ASK_MS)) {
      if (await answers()) return;
      // It refuses to start until the last process of the one before has noticed and ended.
      if (hasEnded(child)) run();
    }
    throw new Error("postgres did not start");
  }

  async function end(signal: "SIGKILL" | "SIGINT"): Promise<void> {
    if (!child || hasEnded(child)) return;
    const exit = once(child, "exit");
    child.kill(signal);
    await exit;
    watcher?.kill("SIGKILL");
  }

  await start();
  await sql(`CREATE ROLE ${USER} LOGIN`);
  await sql(`CREATE DATABASE ${USER} OWNER ${USER}`);
  const url = `postgresql://${USER}@/${USER}?host=${encodeURIComponent(folder)}&port=${PORT}`;
  return { url, start, kill: () => end("SIGKILL"), stop: () => end("SIGINT") };
}

function hasEnded(child: ChildProcess | undefined): boolean {
  return !child || child.exitCode !== null || child.signalCode !== null;
}

/** The newest that Debian's package has put there. */
function binary(name: string): string {
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  return versions.map((version) => join(root, version, "bin", name)).find(existsSync) ?? name;
}

/** The server refuses to be root's: then it is the user's that came with the package. */
function unprivileged(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string): number => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}
