import { chmod, lstat, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { VariantParts } from "./variants.ts";

/** A folder of this process, removed when it is disposed of. */
type RunFolder = { path: string } & AsyncDisposable;

const PREFIX = "lazaret-run-";
const ALIVE = "alive";
/** The path of a socket has room for about this many bytes, on the systems that have least. */
export const LONGEST_SOCKET_PATH = 100;

/**
 * Makes a folder for temporary files, and removes those that processes left behind when they were killed. Each folder has a
 * socket on which its process listens: who is refused there has found a folder whose process is gone. Numbers of processes
 * would not tell that, as they come again, and mean something else in another container on the same disk. A folder without a
 * socket is left alone.
 */
export async function runFolder(parent: string = tmpdir()): Promise<RunFolder> {
  const path = await mkdtemp(join(parent, PREFIX));
  await chmod(path, 0o700);
  const server = await listening(path);
  await sweep(parent).catch(() => {});
  return {
    path,
    async [Symbol.asyncDispose]() {
      if (server) await new Promise((resolve) => server.close(resolve));
      await rm(path, { recursive: true, force: true });
    },
  };
}

/** The same engine, with its temporary files in this folder. */
export function withRunFolder(parts: VariantParts, temporaryFolder: string): VariantParts {
  if (parts.variant === "P") return { ...parts, rules: { ...parts.rules, temporaryFolder } };
  return { ...parts, unpacking: { ...parts.unpacking, temporaryFolder } };
}

/** Under its name only when it listens: in the moment before, others would be refused. Undefined where it cannot be made. */
async function listening(folder: string): Promise<ReturnType<typeof createServer> | undefined> {
  const path = join(folder, ALIVE);
  if (Buffer.byteLength(path) > LONGEST_SOCKET_PATH) return undefined;
  const server = createServer((socket) => socket.destroy());
  server.unref();
  try {
    await new Promise<void>((resolve, reject) => server.once("error", reject).listen(`${path}.new`, resolve));
    await rename(`${path}.new`, path);
    return server;
  } catch {
    server.close();
    return undefined;
  }
}

async function sweep(parent: string): Promise<void> {
  const names = (await readdir(parent)).filter((name) => name.startsWith(PREFIX));
  await Promise.all(
    names.map(async (name) => {
      const path = join(parent, name);
      const { uid } = await lstat(path);
      if (uid === process.getuid?.() && (await isLeft(path))) await rm(path, { recursive: true, force: true });
    }),
  );
}

/** Whether the process that made it is gone. Whatever else is the matter with it, it is somebody's. */
function isLeft(folder: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(join(folder, ALIVE));
    socket.once("connect", () => {
      socket.destroy();
      resolve(false);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED"));
  });
}
