import type { StoredKey, Tenant } from "../../access/access-store.ts";

/** A key as it is kept: what never changes as JSON, and what does beside it. */
export interface KeptKey {
  content: string;
  expiresAt: number | null | undefined;
  lastUsedAt: number | null | undefined;
}

export function keyContent({ expiresAt: _, lastUsedAt: __, ...key }: StoredKey): string {
  return JSON.stringify(key);
}

export function keyOf({ content, expiresAt, lastUsedAt }: KeptKey): StoredKey {
  return {
    ...(JSON.parse(content) as StoredKey),
    ...(typeof expiresAt === "number" && { expiresAt }),
    ...(typeof lastUsedAt === "number" && { lastUsedAt }),
  };
}

/** Whether a row, if there is one, says this of a tenant, in whatever way it was written. */
export function isDeclared(content: string | undefined, tenant: Tenant | undefined): boolean {
  if (content === undefined || tenant === undefined) return content === tenant;
  return JSON.stringify(tenantOf(content)) === JSON.stringify(tenant);
}

export function tenantOf(content: string): Tenant {
  return JSON.parse(content) as Tenant;
}
