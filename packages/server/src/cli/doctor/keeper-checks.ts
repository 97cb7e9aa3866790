import { databasesIn } from "../../engines/clamd/databases.ts";
import { keeperFolder, keeperWords, readKeeperState, refusedWords } from "../../engines/clamd/keeper/keeper-state.ts";
import { clamdBinary } from "../../engines/clamd/own-clamd.ts";
import type { Settings } from "../../settings.ts";
import { type Check, fail, ok, warn } from "./check.ts";

const NAME = "own clamd";

/** With LAZARET_CLAMD=own: could the service keep a clamd, and does it? `runs`: there is one to look at. */
export async function keeperChecks(
  { dataDir, signaturesDir }: Settings,
  now: number,
): Promise<{ checks: Check[]; runs: boolean }> {
  const idle = (check: Check): { checks: Check[]; runs: false } => ({ checks: [check], runs: false });
  if (clamdBinary() === undefined) {
    return idle(fail(NAME, "clamd is not installed", "Debian: apt-get install clamav-daemon clamav-freshclam"));
  }
  const folder = keeperFolder(dataDir);
  const state = readKeeperState(folder);
  const found = await databasesIn(signaturesDir).catch(() => []);
  if (found.length === 0 && state?.set === undefined) {
    const fix = "run freshclam, or lazaret signatures update --from a folder";
    return idle(fail(NAME, `there are no signatures in ${signaturesDir}, or this user cannot read them`, fix));
  }
  if (!state)
    return idle(warn(NAME, "never started yet", "lazaret serve starts it, with the signatures that are there"));
  if (state.state !== "running") {
    return idle(fail(NAME, keeperWords(state, now), "start lazaret serve if it does not run, and see its log"));
  }
  const { refused } = state;
  const check = refused
    ? warn(NAME, refusedWords(refused), `bring other signatures to ${signaturesDir}`)
    : ok(NAME, `kept in ${folder}`);
  return { checks: [check], runs: true };
}
