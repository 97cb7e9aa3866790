import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What the keeper of clamd tells other processes, and itself at its next start, in a file of its folder. */
export interface KeeperState {
  /** `waiting`: clamd has ended, or could not be started, and is started again in a while. `idle`: there are no signatures to start it with. */
  state: "starting" | "running" | "waiting" | "idle";
  /** Milliseconds since 1970. */
  since: number;
  /** Of clamd, while it runs or starts. */
  pid?: number;
  /** The signatures that clamd works with, or worked with last. */
  set?: string;
  /** What keeps clamd from running. */
  error?: string;
  refused?: Refused;
}

/** Signatures that did not pass their self-test. */
export interface Refused {
  set: string;
  databases: string;
  why: string;
  at: number;
}

/** Where a service with this data folder keeps its clamd. */
export function keeperFolder(dataDir: string): string {
  return join(dataDir, "clamd");
}

/** clamd's temporary folder, the same for each clamd of this keeper. */
export function keeperTemporaryDir(dataDir: string): string {
  return join(keeperFolder(dataDir), "tmp");
}

/** Undefined where no keeper has ever been. */
export function readKeeperState(folder: string): KeeperState | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, STATE), "utf8"));
  } catch {
    return undefined;
  }
}

export function writeKeeperState(folder: string, state: KeeperState): void {
  const path = join(folder, STATE);
  writeFileSync(`${path}.draft`, `${JSON.stringify(state)}\n`, { mode: 0o600 });
  renameSync(`${path}.draft`, path);
}

const STATE = "state.json";

/** Why a clamd of our own does not answer. */
export function keeperWords(state: KeeperState | undefined, now: number): string {
  if (!state) return "no service keeps a clamd for this data folder: start lazaret serve with LAZARET_CLAMD=own";
  const seconds = Math.max(0, Math.round((now - state.since) / 1000));
  if (state.state === "starting") return `clamd loads its signatures, for ${seconds} s now`;
  if (state.state === "running") return "clamd has just ended, or nobody keeps it any more";
  return state.error ?? "clamd does not run";
}

export function refusedWords({ databases, why, at }: Refused): string {
  return `NEW SIGNATURES REFUSED at ${new Date(at).toISOString()}, those in use stay: ${why} (${databases})`;
}
