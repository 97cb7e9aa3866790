/** Whose a job, a result, a failed callback or a count is, in an operator's word: `a-z`, `0-9` and `-`, at most 63 characters. */
export const TENANT: RegExp = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** That of LAZARET_API_KEYS, and of all that was there before there were tenants. */
export const DEFAULT_TENANT = "default";

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
