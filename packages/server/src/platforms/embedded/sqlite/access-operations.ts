import type { DatabaseSync } from "node:sqlite";
import type { Tenant } from "../../../access/access-store.ts";
import { AUDIT_KEPT_MS } from "../../../access/audit-log.ts";
import { SILENT_MS } from "../../../access/shared-counts.ts";
import { isDeclared } from "../../shared/access-rows.ts";
import { FIRST, LAST, operation, type Sweep } from "./transaction.ts";

export interface KeyRow {
  /** JSON of what never changes. */
  content: string;
  expiresAt: number | null;
  lastUsedAt: number | null;
}

/** Keys, tenants, counts for their limits, and the audit log: the operator's words, in clear. */
export function accessOperations(db: DatabaseSync) {
  const changed = db.prepare("UPDATE access_version SET version = version + 1");
  const version = db.prepare("SELECT version FROM access_version");
  const keys = db.prepare(
    "SELECT content, expires_at AS expiresAt, last_used_at AS lastUsedAt FROM access_keys ORDER BY seq",
  );
  const tenants = db.prepare("SELECT content FROM tenants ORDER BY name");
  const addKey = db.prepare(
    "INSERT INTO access_keys (id, content, expires_at) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING",
  );
  const endKey = db.prepare(`UPDATE access_keys SET expires_at = min(?, coalesce(expires_at, ${LAST})) WHERE id = ?`);
  const removeKey = db.prepare("DELETE FROM access_keys WHERE id = ?");
  const putTenant = db.prepare(
    "INSERT INTO tenants (name, content) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET content = excluded.content",
  );
  const tenant = db.prepare("SELECT content FROM tenants WHERE name = ?");
  const removeTenant = db.prepare("DELETE FROM tenants WHERE name = ?");
  const used = db.prepare(
    `UPDATE access_keys SET last_used_at = max(?, coalesce(last_used_at, ${FIRST})) WHERE id = ?`,
  );
  const sayCounts = db.prepare(
    `INSERT INTO shared_counts (process, at, content) VALUES (?, ?, ?)
     ON CONFLICT (process) DO UPDATE SET at = excluded.at, content = excluded.content`,
  );
  const forgetCounts = db.prepare("DELETE FROM shared_counts WHERE at NOT BETWEEN ? AND ?");
  const otherCounts = db.prepare("SELECT process, content FROM shared_counts WHERE process <> ?");
  const addAudit = db.prepare("INSERT INTO audit (at, content) VALUES (?, ?)");
  const audit = db.prepare(
    "SELECT seq, content FROM audit WHERE seq < $before AND at >= $since AND at < $until ORDER BY seq DESC LIMIT $limit",
  );

  /** Whether it changed something, and then it is another version. */
  const writes = (changes: number | bigint): boolean => {
    if (changes === 0) return false;
    changed.run();
    return true;
  };

  return {
    accessVersion: operation("read", (_: object): string => String(version.get()?.version)),

    readAccess: operation("read", (_: object): { keys: KeyRow[]; tenants: string[] } => ({
      keys: keys.all() as unknown as KeyRow[],
      tenants: tenants.all().map(({ content }) => String(content)),
    })),

    addKey: operation("durable", (key: { id: string; content: string; expiresAt: number | null }): boolean =>
      writes(addKey.run(key.id, key.content, key.expiresAt).changes),
    ),

    endKey: operation("durable", ({ id, at }: { id: string; at: number }): boolean =>
      writes(endKey.run(at, id).changes),
    ),

    removeKey: operation("durable", ({ id }: { id: string }): boolean => writes(removeKey.run(id).changes)),

    putTenant: operation("durable", ({ name, content, before }: PutTenant): boolean => {
      const now = tenant.get(name)?.content;
      if (!isDeclared(now === undefined ? undefined : String(now), before ?? undefined)) return false;
      return writes(putTenant.run(name, content).changes);
    }),

    removeTenant: operation("durable", ({ name }: { name: string }): boolean => writes(removeTenant.run(name).changes)),

    usedKeys: operation("relaxed", ({ at }: { at: readonly (readonly [id: string, at: number])[] }): void => {
      for (const [id, time] of at) used.run(time, id);
    }),

    /** A clock that was set back leaves no row of the future behind. */
    exchangeCounts: operation("relaxed", ({ process, content, now }: SaidCounts): [string, string][] => {
      forgetCounts.run(now - SILENT_MS, now + SILENT_MS);
      sayCounts.run(process, now, content);
      return otherCounts.all(process).map((row) => [String(row.process), String(row.content)]);
    }),

    addAudit: operation("durable", ({ at, content }: { at: number; content: string }): void => {
      addAudit.run(at, content);
    }),

    listAudit: operation("read", (query: AuditRows): { seq: number; content: string }[] => {
      const { before = LAST, since = FIRST, until = LAST, limit } = query;
      return audit.all({ before, since, until, limit }) as unknown as { seq: number; content: string }[];
    }),
  };
}

interface PutTenant {
  name: string;
  content: string;
  before: Tenant | null;
}

interface SaidCounts {
  process: string;
  content: string;
  now: number;
}

interface AuditRows {
  before?: number;
  since?: number;
  until?: number;
  limit: number;
}

const SWEPT_AT_ONCE = 50;

export function auditSweep(db: DatabaseSync): Sweep {
  const sweep = db.prepare(
    `DELETE FROM audit WHERE seq IN (SELECT seq FROM audit WHERE at <= ? ORDER BY at LIMIT ${SWEPT_AT_ONCE})`,
  );
  return (now) => sweep.run(now - AUDIT_KEPT_MS).changes === SWEPT_AT_ONCE;
}
