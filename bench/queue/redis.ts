import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { lineWith, type Measured, start } from "../processes.ts";

export interface OwnRedis {
  measured: Measured;
  socketPath: string;
}

/** As durable as a job queue must be: each answer leaves after the command is on disk. No snapshots on top. */
const durable = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""];

/** A redis-server of our own in the foreground, reachable by nobody else. `under` runs it under another program. */
export async function ownRedis(folder: string, under: readonly string[] = []): Promise<OwnRedis> {
  mkdirSync(folder, { recursive: true });
  const socketPath = join(folder, "redis.sock");
  const args = ["--port", "0", "--unixsocket", socketPath, "--dir", folder, ...durable];
  const [program = "", ...rest] = [...under, "redis-server", ...args];
  const measured = start(program, rest);
  await lineWith(measured, /[Rr]eady to accept connections/);
  measured.ignoreOutput();
  return { measured, socketPath };
}
