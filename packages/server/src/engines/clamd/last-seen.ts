import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "../../log.ts";
import { type ClamdAddress, describeAddress } from "./address.ts";

const SEEN = "clamd-seen";

/** Where `auto` has found clamd in an earlier run, on this data folder. */
export function rememberedClamd(dataDir: string): string | undefined {
  try {
    return readFileSync(join(dataDir, SEEN), "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}

/** So that a clamd that is gone after a restart is missed. The data folder is there. */
export function rememberClamd(dataDir: string, address: ClamdAddress, log: Log): void {
  const text = describeAddress(address);
  if (rememberedClamd(dataDir) === text) return;
  try {
    writeFileSync(join(dataDir, SEEN), `${text}\n`, { mode: 0o600 });
  } catch (error) {
    log.error("clamd_not_remembered", { error: (error as Error).message });
  }
}

export function forgetClamd(dataDir: string, log: Log): void {
  try {
    rmSync(join(dataDir, SEEN), { force: true });
  } catch (error) {
    log.error("clamd_not_forgotten", { error: (error as Error).message });
  }
}
