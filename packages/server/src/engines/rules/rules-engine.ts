import type { Engine } from "../../scan/engine.ts";
import { type RulesOptions, ruleThreads, type ScanThreadsOptions } from "../threads/scan-threads.ts";
import { unpackingEngine } from "../unpacking-engine.ts";

/** The rules alone, without clamd and without the file's type. */
export async function rulesEngine(options: ScanThreadsOptions & RulesOptions = {}): Promise<Engine> {
  return unpackingEngine({ threads: await ruleThreads(options) });
}
