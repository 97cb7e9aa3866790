import type { EngineCheck } from "../../../scan/engine.ts";
import { type Clamd, type ClamdOptions, clamd } from "../clamd.ts";
import { keeperFolder, keeperTemporaryDir, keeperWords, readKeeperState, refusedWords } from "./keeper-state.ts";

/** A clamd that is kept for a data folder, by this process or another one. Its health says what its keeper knows, too. */
export function keptClamd(options: ClamdOptions, dataDir: string): Clamd {
  const engine = clamd({ ...options, temporaryDir: keeperTemporaryDir(dataDir), switches: true });
  return {
    ...engine,
    async health(signal) {
      const { ready, checks } = await engine.health(signal);
      const state = readKeeperState(keeperFolder(dataDir));
      const told = checks.map((check): EngineCheck => {
        if (check.ok) return check;
        // With a keeper that runs it, what clamd itself says is all there is to know.
        const why = state?.state === "running" ? check.detail : `${keeperWords(state, Date.now())} (${check.detail})`;
        return { ...check, detail: why };
      });
      const refused = state?.refused;
      if (!refused) return { ready, checks: told };
      const news = { name: "new signatures", ok: true, detail: refusedWords(refused), refusedAt: refused.at };
      return { ready, checks: [...told, news] };
    },
  };
}
