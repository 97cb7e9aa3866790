import type { Log } from "../log.ts";
import type { Engine } from "../scan/engine.ts";

/** Alarms on signatures that grow old look for this line. */
const TELL_EVERY_MS = 600_000;
const HEALTH_TIMEOUT_MS = 5_000;

/** Tells the log how old the official signatures are, now and every ten minutes. */
export function tellSignatureAge(engine: Engine, log: Log): Disposable {
  const tell = async (): Promise<void> => {
    const { checks } = await engine.health(AbortSignal.timeout(HEALTH_TIMEOUT_MS));
    for (const { signatureAgeSeconds: age } of checks) {
      if (age !== undefined) log("signatures", { age_seconds: Math.round(age) });
    }
  };
  void tell();
  const timer = setInterval(() => void tell(), TELL_EVERY_MS);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
