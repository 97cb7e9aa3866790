import type { DatabaseSync } from "node:sqlite";
import type { Sealer } from "../../shared/sealed.ts";
import { operation } from "./operation.ts";

interface Failed {
  id: string;
  failedAt: number;
  callbackUrl: string;
  /** JSON. */
  content: string;
}

const KEPT_MS = 30 * 86_400_000;

/** Callbacks that finally failed, files scanned by month, and whether anything can be written at all. */
export function familyOperations(db: DatabaseSync, sealer: Sealer) {
  const record = db.prepare(
    "INSERT INTO callback_failures (id, failed_at, url, sealed) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
  );
  const sweep = db.prepare("DELETE FROM callback_failures WHERE failed_at <= ?");
  const list = db.prepare(
    `SELECT seq, id, sealed FROM callback_failures
     WHERE failed_at > $since AND seq < $before AND ($url IS NULL OR url = $url) ORDER BY seq DESC LIMIT $limit`,
  );
  const addScans = db.prepare(
    "INSERT INTO usage (month, scans) VALUES (?, ?) ON CONFLICT (month) DO UPDATE SET scans = scans + excluded.scans",
  );
  const writeAgain = db.prepare("UPDATE seal SET key_check = key_check");
  const scansIn = db.prepare("SELECT scans FROM usage WHERE month = ?");

  return {
    recordFailure: operation("durable", ({ id, failedAt, callbackUrl, content }: Failed): void => {
      sweep.run(failedAt - KEPT_MS);
      record.run(id, failedAt, sealer.digest(callbackUrl), sealer.seal(content, ["failure", id]));
    }),

    listFailures: operation(
      "read",
      (args: {
        now: number;
        before: number;
        callbackUrl?: string;
        limit: number;
      }): { seq: number; content: string }[] => {
        const rows = list.all({
          since: args.now - KEPT_MS,
          before: args.before,
          url: args.callbackUrl === undefined ? null : sealer.digest(args.callbackUrl),
          limit: args.limit,
        }) as unknown as { seq: number; id: string; sealed: Uint8Array }[];
        return rows.flatMap(({ seq, id, sealed }) => {
          const content = sealer.unseal(sealed, ["failure", id]);
          return content === undefined ? [] : [{ seq, content }];
        });
      },
    ),

    addScans: operation("relaxed", ({ month, scans }: { month: string; scans: number }): void => {
      addScans.run(month, scans);
    }),

    /** Writes what is there already: a page, through the log of changes to the disk. */
    writeAgain: operation("durable", (_: { now: number }): void => {
      writeAgain.run();
    }),

    scansIn: operation("read", ({ month }: { month: string }): number => Number(scansIn.get(month)?.scans ?? 0)),
  };
}
