import { DEFAULT_TENANT } from "../../model/tenant.ts";
import { monthOf, noUse, type UsageMeter, type Use } from "../../scan/usage-meter.ts";
import type { Attributes, Table } from "./table.ts";

/**
 * One item for each month and tenant, which all processes add to, with three numbers for each key. What was counted before there were
 * tenants is another item, the default tenant's.
 */
export function tableUsage(table: Table, now: () => number): UsageMeter {
  const itemOf = (name: string): Attributes => ({ pk: { S: "usage" }, sk: { S: name } });
  const nameOf = (tenant: string): string => `${monthOf(now())}#${tenant}`;
  return {
    async add(used) {
      const byTenant = Map.groupBy(used, ({ tenant }) => tenant);
      const writes = [...byTenant].map(([tenant, uses]) => {
        const numbers = uses.flatMap(({ key, accepted, files, bytes }) => [
          [`accepted ${key}`, accepted] as const,
          [`files ${key}`, files] as const,
          [`bytes ${key}`, bytes] as const,
        ]);
        return table.increase(itemOf(nameOf(tenant)), numbers);
      });
      await Promise.all(writes);
    },

    async thisMonth(tenant) {
      const earlier = tenant === DEFAULT_TENANT ? await table.get(itemOf(monthOf(now()))) : undefined;
      const counted = (await table.get(itemOf(nameOf(tenant)))) ?? {};
      const keys = new Map<string, Use>();
      if (earlier) keys.set("", { ...noUse, files: Number(earlier.scans?.N ?? 0) });
      for (const [name, value] of Object.entries(counted)) {
        const [, what, key = ""] = /^(accepted|files|bytes) (.*)$/.exec(name) ?? [];
        if (what === undefined) continue;
        const use = keys.get(key) ?? noUse;
        keys.set(key, { ...use, [what]: use[what as keyof Use] + Number(value.N) });
      }
      return keys;
    },
  };
}
