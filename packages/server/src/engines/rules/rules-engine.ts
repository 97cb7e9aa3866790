import { availableParallelism, tmpdir } from "node:os";
import type { Engine, EngineCheck } from "../../scan/engine.ts";
import { BUILT_IN_RULES, countRules, readRules, watchRules } from "./rule-files.ts";
import { SMALL_FILE_BYTES, TIME_LIMIT_MS } from "./scan-limits.ts";
import { startScanPool } from "./threads/scan-pool.ts";
import { RulesRefused } from "./threads/scan-worker.ts";
import { privateFolder, release, spool } from "./threads/spool.ts";
import { sevenZipProgram } from "./unpack/seven-zip/seven-zip.ts";
import { type RuleSource, yaraProgram } from "./yara/compile-rules.ts";

export interface RulesEngineOptions {
  /** The user's own rules, files ending in .yar or .yara, beside the built-in ones. */
  rulesDir?: string;
  /** Files of any size looked at at once; one more thread is kept for small files. */
  threads?: number;
  /** After this the thread that looks at the file is killed, and the file is unscannable. */
  timeLimitMs?: number;
  /**
   * How long a small file that comes soon after another may wait for more, to be looked at together at a fraction of the cost.
   * For when another engine looks at the same file and takes longer anyway; 0 is best where there is none.
   */
  gatherMs?: number;
  /** Large files are kept here, without a name, while they are looked at. */
  temporaryFolder?: string;
  /** How often the rules folder is looked at for changes. */
  watchEveryMs?: number;
  onEvent?: (event: RulesEvent) => void;
}

/** What an operator wants in the log. */
export type RulesEvent =
  | { kind: "rules-loaded"; rules: number; own: number; warnings: readonly string[] }
  /** The rules in the folder are wrong; the ones before them stay in use. */
  | { kind: "rules-refused"; message: string }
  /** A thread died of a file; the file was reported unscannable. */
  | { kind: "thread-lost"; message: string };

/**
 * Looks at files with YARA rules, and at everything packed in them. It knows the rules it has, and nothing else: no proof
 * that a file is harmless, only that none of the rules matches any part of it.
 *
 * Throws when the rules do not compile at the start: better no service than one that looks for less than it was told to.
 */
export async function rulesEngine(options: RulesEngineOptions = {}): Promise<Engine> {
  const { rulesDir, onEvent = () => {} } = options;
  const builtIn = readRules(BUILT_IN_RULES);
  let own = rulesDir === undefined ? [] : readOwn(rulesDir);
  let refused: string | undefined;

  const folder = privateFolder(options.temporaryFolder ?? tmpdir());
  const setup = {
    yara: yaraProgram(),
    sevenZip: sevenZipProgram(),
    sources: [...builtIn, ...own],
    folder: folder.path,
  };
  const pool = await startScanPool({
    setup,
    threads: options.threads ?? availableParallelism(),
    timeLimitMs: options.timeLimitMs ?? TIME_LIMIT_MS,
    gatherMs: options.gatherMs ?? 0,
    onLoss: (message) => onEvent({ kind: "thread-lost", message }),
  }).catch((error) => {
    folder[Symbol.dispose]();
    throw error instanceof RulesRefused ? new Error(`cannot compile the rules: ${error.message}`) : error;
  });

  async function reload(sources: RuleSource[]): Promise<void> {
    const warnings = await pool.changeRules([...builtIn, ...sources]);
    own = sources;
    refused = undefined;
    onEvent({ kind: "rules-loaded", rules: countRules([...builtIn, ...own]), own: countRules(own), warnings });
  }

  function keepOld(error: unknown): void {
    refused = error instanceof Error ? error.message : String(error);
    onEvent({ kind: "rules-refused", message: refused });
  }

  const everyMs = options.watchEveryMs ?? WATCH_EVERY_MS;
  const watch = rulesDir === undefined ? undefined : watchRules(rulesDir, reload, { everyMs, failed: keepOld });

  return {
    async scan(bytes, signal) {
      const file = await spool(bytes, { folder: folder.path, memoryBytes: SMALL_FILE_BYTES }, signal);
      try {
        return await pool.run(file, signal);
      } finally {
        release(file);
      }
    },

    async health() {
      const { alive, wanted, lastFailure } = pool.census();
      const threads: EngineCheck = {
        name: "rules-threads",
        ok: alive > 0,
        detail: `${alive} of ${wanted} scan threads${lastFailure === undefined ? "" : `; cannot start more: ${lastFailure}`}`,
      };
      return { ready: alive > 0, checks: [rulesCheck({ builtIn, own, refused }), threads] };
    },

    async close() {
      watch?.[Symbol.dispose]();
      await pool.close();
      folder[Symbol.dispose]();
    },
  };
}

const WATCH_EVERY_MS = 2000;

function readOwn(folder: string): RuleSource[] {
  try {
    return readRules(folder);
  } catch (cause) {
    throw new Error(`cannot read the rules folder ${folder}`, { cause });
  }
}

function rulesCheck(state: { builtIn: RuleSource[]; own: RuleSource[]; refused: string | undefined }): EngineCheck {
  const loaded = `${countRules(state.builtIn)} built-in rules and ${countRules(state.own)} of your own`;
  if (state.refused !== undefined) {
    return { name: "rules", ok: false, detail: `changed rules refused, still using ${loaded}: ${state.refused}` };
  }
  return { name: "rules", ok: true, detail: `${loaded}; what they do not describe is not found` };
}
