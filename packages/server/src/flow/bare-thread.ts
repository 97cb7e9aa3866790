import { getCompileCacheDir } from "node:module";
import { dirname } from "node:path";

/** What a thread has for what is gone at once, in MB, unless it asks for more: collected often, as there is little of it. */
const YOUNG_HEAP_MB = 3;

interface BareThread {
  env: Record<string, string>;
  execArgv: string[];
  resourceLimits: { maxYoungGenerationSizeMb: number };
}

/**
 * For a thread that needs nothing of this process but its code: no secrets of the environment, and no flags. What the process has
 * compiled before is not compiled again, which is more than half of what the start of a thread takes.
 */
export function bareThread(): BareThread {
  const compiled = getCompileCacheDir();
  const env: Record<string, string> = compiled === undefined ? {} : { NODE_COMPILE_CACHE: dirname(compiled) };
  return { env, execArgv: [], resourceLimits: { maxYoungGenerationSizeMb: YOUNG_HEAP_MB } };
}
