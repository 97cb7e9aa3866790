/** The part of the wire of /admin/v1 that is about the installation: engines, buckets, keys, callbacks, settings, and work that it does for a while. See admin.ts. */

/** Work that takes a while: GET tasks, GET tasks/<id>, POST tasks/<id>/stop. Known to the machine that does it. */
export interface AdminTask {
  id: string;
  what: "redrive" | "delete" | "guard";
  on: string;
  started_at: number;
  ended_at?: number;
  done: number;
  failed: number;
  total?: number;
  error?: string;
}

/** GET engines. */
export interface AdminEngines {
  engine: string;
  ready: boolean;
  engines: AdminEngine[];
  /** Threads, room for temporary files, store. */
  others: { name: string; ok: boolean; detail: string; hint?: string }[];
  scans: { slots: number; under_way: number; waiting: number };
  errors_24h: number;
  p95_ms?: number;
  warn_days: number;
  alarm_days: number;
}

export interface AdminEngine {
  name: string;
  ok: boolean;
  /** False where the service scans without it: `detail` says what that means. */
  in_use: boolean;
  detail: string;
  version?: string;
  signatures?: string;
  signatures_at?: number;
  problems: { problem: string; cure: string }[];
}

/** POST engines/self-test. */
export interface AdminSelfTest {
  ok: boolean;
  checks: { name: string; ok: boolean; detail: string; ms: number }[];
}

/** GET buckets; POST buckets/scan {bucket, prefix?} answers 202 AdminTask. */
export interface AdminBucket {
  bucket: string;
  last_scan_at?: number;
  /** Of guard's last pass. */
  objects?: number;
  infected?: number;
  tag_failures?: number;
  task?: AdminTask;
}

/** GET keys. Those of the settings have no id and cannot be revoked here. */
export interface AdminKey {
  id?: string;
  name: string;
  tenant: string;
  scopes: string[];
  made_at?: number;
  last_used_at?: number;
  expires_at?: number;
  ended: boolean;
  from: "made" | "settings" | "tenants_file";
}

/** POST keys {name, tenant, scopes, expires_days?}: the secret is shown once. POST keys/revoke {id}. */
export interface AdminMadeKey {
  key: AdminKey;
  secret: string;
}

/** GET callback-keys. */
export interface AdminCallbackKeys {
  signed: boolean;
  keys: { fingerprint: string; bits: number; spki_pem: string; pkcs1_pem: string; current: boolean }[];
}

/** POST callback-test {url}. */
export interface AdminCallbackTest {
  delivered: boolean;
  status?: number;
  code?: string;
  message?: string;
  ms: number;
  payload: string;
  header_names: string[];
}

/** GET settings. */
export interface AdminSettings {
  version: string;
  settings: {
    name: string;
    variable: string;
    value: string;
    default: string;
    origin: string;
    secret: boolean;
    doc: string;
  }[];
}

/** GET doctor. */
export interface AdminDoctor {
  ok: boolean;
  checks: { name: string; ok: boolean; warn?: boolean; detail: string; hint?: string }[];
}
