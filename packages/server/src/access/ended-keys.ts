import { hostname } from "node:os";
import type { AccessStore } from "./access-store.ts";
import type { AuditLog } from "./audit-log.ts";

/** Its holder hears for so long that it has ended, and operators see it in the list: 30 days. */
const ENDED_KEPT_MS = 30 * 86_400_000;

interface SweepOptions {
  now: () => number;
  everyMs: number;
  onFailure(error: Error): void;
}

/** Takes away the keys that ended so long ago, now and every so often, each after its entry in the audit log. */
export async function sweepEndedKeys(
  { access, audit }: { access: AccessStore; audit: AuditLog },
  { now, everyMs, onFailure }: SweepOptions,
): Promise<Disposable> {
  async function sweep(): Promise<void> {
    const at = now();
    for (const { id, tenant, name, expiresAt = at } of (await access.read()).keys) {
      if (expiresAt > at - ENDED_KEPT_MS) continue;
      const act = { who: "service", tenant: "", what: "keys.sweep", on: `${tenant}/${name} (${id})`, from: hostname() };
      await audit.add({ at, ...act, details: { ended: new Date(expiresAt).toISOString() } });
      await access.removeKey(id);
    }
  }

  await sweep().catch(onFailure);
  const timer = setInterval(() => void sweep().catch(onFailure), everyMs);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
