import type { StoredKey } from "../../src/access/access-store.ts";
import { newSecret } from "../../src/access/api-key.ts";

/** A key of a tenant's own, as an operator makes it, and its secret. */
export interface TenantKey {
  secret: string;
  stored: StoredKey;
}

export function tenantKey(tenant: string): TenantKey {
  const { id, secret, digest } = newSecret();
  const stored: StoredKey = {
    id,
    name: `${tenant}-key`,
    tenant,
    scopes: ["scan", "objects", "read"],
    digest,
    madeAt: Date.now(),
    limits: {},
  };
  return { secret, stored };
}
