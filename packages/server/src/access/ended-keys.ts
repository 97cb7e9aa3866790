import { hostname } from "node:os";
import { repeated } from "../flow/repeated.ts";
import type { AccessStore } from "./access-store.ts";
import type { AuditLog } from "./audit-log.ts";

/** Its holder hears for so long that it has ended, and operators see it in the list: 30 days. */
const ENDED_KEPT_MS = 30 * 86_400_000;

interface SweepOptions {
  now: () => number;
  everyMs: number;
  onFailure(error: Error): void;
}

/**
 * Takes away the keys that ended so long ago, every so often, each after its entry in the audit log. Only those that had ended so long ago
 * the time before as well: a machine that starts with a clock of next year, until somebody sets it, must not take good keys away for ever.
 */
export async function sweepEndedKeys(
  { access, audit }: { access: AccessStore; audit: AuditLog },
  { now, everyMs, onFailure }: SweepOptions,
): Promise<Disposable> {
  let seen: ReadonlySet<string> = new Set();

  async function sweep(): Promise<void> {
    const at = now();
    const over = (await access.read()).keys.filter(({ expiresAt = at }) => expiresAt <= at - ENDED_KEPT_MS);
    const before = seen;
    seen = new Set(over.map(({ id }) => id));
    for (const { id, tenant, name, expiresAt = at } of over.filter((key) => before.has(key.id))) {
      const act = { who: "service", tenant: "", what: "keys.sweep", on: `${tenant}/${name} (${id})`, from: hostname() };
      await audit.add({ at, ...act, details: { ended: new Date(expiresAt).toISOString() } });
      await access.removeKey(id);
    }
  }

  await sweep().catch(onFailure);
  return repeated(sweep, { everyMs, onFailure });
}
