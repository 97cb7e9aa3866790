/**
 * What was done by whom, for as long as somebody may ask: only ever added to, and swept after `AUDIT_KEPT_MS`. No secrets. Each
 * adapter passes test/contracts/audit-log.ts. Throws `QueueUnavailable`.
 */
export interface AuditLog {
  /** Durable when it resolves. */
  add(entry: AuditEntry): Promise<void>;
  /** Newest first, those of a time span. Undefined for a place that is none of ours. */
  list(options: AuditQuery): Promise<AuditPage | undefined>;
}

/** 400 days. */
export const AUDIT_KEPT_MS: number = 400 * 86_400_000;

export interface AuditEntry {
  /** Milliseconds since 1970. */
  at: number;
  /** The name of a key, or `operator` with the name of the system's user for the command line. */
  who: string;
  /** Of the key; empty for an operator of the whole installation. */
  tenant: string;
  /** Such as `keys.create`. */
  what: string;
  /** Such as the key's id and name. */
  on: string;
  /** An address, or the machine whose command line it was. */
  from: string;
  /** Further facts. */
  details?: Readonly<Record<string, string | number | boolean>>;
}

interface AuditQuery {
  limit: number;
  /** Milliseconds since 1970: from then on, and until before then. */
  since?: number;
  until?: number;
  /** `next` of the page before. */
  after?: string;
}

interface AuditPage {
  entries: AuditEntry[];
  next: string | undefined;
}
