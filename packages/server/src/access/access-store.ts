/**
 * Who may ask for what: keys and tenants as an operator made them. Few, and read whole. Each adapter passes
 * test/contracts/access-store.ts. All of it throws `QueueUnavailable`; what writes is durable when it resolves.
 */
export interface AccessStore {
  /** `NEVER_CHANGED` to begin with, and another after each change that `read` shows. Asked every few seconds by every process. */
  version(): Promise<string>;
  /** Keys in the order in which they were made, tenants by name. */
  read(): Promise<Access>;
  /** False when there is a key of this id. */
  addKey(key: StoredKey): Promise<boolean>;
  /** From then on it is accepted no more; earlier if it ended before. False when there is none. */
  endKey(id: string, at: number): Promise<boolean>;
  /** False when there is none. */
  removeKey(id: string): Promise<boolean>;
  /** In place of what was declared of it `before`, if anything was. False, and nothing is written, when that is another by now. */
  putTenant(tenant: Tenant, before: Tenant | undefined): Promise<boolean>;
  /** What was declared of it: its keys, jobs and results stay. False when there is none. */
  removeTenant(name: string): Promise<boolean>;
  /** When keys were last used, by id, in milliseconds since 1970: for people. Later times win; does not change the version. */
  used(at: ReadonlyMap<string, number>): Promise<void>;
}

export const NEVER_CHANGED = "0";

export interface Access {
  keys: readonly StoredKey[];
  tenants: readonly Tenant[];
}

export const SCOPES = ["scan", "objects", "read", "admin", "viewer"] as const;
export type Scope = (typeof SCOPES)[number];

export interface StoredKey {
  /** The public part of its secret. */
  id: string;
  /** Of one name there are several while a key is exchanged. */
  name: string;
  tenant: string;
  scopes: readonly Scope[];
  /** SHA-256 of the secret, in hex. */
  digest: string;
  /** Milliseconds since 1970, as all times here. */
  madeAt: number;
  expiresAt?: number;
  /** How long it was made for, where it was to end: what it is exchanged for is as good, however soon it ends itself. */
  madeForMs?: number;
  lastUsedAt?: number;
  limits: Limits;
}

export interface Tenant {
  name: string;
  /** Its part beside others, of what all of them wait for. */
  weight: number;
  limits: Limits;
  /** The buckets it may have scanned, `*` for anything; all when there is no such list. */
  buckets?: readonly string[];
}

/** What is not there is not limited. */
export interface Limits {
  requestsPerSecond?: number;
  filesPerMonth?: number;
  bytesPerMonth?: number;
  jobsWaiting?: number;
  scansAtOnce?: number;
  largestFile?: number;
}
