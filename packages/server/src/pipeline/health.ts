import { remembered } from "../flow/remembered.ts";
import { timeLimit } from "../flow/time-limit.ts";
import type { Log } from "../log.ts";
import type { JobQueue } from "../queue/job-queue.ts";
import type { ReadinessCheck } from "../receive/service-routes.ts";
import type { Engine, EngineCheck } from "../scan/engine.ts";
import { HEALTH_TIMEOUT_MS, QUEUE_ANSWER_MS, READINESS_MS, SIGNATURE_AGE_EVERY_MS } from "./limits.ts";
import { ageProblem, type SignaturePolicy, signatureAgeOf, signatureChecks } from "./signature-age.ts";

export interface Health {
  ready: boolean;
  checks: readonly EngineCheck[];
}

export interface HealthOptions {
  engine: Engine;
  counts: JobQueue["counts"];
  /** Throws when the queue could keep nothing now. */
  tryToWrite?: (() => Promise<void>) | undefined;
  policy: SignaturePolicy;
}

/** Whether queue and engine could do their work now. Never throws. */
export function health({ engine, counts, tryToWrite, policy }: HealthOptions): () => Promise<Health> {
  const ask = async (): Promise<Health> => {
    const [engineSays, queue] = await Promise.all([engineHealth(engine), inTime(queueCheck(counts, tryToWrite))]);
    const signatures = signatureChecks(engineSays.checks, policy);
    const ready = queue.ok && engineSays.ready && signatures.every(({ ok }) => ok);
    return { ready, checks: [queue, ...engineSays.checks, ...signatures] };
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

/** Logs how old the official signatures are, now and every ten minutes, and what is wrong with that. */
export function logSignatureAge(engine: Engine, log: Log, policy: SignaturePolicy): Disposable {
  const check = async (): Promise<void> => {
    const { checks } = await engineHealth(engine);
    for (const each of checks) {
      const age = signatureAgeOf(each, policy);
      if (!age) continue;
      const detail = ageProblem(age, policy);
      const fields = age.kind === "unknown" ? { official: false } : { age_seconds: Math.round(age.seconds) };
      if (detail === undefined) log("signatures", fields);
      else log.error("signatures", { ...fields, detail });
    }
  };
  void check();
  const timer = setInterval(() => void check(), SIGNATURE_AGE_EVERY_MS);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
