import { OTHER_TENANTS } from "../model/tenant.ts";

/** So many have a label of their own; a time series for each of any number would be too much for Prometheus. */
const MOST_TENANTS = 200;
const MOST_KEYS = 1000;

interface Owner {
  tenant: string;
  /** Of what nobody with a key asked for there is none. */
  key: string | undefined;
}

/** Tenants and keys as labels: those that came first by their names, and the rest as one. */
export function boundedOwners(): (owner: Owner) => Owner {
  const tenants = new Set<string>([OTHER_TENANTS]);
  const keys = new Set<string>();
  const known = (names: Set<string>, name: string, most: number): boolean => {
    if (names.size < most) names.add(name);
    return names.has(name);
  };
  return ({ tenant, key }) => {
    if (!known(tenants, tenant, MOST_TENANTS + 1)) return { tenant: OTHER_TENANTS, key: key && OTHER_TENANTS };
    return { tenant, key: key && !known(keys, `${tenant} ${key}`, MOST_KEYS) ? OTHER_TENANTS : key };
  };
}
