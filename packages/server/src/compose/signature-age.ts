import type { Log } from "../log.ts";
import type { Engine, EngineCheck } from "../scan/engine.ts";

/** Alarms on signatures that grow old look for this line. */
const TELL_EVERY_MS = 600_000;
const HEALTH_TIMEOUT_MS = 5_000;

/** What clamd answers without an official database is the age of nothing, and would pass for fresh. */
const NO_OFFICIAL = "no official database: clamd finds what its own signatures name, and not the world's malware";

/** The checks, with a word about signatures that are nobody's: their age is unknown, so that they cannot be too old. */
export function withSignatureNote(checks: readonly EngineCheck[]): EngineCheck[] {
  return checks.flatMap((check) => (isUnofficial(check) ? [check, { ...NOTE }] : [check]));
}

/** In its own words, as a clamd that is not in use tells no age either. */
function isUnofficial({ name, ok, detail, signatureAgeSeconds }: EngineCheck): boolean {
  return name === "clamd" && ok && signatureAgeSeconds === undefined && detail.includes("no official database");
}

const NOTE = { name: "signatures", ok: true, detail: `${NO_OFFICIAL}; run freshclam` } as const;

/** Tells the log how old the official signatures are, now and every ten minutes, or that there are none. */
export function tellSignatureAge(engine: Engine, log: Log): Disposable {
  const tell = async (): Promise<void> => {
    const { checks } = await engine.health(AbortSignal.timeout(HEALTH_TIMEOUT_MS));
    for (const { signatureAgeSeconds: age } of checks) {
      if (age !== undefined) log("signatures", { age_seconds: Math.round(age) });
    }
    if (checks.some(isUnofficial)) log.error("signatures", { official: false, detail: NO_OFFICIAL });
  };
  void tell();
  const timer = setInterval(() => void tell(), TELL_EVERY_MS);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
