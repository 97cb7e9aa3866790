import type { DatabaseSync } from "node:sqlite";
import type { Finding, FindingsQuery } from "../../../deliver/findings.ts";
import type { FindingPlace } from "../../shared/finding-place.ts";
import { isWantedFinding } from "../../shared/finished-job.ts";
import type { Sealer } from "../../shared/sealed.ts";
import { FIRST, LAST, operation, type Sweep, timeSlice } from "./transaction.ts";

interface FindingRow {
  id: string;
  at: number;
  /** JSON of a `Finding`. */
  content: string;
}

interface ListArgs extends Omit<FindingsQuery, "after" | "since"> {
  since: number;
  before?: FindingPlace;
  /** Rows to look at, at most. */
  most: number;
}

export interface ListedFindings {
  entries: Finding[];
  /** How many were looked at. */
  seen: number;
  /** The last of them; undefined at the end. */
  next?: FindingPlace;
}

export function findingOperations(db: DatabaseSync, sealer: Sealer) {
  const add = db.prepare(
    "INSERT INTO findings (id, at, sealed) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed",
  );
  const list = db.prepare(
    `SELECT id, at, sealed FROM findings
     WHERE (at, id) < ($at, $id) AND at >= $since AND at < $until
     ORDER BY at DESC, id DESC LIMIT $most`,
  );

  return {
    addFinding: operation("durable", ({ id, at, content }: FindingRow): void => {
      add.run(id, at, sealer.seal(content, ["finding", id]));
    }),

    /** As many as are wanted, or there is time for. What cannot be read any more is left out. */
    listFindings: operation("read", (args: ListArgs): ListedFindings => {
      const { before = { at: LAST, id: "" }, since, until = LAST, limit, most } = args;
      const rows = list.all({ ...before, since: Math.max(since, FIRST), until, most });
      const isOver = timeSlice();
      const entries: Finding[] = [];
      let seen = 0;
      for (const { id, at, sealed } of rows as unknown as { id: string; at: number; sealed: Uint8Array }[]) {
        seen += 1;
        const text = sealer.unseal(sealed, ["finding", id]);
        const finding: Finding | undefined = text === undefined ? undefined : { ...JSON.parse(text), at };
        if (finding && isWantedFinding(finding, args)) entries.push(finding);
        if (entries.length === limit || isOver()) return { entries, seen, next: { at, id } };
      }
      const last = rows.length === most ? rows.at(-1) : undefined;
      return { entries, seen, ...(last && { next: { at: Number(last.at), id: String(last.id) } }) };
    }),
  };
}

const SWEPT_AT_ONCE = 50;

/** Deletes findings that are over, and the oldest while there are too many. Only the oldest ever go, so their numbers have no gaps. */
export function findingSweep(db: DatabaseSync): Sweep {
  const aged = db.prepare(
    `DELETE FROM findings WHERE seq IN
       (SELECT seq FROM findings WHERE at <= ? ORDER BY at LIMIT ${SWEPT_AT_ONCE})`,
  );
  const oldest = db.prepare(
    `DELETE FROM findings WHERE seq IN
       (SELECT seq FROM findings WHERE seq <= (SELECT max(seq) FROM findings) - ? ORDER BY seq LIMIT ${SWEPT_AT_ONCE})`,
  );
  return (now, { findingsMs, findingsMost }) => {
    const swept = [aged.run(now - findingsMs), oldest.run(findingsMost)];
    return swept.some(({ changes }) => changes === SWEPT_AT_ONCE);
  };
}
