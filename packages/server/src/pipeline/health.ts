import { remembered } from "../flow/remembered.ts";
import { timeLimit } from "../flow/time-limit.ts";
import type { Log } from "../log.ts";
import type { JobQueue } from "../queue/job-queue.ts";
import type { ReadinessCheck } from "../receive/service-routes.ts";
import type { Engine, EngineCheck } from "../scan/engine.ts";
import { HEALTH_TIMEOUT_MS, QUEUE_ANSWER_MS, READINESS_MS, SIGNATURE_AGE_EVERY_MS } from "./limits.ts";

export interface Health {
  ready: boolean;
  checks: readonly ReadinessCheck[];
}

export interface HealthOptions {
  engine: Engine;
  counts: JobQueue["counts"];
  /** Throws when the queue could keep nothing now. */
  tryToWrite?: (() => Promise<void>) | undefined;
}

/** Whether queue and engine could do their work now. Never throws. */
export function health({ engine, counts, tryToWrite }: HealthOptions): () => Promise<Health> {
  const ask = async (): Promise<Health> => {
    const [engineSays, queue] = await Promise.all([engineHealth(engine), inTime(queueCheck(counts, tryToWrite))]);
    return { ready: queue.ok && engineSays.ready, checks: [queue, ...withSignatureNote(engineSays.checks)] };
  };
  return remembered(READINESS_MS, ask, { timesAsLong: 1 });
}

/** Never throws. */
export async function engineHealth(engine: Engine): ReturnType<Engine["health"]> {
  using limit = timeLimit(HEALTH_TIMEOUT_MS);
  return await engine.health(limit.signal);
}

async function queueCheck(
  counts: JobQueue["counts"],
  tryToWrite: () => Promise<void> = async () => {},
): Promise<ReadinessCheck> {
  try {
    await tryToWrite();
    const { ready, buried, oldestSeconds } = await counts();
    const detail = `${ready} jobs wait, the oldest for ${Math.round(oldestSeconds)} s; ${buried} dead letters`;
    return { name: "queue", ok: true, detail };
  } catch (error) {
    const hint = error instanceof Error && "hint" in error ? `; ${error.hint}` : "";
    return { name: "queue", ok: false, detail: `${error instanceof Error ? error.message : error}${hint}` };
  }
}

async function inTime(check: Promise<ReadinessCheck>): Promise<ReadinessCheck> {
  const late = Promise.withResolvers<ReadinessCheck>();
  const detail = `no answer within ${QUEUE_ANSWER_MS} ms`;
  const timer = setTimeout(() => late.resolve({ name: "queue", ok: false, detail }), QUEUE_ANSWER_MS);
  try {
    return await Promise.race([check, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** What clamd answers without an official database is the age of nothing, and would pass for fresh. */
const NO_OFFICIAL = "no official database: clamd finds what its own signatures name, and not the world's malware";
const NOTE = { name: "signatures", ok: true, detail: `${NO_OFFICIAL}; run freshclam` } as const;

/** The checks, with a word about signatures that are nobody's: their age is unknown, so that they cannot be too old. */
function withSignatureNote(checks: readonly EngineCheck[]): EngineCheck[] {
  return checks.flatMap((check) => (isUnofficial(check) ? [check, { ...NOTE }] : [check]));
}

/** By its own words, as a clamd that is not in use has no age either. */
function isUnofficial({ name, ok, detail, signatureAgeSeconds }: EngineCheck): boolean {
  return name === "clamd" && ok && signatureAgeSeconds === undefined && detail.includes("no official database");
}

/** Logs how old the official signatures are, now and every ten minutes, or that there are none. */
export function logSignatureAge(engine: Engine, log: Log): Disposable {
  const check = async (): Promise<void> => {
    const { checks } = await engineHealth(engine);
    for (const { signatureAgeSeconds: age } of checks) {
      if (age !== undefined) log("signatures", { age_seconds: Math.round(age) });
    }
    if (checks.some(isUnofficial)) log.error("signatures", { official: false, detail: NO_OFFICIAL });
  };
  void check();
  const timer = setInterval(() => void check(), SIGNATURE_AGE_EVERY_MS);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
