import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { clamdBinary, type OwnClamd, ownClamd } from "../../src/engines/clamd/own-clamd.ts";
import { atTheEnd, temporaryFolder, watchChild } from "./leftovers.ts";

const testSignatures = fileURLToPath(new URL("../../signatures", import.meta.url));

export interface TestClamd extends AsyncDisposable {
  readonly socketPath: string;
  readonly pid: number;
  folder: string;
  /** Its temporary folder, as this process can reach it. */
  readonly temporaryDir: string;
  /** Ends it as a crash would. */
  kill(): Promise<void>;
  /** Starts it again where it was. */
  start(): Promise<void>;
}

export interface TestClamdOptions {
  /** Files by name, instead of our own signatures. */
  signatures?: Readonly<Record<string, string | Uint8Array>>;
  /** Its temporary files go to a disk of their own, with so much room. */
  disk?: { bytes: number; inodes: number };
}

/** A real clamd with the recommended configuration and our own signatures. */
export async function testClamd(
  config: Record<string, string> = {},
  { signatures, disk }: TestClamdOptions = {},
): Promise<TestClamd> {
  const folder = temporaryFolder();
  const signaturesDir = signatures ? join(folder.path, "signatures") : testSignatures;
  if (signatures) {
    mkdirSync(signaturesDir);
    for (const [name, content] of Object.entries(signatures)) writeFileSync(join(signaturesDir, name), content);
  }
  const binary = disk && { binary: onDiskOfItsOwn(folder.path, disk) };
  let clamd: OwnClamd;
  const start = async (): Promise<void> => {
    clamd = await ownClamd({ folder: folder.path, signaturesDir, config, ...binary });
    watchChild(clamd.pid);
  };
  await start();
  return {
    get socketPath() {
      return clamd.socketPath;
    },
    get pid() {
      return clamd.pid;
    },
    folder: folder.path,
    get temporaryDir() {
      return disk ? `/proc/${clamd.pid}/root${clamd.temporaryDir}` : clamd.temporaryDir;
    },
    kill: () => clamd.kill(),
    start,
    async [Symbol.asyncDispose]() {
      await clamd.stop();
      folder[Symbol.dispose]();
    },
  };
}

let shared: Promise<{ engine: "Q"; clamd: string }> | undefined;

/**
 * Settings of an engine for tests that are about something else: Q, on one clamd for all tests of a file. P takes two to four
 * seconds of a processor for each start, to compile its rules in each thread.
 */
export function anyEngine(): Promise<{ engine: "Q"; clamd: string }> {
  shared ??= testClamd().then((clamd) => {
    atTheEnd(() => clamd[Symbol.asyncDispose]());
    return { engine: "Q", clamd: `unix:${clamd.socketPath}` };
  });
  return shared;
}

/** The same for a command. */
export async function anyEngineInEnvironment(): Promise<Record<string, string>> {
  const { engine, clamd } = await anyEngine();
  return { LAZARET_ENGINE: engine, LAZARET_CLAMD: clamd };
}

/** A program that is clamd with a small tmpfs that only it has, and that ends with it. Needs no root where namespaces are allowed. */
function onDiskOfItsOwn(folder: string, { bytes, inodes }: { bytes: number; inodes: number }): string {
  const path = join(folder, "clamd-on-small-disk");
  const mount = `mount -t tmpfs -o size=${bytes},nr_inodes=${inodes} none "${join(folder, "tmp")}"`;
  writeFileSync(
    path,
    [
      "#!/bin/sh",
      '[ "$(id -u)" = 0 ] && flags=-m || flags=-Urm',
      `exec unshare $flags sh -c '${mount} && exec "${clamdBinary()}" "$0"' "$1"`,
      "",
    ].join("\n"),
  );
  chmodSync(path, 0o755);
  return path;
}
