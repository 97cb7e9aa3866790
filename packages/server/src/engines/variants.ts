import { availableParallelism } from "node:os";
import { CONCURRENT_REQUESTS_P_PER_VCPU, CONCURRENT_REQUESTS_Q } from "@lazaret/contract";
import type { Engine, EngineCheck } from "../scan/engine.ts";
import type { ClamdAddress } from "./clamd/address.ts";
import { clamd } from "./clamd/clamd.ts";
import { type RulesOptions, ruleThreads, type ScanThreadsOptions, unpackThreads } from "./threads/scan-threads.ts";
import { unpackingEngine } from "./unpacking-engine.ts";

/** What the spec's two engine variants are made of. */
export type VariantParts = {
  concurrency: number;
  /** clamd's temporary folder, where it is ours to see; looked for in clamd's configuration otherwise. */
  clamdTemporaryDir?: string;
  unpacking?: ScanThreadsOptions;
} & (
  | { variant: "Q"; clamd: ClamdAddress }
  | { variant: "P"; clamd: ClamdAddress | undefined; rules: ScanThreadsOptions & RulesOptions }
);

/** Files scanned at once by the synchronous API, unless an operator says otherwise. */
export function concurrencyOf(variant: "P" | "Q", vcpus: number = availableParallelism()): number {
  return variant === "Q" ? CONCURRENT_REQUESTS_Q : vcpus * CONCURRENT_REQUESTS_P_PER_VCPU;
}

export async function startEngine(parts: VariantParts): Promise<Engine> {
  const { concurrency, clamdTemporaryDir: temporaryDir } = parts;
  const withClamd = (address: ClamdAddress) => ({
    clamd: clamd({ address, concurrency, ...(temporaryDir !== undefined && { temporaryDir }) }),
  });
  if (parts.variant === "Q")
    return unpackingEngine({ threads: unpackThreads(parts.unpacking), ...withClamd(parts.clamd) });

  // Loaded only when chosen: with Q alone its WebAssembly would cost memory for nothing.
  const { fileTypeDetector } = await import("./file-type/file-type.ts");
  // While clamd looks at a file for longer anyway, small files may wait a moment to be matched together.
  const threads = await ruleThreads({ ...parts.rules, ...(parts.clamd && { gatherMs: GATHER_MS }) });
  const fileType = fileTypeDetector();
  if (parts.clamd) return unpackingEngine({ threads, fileType, ...withClamd(parts.clamd) });
  return unpackingEngine({ threads, fileType, notes: [WITHOUT_CLAMD] });
}

const GATHER_MS = 20;

/** Said at the start, in the log and at readiness: somebody will take this engine for more than it is. */
const WITHOUT_CLAMD: EngineCheck = {
  name: "clamd",
  ok: true,
  detail:
    "NOT IN USE: this engine knows test files and the rules in its folder, not the world's malware; run clamd and set LAZARET_CLAMD for that",
};
