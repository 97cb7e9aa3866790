import type { AccessStore } from "../../access/access-store.ts";
import { keyContent, keyOf, tenantOf } from "../shared/access-rows.ts";
import type { StoreParts } from "./sqlite/job-database.ts";

export function sqliteAccess({ database }: Pick<StoreParts, "database">): AccessStore {
  return {
    version: () => database.run("accessVersion", {}),
    async read() {
      const { keys, tenants } = await database.run("readAccess", {});
      return { keys: keys.map(keyOf), tenants: tenants.map(tenantOf) };
    },
    addKey: (key) => database.run("addKey", { id: key.id, content: keyContent(key), expiresAt: key.expiresAt ?? null }),
    endKey: (id, at) => database.run("endKey", { id, at }),
    removeKey: (id) => database.run("removeKey", { id }),
    putTenant: (tenant, before) =>
      database.run("putTenant", { name: tenant.name, content: JSON.stringify(tenant), before: before ?? null }),
    removeTenant: (name) => database.run("removeTenant", { name }),
    async used(at) {
      if (at.size > 0) await database.run("usedKeys", { at: [...at] });
    },
  };
}
