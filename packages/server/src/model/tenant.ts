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

/** What is wrong with the name of a key of that tenant. */
export function keyNameProblem(name: string, tenant: string): string | undefined {
  if (!NAME.test(name)) return NO_NAME;
  const isFlat = tenant === DEFAULT_TENANT && /^key-\d+$/.test(name);
  return isFlat ? "must not be key- and a number: so the keys of LAZARET_API_KEYS are called in logs" : undefined;
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
