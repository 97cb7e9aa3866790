import { availableParallelism, tmpdir } from "node:os";
import type { EngineCheck } from "../../scan/engine.ts";
import { CIPHERTEXT } from "../../unpack/archives/ciphertext.ts";
import { sevenZipProgram } from "../../unpack/seven-zip.ts";
import { checkRoom, privateFolder } from "../../unpack/temporary-files.ts";
import { yaraProgram } from "../rules/compile-rules.ts";
import {
  BUILT_IN_RULES,
  countRules,
  type RuleSource,
  readRules,
  rulesFingerprint,
  watchRules,
} from "../rules/rule-files.ts";
import { TIME_LIMIT_MS } from "./scan-limits.ts";
import { type Census, type PoolOptions, type ScanPool, startScanPool } from "./scan-pool.ts";
import { RulesRefused } from "./scan-worker.ts";
import { type Spooled, spool } from "./spool.ts";

export interface ScanThreadsOptions {
  /** Files of any size looked at at once; one more thread is kept for small files. */
  threads?: number;
  /** After this the thread that looks at the file is killed, and the file is unscannable. */
  timeLimitMs?: number;
  /** Large files are kept here, without a name, while they are looked at. */
  temporaryFolder?: string;
  /** Programs packed by a packer that we know and cannot undo: `clean` looks at them as they are. */
  packedPrograms?: "no" | "clean";
  /** Files encrypted by programs that we know: `clean` looks at them as they are. */
  ciphertext?: "no" | "clean";
  onEvent?: (event: ThreadsEvent) => void;
}

export interface RulesOptions {
  /** The user's own rules, files ending in .yar or .yara, beside the built-in ones. */
  rulesDir?: string;
  /** How often the rules folder is looked at for changes. */
  watchEveryMs?: number;
}

/** What an operator wants in the log. */
export type ThreadsEvent =
  | { kind: "rules_loaded"; rules: number; own: number; warnings: readonly string[] }
  /** The rules in the folder are wrong; the ones before them stay in use. */
  | { kind: "rules_refused"; message: string }
  /** A thread died in the middle of a file, which is looked at again, or reported unscannable. */
  | { kind: "thread_lost"; message: string; again: boolean };

