/** Of tenants and keys. */
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const NO_NAME = "must be a name of a-z, 0-9 and -, at most 63, with no - at its beginning or end";

/** That of LAZARET_API_KEYS, and of all that was there before there were tenants. */
export const DEFAULT_TENANT = "default";

/** What metrics call all tenants beyond those that have a label: nobody else is called so. */
export const OTHER_TENANTS = "other";

/** What is wrong with the name of a tenant: whose a job, a result, a failed callback or a count is, in an operator's word. */
export function tenantProblem(name: string): string | undefined {
  if (!NAME.test(name)) return NO_NAME;
  return name === OTHER_TENANTS ? `must not be ${OTHER_TENANTS}, which metrics call all that have no label` : undefined;
}

/** The name of a key in LAZARET_API_KEYS, which has none of its own: its place there, from 1 on. */
export function flatKeyName(place: number): string {
  return `key-${place}`;
}

/** Nobody else is called as those are that have no name of their own: the audit log tells them apart by it. */
const FLAT_KEYS: Readonly<Record<string, string>> = {
  key: "LAZARET_API_KEYS",
  admin: "LAZARET_ADMIN_KEYS",
  viewer: "LAZARET_VIEWER_KEYS",
};

/** What is wrong with the name of a key of that tenant. */
export function keyNameProblem(name: string, tenant: string): string | undefined {
  if (!NAME.test(name)) return NO_NAME;
  const flat = tenant === DEFAULT_TENANT ? /^(key|admin|viewer)-\d+$/.exec(name)?.[1] : undefined;
  return flat && `must not be ${flat}- and a number: so the keys of ${FLAT_KEYS[flat]} are called in logs`;
}

/** On whose account something is done: a tenant, and the name of its key, which is empty where nobody with a key asked. */
export interface Account {
  tenant: string;
  key: string;
}

/** A trace id among those of its tenant: what others use is another. */
export interface Trace {
  tenant: string;
  traceId: string;
}
