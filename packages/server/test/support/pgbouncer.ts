import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { watchChild } from "./leftovers.ts";
import { answers, environment, ownedFolder } from "./postgres.ts";
import { until } from "./until.ts";

export interface PgBouncer extends AsyncDisposable {
  readonly url: string;
  /** Ends it, and starts it again. */
  restart(): Promise<void>;
}

/** Debian's PgBouncer before a server, reached by a socket in a folder of its own. */
export async function pgBouncer(serverUrl: string, mode: "transaction" | "statement"): Promise<PgBouncer> {
  const folder = ownedFolder();
  const server = new URLSearchParams(serverUrl.split("?")[1]);
  const configuration = join(folder.path, "pgbouncer.ini");
  writeFileSync(join(folder.path, "users.txt"), '"lazaret" ""\n');
  writeFileSync(
    configuration,
    `[databases]
lazaret = host=${server.get("host")} port=${server.get("port")} dbname=lazaret
[pgbouncer]
unix_socket_dir = ${folder.path}
listen_port = 5432
auth_type = trust
auth_file = ${join(folder.path, "users.txt")}
pool_mode = ${mode}
default_pool_size = 4
max_client_conn = 200
`,
  );
  const url = serverUrl.replace(/host=[^&]*/, `host=${encodeURIComponent(folder.path)}`);
  let child: ChildProcess;

  async function start(): Promise<void> {
    child = spawn("/usr/sbin/pgbouncer", ["-q", configuration], { ...environment(), stdio: "ignore" });
    if (child.pid) watchChild(child.pid);
    await until("the pooler answers", () => answers(url));
  }

  async function end(): Promise<void> {
    const exit = once(child, "exit");
    child.kill("SIGTERM");
    await exit;
  }

  await start();
  return {
    url,
    async restart() {
      await end();
      await start();
    },
    async [Symbol.asyncDispose]() {
      await end();
      folder[Symbol.dispose]();
    },
  };
}
