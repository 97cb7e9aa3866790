import { type JobState, POISON } from "../../../queue/job-queue.ts";
import type { Sealer } from "../../shared/sealed.ts";
import type { StoredJob } from "../../shared/stored-job.ts";

export interface BrowsedJob extends Omit<BrowsedRow, "sealed" | "sealedReason"> {
  /** Why it was buried; means nothing while it is not. */
  reason: string;
  /** Undefined when it cannot be read. */
  stored: Omit<StoredJob, "share"> | undefined;
}

export interface BrowsedRow extends Omit<StoredJob, "content" | "share"> {
  seq: number;
  id: string;
  state: JobState;
  attempts: number;
  dueAt: number | null;
  buriedAt: number | null;
  sealedReason: Uint8Array | null;
  sealed: Uint8Array;
}

/** Why a job was buried whose content was damaged. */
export const UNREADABLE = "unreadable";

/** Of jobs that wait or run, as `BrowsedRow`. */
export function openJobsSql(s: string): string {
  return `SELECT seq, id, attempts, submitted_at AS "submittedAt", due_at AS "dueAt", NULL::bigint AS "buriedAt", counts,
      NULL::bytea AS "sealedReason", sealed,
      CASE WHEN due_at <= ${s}.now_ms() THEN 'ready' WHEN lease_token IS NULL THEN 'delayed' ELSE 'leased' END AS state
    FROM ${s}.jobs`;
}

/** The same of dead letters. */
export function deadLettersSql(s: string): string {
  return `SELECT seq, id, attempts, submitted_at AS "submittedAt", NULL::bigint AS "dueAt", buried_at AS "buriedAt", counts,
      sealed_reason AS "sealedReason", sealed, 'buried' AS state
    FROM ${s}.dead_letters`;
}

export function openRow({ sealed, sealedReason, ...row }: BrowsedRow, sealer: Sealer): BrowsedJob {
  const content = sealer.unseal(sealed, ["job", row.id]);
  const reason = sealedReason ? sealer.unseal(sealedReason, ["reason", row.id]) : POISON;
  return { ...row, reason: reason ?? UNREADABLE, stored: content === undefined ? undefined : { ...row, content } };
}