/** Threads that take files apart, and match rules against everything in them. */
export interface ScanThreads {
  /**
   * False if no rule matches a content of exactly these bytes; members of them are not looked at. Takes microseconds, and needs
   * no thread. Without rules they only unpack for another engine, and nothing matches.
   */
  mayMatch(content: Uint8Array): boolean;
  /** Keeps all bytes of a large file, on disk from the first one on, until it is released. */
  spool(bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Spooled>;
  run: ScanPool["run"];
  edition: ScanPool["edition"];
  /** Nothing before the first thread is there. */
  census(): Census | undefined;
  health(): Promise<{ ready: boolean; checks: EngineCheck[] }>;
  close(): Promise<void>;
}

/** Threads that unpack and nothing else. Not even the first starts before a file needs it. */
export function unpackThreads(options: ScanThreadsOptions = {}): ScanThreads {
  const folder = privateFolder(options.temporaryFolder ?? tmpdir());
  let pool: Promise<ScanPool> | undefined;
  let running: ScanPool | undefined;
  const edition = {};
  return {
    mayMatch: () => false,
    spool: spoolInto(folder.path),
    async run(file, runOptions) {
      pool ??= startScanPool(poolOptions(options, folder.path)).catch((error) => {
        pool = undefined;
        throw error;
      });
      running = await pool;
      return running.run(file, runOptions);
    },
    edition: () => edition,
    census: () => running?.census(),
    async health() {
      const room = await checkRoom(folder.path);
      if (!pool) return { ready: room.ok, checks: [room] };
      const threads = threadsCheck((await pool).census());
      return { ready: room.ok && threads.ok, checks: [threads, room] };
    },
    async close() {
      await (await pool?.catch(() => undefined))?.close();
      folder[Symbol.dispose]();
    },
  };
}

/**
 * Threads that unpack and match YARA rules. They know the rules they have, and nothing else: no proof that a file is harmless,
 * only that none of the rules matches any part of it.
 *
 * Throws when the rules do not compile at the start: better no service than one that looks for less than it was told to.
 */
export async function ruleThreads(options: ScanThreadsOptions & RulesOptions = {}): Promise<ScanThreads> {
  const { rulesDir, onEvent = () => {} } = options;
  const builtIn = readRules(BUILT_IN_RULES);
  const first = rulesDir === undefined ? undefined : readOwn(rulesDir);
  let own = first?.sources ?? [];
  let refused: string | undefined;

  const folder = privateFolder(options.temporaryFolder ?? tmpdir());
  const rules = { yara: yaraProgram(), sources: [...builtIn, ...own] };
  const pool = await startScanPool(poolOptions(options, folder.path, rules)).catch((error) => {
    folder[Symbol.dispose]();
    throw error instanceof RulesRefused ? new Error(`cannot compile the rules: ${error.message}`) : error;
  });

  async function reload(sources: RuleSource[]): Promise<void> {
    const warnings = await pool.changeRules([...builtIn, ...sources]);
    own = sources;
    refused = undefined;
    onEvent({ kind: "rules_loaded", rules: countRules([...builtIn, ...own]), own: countRules(own), warnings });
  }

  /** Rules that do not compile are not tried again before they change; what else went wrong may be over soon. */
  function keepOld(error: unknown): "again" | "when-they-change" {
    const message = error instanceof Error ? error.message : String(error);
    const theirs = error instanceof RulesRefused;
    if (theirs || message !== refused) onEvent({ kind: "rules_refused", message });
    refused = message;
    return theirs ? "when-they-change" : "again";
  }

  const everyMs = options.watchEveryMs ?? WATCH_EVERY_MS;
  const watch = first && watchRules(first.folder, reload, { since: first.since, everyMs, failed: keepOld });

  return {
    mayMatch: pool.mayMatch,
    spool: spoolInto(folder.path),
    run: pool.run,
    edition: pool.edition,
    census: pool.census,
    async health() {
      const [threads, room] = [threadsCheck(pool.census()), await checkRoom(folder.path)];
      return { ready: threads.ok && room.ok, checks: [rulesCheck({ builtIn, own, refused }), threads, room] };
    },
    async close() {
      watch?.[Symbol.dispose]();
      await pool.close();
      folder[Symbol.dispose]();
    },
  };
}

const WATCH_EVERY_MS = 2000;
/** The openers' names for what the settings may excuse. */
const EXCUSABLE = { packedPrograms: "packed-program", ciphertext: CIPHERTEXT } as const;

function poolOptions(
  options: ScanThreadsOptions,
  folder: string,
  rules?: NonNullable<PoolOptions["setup"]["rules"]>,
): PoolOptions {
  const { onEvent = () => {} } = options;
  const excused = (["packedPrograms", "ciphertext"] as const).filter((name) => options[name] === "clean");
  const ignored = excused.map((name) => EXCUSABLE[name]);
  return {
    setup: { sevenZip: sevenZipProgram(), folder, ignored, ...(rules && { rules }) },
    threads: options.threads ?? availableParallelism(),
    timeLimitMs: options.timeLimitMs ?? TIME_LIMIT_MS,
    onLoss: (message, again) => onEvent({ kind: "thread_lost", message, again }),
  };
}

function spoolInto(folder: string): ScanThreads["spool"] {
  return (bytes, signal) => spool(bytes, { folder, memoryBytes: 0 }, signal);
}

/** `since`: as the folder was before they were read, so that whatever is written while threads start is seen. */
function readOwn(folder: string): { folder: string; since: string; sources: RuleSource[] } {
  try {
    return { folder, since: rulesFingerprint(folder), sources: readRules(folder) };
  } catch (cause) {
    throw new Error(`cannot read the rules folder ${folder}`, { cause });
  }
}

function threadsCheck({ alive, most, lastFailure }: Census): EngineCheck {
  const failure = lastFailure === undefined ? "" : `; cannot start more: ${lastFailure}`;
  return { name: "scan-threads", ok: alive > 0, detail: `${alive} of at most ${most} scan threads${failure}` };
}

function rulesCheck(state: { builtIn: RuleSource[]; own: RuleSource[]; refused: string | undefined }): EngineCheck {
  const loaded = `${countRules(state.builtIn)} built-in rules and ${countRules(state.own)} of your own`;
  if (state.refused !== undefined) {
    return { name: "rules", ok: false, detail: `changed rules refused, still using ${loaded}: ${state.refused}` };
  }
  return { name: "rules", ok: true, detail: `${loaded}; what they do not describe is not found` };
}
