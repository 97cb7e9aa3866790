import { getCompileCacheDir } from "node:module";
import { dirname } from "node:path";

/** Node 22 warns of its SQLite in every thread and process that loads it: see bin/lazaret.mjs. */
export const QUIET: readonly string[] =
  Number.parseInt(process.versions.node, 10) < 24 ? ["--disable-warning=ExperimentalWarning"] : [];

/**
 * For a thread that needs nothing of this process but its code: no secrets of the environment, and no flags. What the process has
 * compiled before is not compiled again, which is more than half of what the start of a thread takes.
 */
export function bareThread(): { env: Record<string, string>; execArgv: string[] } {
  const compiled = getCompileCacheDir();
  const env: Record<string, string> = compiled === undefined ? {} : { NODE_COMPILE_CACHE: dirname(compiled) };
  return { env, execArgv: [...QUIET] };
}
