import type { ReadinessCheck } from "../receive/service-routes.ts";
import type { EngineCheck } from "../scan/engine.ts";

/** When clamd's signatures count as old, and what that does. */
export interface SignaturePolicy {
  signaturesMaxAge: number;
  signaturesOld: "warn" | "unready";
}

/** `unknown`: no official database is loaded, so that there is no age, and nobody may take them for young. */
export type SignatureAge = { kind: "young" | "old"; seconds: number } | { kind: "unknown" };

const DAY_SECONDS = 86_400;
/** What clamd answers without an official database is the age of nothing, and would pass for fresh. */
const NO_OFFICIAL = "no official database: clamd finds what its own signatures name, and not the world's malware";

/** Undefined of what has no signatures, or is not in use. */
export function signatureAgeOf(check: EngineCheck, { signaturesMaxAge }: SignaturePolicy): SignatureAge | undefined {
  const { name, ok, detail, signatureAgeSeconds: seconds } = check;
  if (seconds !== undefined) return { kind: ageKind(seconds, signaturesMaxAge), seconds };
  // By its own words, as a clamd that is not in use has no age either.
  return name === "clamd" && ok && detail.includes("no official database") ? { kind: "unknown" } : undefined;
}

export function ageKind(seconds: number, maxAgeDays: number): "young" | "old" {
  return seconds > maxAgeDays * DAY_SECONDS ? "old" : "young";
}

/** What is wrong with an age, in words; undefined where nothing is. */
export function ageProblem(age: SignatureAge | undefined, { signaturesMaxAge }: SignaturePolicy): string | undefined {
  if (!age || age.kind === "young") return undefined;
  if (age.kind === "unknown") return NO_OFFICIAL;
  return `signatures are ${(age.seconds / DAY_SECONDS).toFixed(1)} days old, more than ${signaturesMaxAge}: new malware is not found`;
}

/** Readiness, with a word about signatures that are old or nobody's. They are not ready only where the settings say so. */
export function signatureChecks(checks: readonly EngineCheck[], policy: SignaturePolicy): ReadinessCheck[] {
  return checks.flatMap((check) => {
    const problem = ageProblem(signatureAgeOf(check, policy), policy);
    if (problem === undefined) return [];
    return [{ name: "signatures", ok: policy.signaturesOld === "warn", detail: `${problem}; run freshclam` }];
  });
}
