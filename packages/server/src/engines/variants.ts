import { availableParallelism } from "node:os";
import { CONCURRENT_REQUESTS_P_PER_VCPU, CONCURRENT_REQUESTS_Q } from "@lazaret/contract";
import type { Engine, EngineCheck } from "../scan/engine.ts";
import { withArchiveLook } from "../scan/with-archive-look.ts";
import type { ClamdAddress } from "./clamd/address.ts";
import { clamd } from "./clamd/clamd.ts";
import type { RulesEngineOptions } from "./rules/rules-engine.ts";

/** What the spec's two engine variants are made of. */
export type VariantParts =
  | { variant: "Q"; clamd: ClamdAddress; concurrency: number }
  | { variant: "P"; clamd: ClamdAddress | undefined; concurrency: number; rules: RulesEngineOptions };

/** Files scanned at once by the synchronous API, unless an operator says otherwise. */
export function concurrencyOf(variant: "P" | "Q", vcpus: number = availableParallelism()): number {
  return variant === "Q" ? CONCURRENT_REQUESTS_Q : vcpus * CONCURRENT_REQUESTS_P_PER_VCPU;
}

export async function startEngine(parts: VariantParts): Promise<Engine> {
  const { concurrency } = parts;
  // clamd is believed only where our own look at the archive's directory agrees.
  const believed = (address: ClamdAddress): Engine => withArchiveLook(clamd({ address, concurrency }));
  if (parts.variant === "Q") return believed(parts.clamd);

  // Loaded only when chosen: with Q alone their WebAssembly would cost memory for nothing.
  const [{ engineP }, { fileTypeDetector }, { rulesEngine }] = await Promise.all([
    import("./engine-p.ts"),
    import("./file-type/file-type.ts"),
    import("./rules/rules-engine.ts"),
  ]);
  // While clamd looks at a file for longer anyway, small files may wait a moment to be matched together.
  const rules = await rulesEngine({ ...parts.rules, ...(parts.clamd && { gatherMs: GATHER_MS }) });
  const fileType = fileTypeDetector();
  if (parts.clamd) return engineP({ fileType, engines: [believed(parts.clamd), rules] });
  return withCheck(engineP({ fileType, engines: [rules] }), WITHOUT_CLAMD);
}

const GATHER_MS = 20;

/** Said at the start, in the log and at readiness: somebody will take this engine for more than it is. */
const WITHOUT_CLAMD: EngineCheck = {
  name: "clamd",
  ok: true,
  detail:
    "NOT IN USE: this engine knows test files and the rules in its folder, not the world's malware; run clamd and set LAZARET_CLAMD for that",
};

function withCheck(engine: Engine, check: EngineCheck): Engine {
  return {
    ...engine,
    async health(signal) {
      const { ready, checks } = await engine.health(signal);
      return { ready, checks: [...checks, check] };
    },
  };
}
