import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { watchChild } from "./leftovers.ts";
import { until } from "./until.ts";

export interface Nginx extends AsyncDisposable {
  url: string;
  /** Its log of errors so far. */
  said(): string;
}

/** Debian's nginx, in the foreground, with these lines in its `http` block; PORT in them is the port that it listens on. */
export async function nginx(folder: string, lines: string): Promise<Nginx> {
  const port = await freePort();
  const configuration = join(folder, "nginx.conf");
  mkdirSync(join(folder, "nginx"), { recursive: true });
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path nginx/${name};`);
  writeFileSync(
    configuration,
    `daemon off; ${process.getuid?.() === 0 ? "user root;" : ""} worker_processes 1; pid nginx/pid; error_log stderr;
     events { worker_connections 512; }
     http { access_log off; ${paths.join(" ")}\n${lines.replaceAll("PORT", String(port))}\n}`,
  );
  const child = spawn("/usr/sbin/nginx", ["-p", folder, "-c", configuration, "-e", "stderr"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  if (child.pid) watchChild(child.pid);
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (part) => {
    said += part;
  });
  const gone = once(child, "close");
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await gone;
  };
  try {
    await until("nginx listens", async () => {
      if (child.exitCode !== null) throw new Error(`nginx ended: ${said}`);
      return await answers(port);
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `http://127.0.0.1:${port}`, said: () => said, [Symbol.asyncDispose]: stop };
}

/** One that nobody has now; for programs that cannot choose one themselves. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
