import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { mkdir, open, readFile, writeFile } from "node:fs/promises";
import { createConnection } from "node:net";
import { delimiter, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { timeLimit } from "../../flow/time-limit.ts";
import { sweepLeftovers } from "./clamd-folder.ts";

/** Loading the official signatures takes 10 to 60 seconds; clamd answers nothing before that. */
const START_LIMIT_MS = 180_000;
/** clamd finishes the scans under way when asked to stop; a hanging one is not waited for longer than this. */
const STOP_LIMIT_MS = 5_000;
const POLL_MS = 15;
const YOUNGER_BY_MS = 100;
/** The end of clamd's own output that goes into an error message. */
const OUTPUT_CHARACTERS = 1_000;

const RECOMMENDED_CONFIG = new URL("../../../../../deploy/clamd.conf", import.meta.url);

/**
 * What a private clamd does differently from the recommended configuration, besides its folders. It runs as whoever
 * started it: as root clamd would otherwise change to a user who cannot read the caller's folders. LocalSocketMode
 * keeps everyone else out.
 */
const DROPPED = ["User", "LocalSocketGroup", "LogFile", "PidFile", "LogTime", "TCPSocket", "TCPAddr"];

export interface OwnClamdOptions {
  /** For its configuration, socket, log and temporary files. Made if missing, never removed here: it is the caller's. */
  folder: string;
  signaturesDir: string;
  /** Lines of clamd.conf that replace the recommended ones. */
  config?: Readonly<Record<string, string>>;
  /** The clamd to run, if not this machine's. */
  binary?: string;
  /** Called when it runs, which is long before it answers. */
  onSpawn?: (pid: number) => void;
}

export interface OwnClamd extends AsyncDisposable {
  socketPath: string;
  /** Where it writes streams and what it unpacks. */
  temporaryDir: string;
  pid: number;
  /** Resolves when the process is gone, however that came, with its exit code or signal. */
  ended: Promise<number | string>;
  /** Lets scans under way finish for a while, then ends it. Resolves when the process is gone. */
  stop(limitMs?: number): Promise<void>;
  /** Ends it at once, as a crash would. Resolves when the process is gone. */
  kill(): Promise<void>;
}

/** The clamd program of this machine. Distributions keep it in sbin, which is not in everybody's PATH. */
export function clamdBinary(): string | undefined {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin"];
  return folders.map((folder) => join(folder || ".", "clamd")).find(isExecutable);
}

/**
 * Starts a clamd of our own, in the foreground, with the recommended configuration moved into `folder`, and waits until
 * it answers. It does not outlive this process, however that ends. Throws with clamd's own words when it does not start.
 */
export async function ownClamd(options: OwnClamdOptions, signal?: AbortSignal): Promise<OwnClamd> {
  const binary = options.binary ?? clamdBinary();
  if (!binary) {
    throw new Error("cannot find clamd in PATH, /usr/sbin or /usr/local/sbin; hint: apt install clamav-daemon");
  }
  const socketPath = join(options.folder, "clamd.sock");
  const ownTemporaryDir = join(options.folder, "tmp");
  const temporaryDir = options.config?.TemporaryDirectory ?? ownTemporaryDir;
  const configPath = join(options.folder, "clamd.conf");
  const outputPath = join(options.folder, "clamd.log");
  await mkdir(ownTemporaryDir, { recursive: true });
  // A clamd that was killed leaves its files behind, and nobody else uses this folder.
  await sweepLeftovers(ownTemporaryDir);
  const config = withLines(await readFile(RECOMMENDED_CONFIG, "utf8"), {
    LocalSocket: socketPath,
    LocalSocketMode: "600",
    DatabaseDirectory: options.signaturesDir,
    TemporaryDirectory: temporaryDir,
    Foreground: "yes",
    ...options.config,
  });
  await writeFile(configPath, config);
  // So that its process is younger than all that it reads, by any clock: see clamd-edition.ts.
  await pause(YOUNGER_BY_MS);

  const output = await open(outputPath, "w");
  // In a session of its own: a Ctrl-C for us must not end it while we still answer requests.
  const how = { stdio: ["ignore", output.fd, output.fd], detached: true } satisfies SpawnOptions;
  const child = spawn(binary, [`--config-file=${configPath}`], how);
  const exited = once(child, "exit");
  exited.catch(() => undefined);
  child.unref();
  await output.close();
  if (child.pid === undefined) await exited;
  const pid = child.pid ?? 0;
  const watcher = endWithUs(pid);
  options.onSpawn?.(pid);
  // By the promise, which also knows of an end that came while the output was closed.
  const unwatch = (): unknown => watcher.kill("SIGKILL");
  exited.then(unwatch, unwatch);

  const gone = (): boolean => child.exitCode !== null || child.signalCode !== null;
  async function end(by: NodeJS.Signals, limitMs = STOP_LIMIT_MS): Promise<void> {
    if (gone()) return;
    // Somebody waits for it now: without this the process could end before it does.
    child.ref();
    const timer = setTimeout(() => child.kill("SIGKILL"), limitMs);
    child.kill(by);
    await exited;
    clearTimeout(timer);
  }

  try {
    await answering(socketPath, gone, signal);
  } catch (cause) {
    await end("SIGKILL");
    const words = (await readFile(outputPath, "utf8")).slice(-OUTPUT_CHARACTERS).trim();
    throw new Error(
      `cannot start clamd (${binary}) with signatures from ${options.signaturesDir}: ${words || "it said nothing"}; ` +
        `hint: run ${binary} --config-file=${configPath} to see it fail`,
      { cause },
    );
  }

  const stop = (limitMs?: number): Promise<void> => end("SIGTERM", limitMs);
  const ended = exited.then(([code, signal]) => signal ?? code);
  return {
    socketPath,
    temporaryDir,
    pid,
    ended,
    stop,
    kill: () => end("SIGKILL"),
    [Symbol.asyncDispose]: () => stop(),
  };
}

/** The same configuration with some lines replaced or added, and those left out that make no sense in a private clamd. */
function withLines(recommended: string, lines: Readonly<Record<string, string>>): string {
  const kept = recommended.split("\n").filter((line) => {
    const [name = ""] = line.trim().split(/\s/, 1);
    return name !== "" && !name.startsWith("#") && !(name in lines) && !DROPPED.includes(name);
  });
  return [...kept, ...Object.entries(lines).map(([name, value]) => `${name} ${value}`), ""].join("\n");
}

/**
 * A shell that waits for the end of a pipe only we hold, then ends that process: the kernel closes the pipe however we
 * end, kill -9 included, where no handler of ours would run. Whoever sees the process end first ends the shell.
 * @internal chaos/ ends its processes the same way
 */
export function endWithUs(pid: number): ChildProcess {
  const watcher = spawn("/bin/sh", ["-c", 'read _; kill -9 "$0"', String(pid)], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  // Without a shell there is no watcher; stop() and kill() work all the same.
  watcher.on("error", () => undefined);
  watcher.unref();
  return watcher;
}

/** Resolves when clamd answers PING; throws when it is gone, or silent for too long. */
async function answering(socketPath: string, gone: () => boolean, signal?: AbortSignal): Promise<void> {
  using limit = timeLimit(START_LIMIT_MS);
  for (;;) {
    signal?.throwIfAborted();
    if (await answersPing(socketPath)) return;
    if (gone()) throw new Error("clamd ended before it answered");
    if (limit.expired) throw new Error(`clamd did not answer within ${START_LIMIT_MS / 1000} seconds`);
    await pause(POLL_MS);
  }
}

export function answersPing(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(socketPath, () => socket.write("zPING\0"));
    const settle = (answered: boolean): void => {
      socket.destroy();
      resolve(answered);
    };
    socket.setTimeout(1_000, () => settle(false));
    socket.on("data", (reply) => settle(reply.toString().startsWith("PONG")));
    socket.on("error", () => settle(false));
    socket.on("close", () => settle(false));
  });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
