import type { Retention } from "../shared/retention.ts";
import type { Connections } from "./database/connections.ts";

/** Deletes finished jobs and findings that are over, and the oldest of too many, in the background. */
export interface Upkeep {
  /** For who writes or takes all the time: begins, unless it goes on already or was done just now. */
  begin(): void;
  /** All of it, now. */
  sweep(): Promise<void>;
  /** Ends before the next statement. */
  stop(): Promise<void>;
}

interface Parts {
  connections: Connections;
  schema: string;
  kept: Retention;
}

const EVERY_MS = 10_000;
/** So that no statement takes long. */
const SWEPT_AT_ONCE = 1000;

export function postgresUpkeep({ connections, schema: s, kept }: Parts): Upkeep {
  const { historyMs, historyMost, findingsMs, findingsMost } = kept;
  const statements = [
    // The oldest are the first that end, so the rest need not be looked at.
    deletion(
      `${s}.history`,
      `seq IN (SELECT seq FROM ${s}.history ORDER BY seq LIMIT ${SWEPT_AT_ONCE})
      AND finished_at <= ${s}.now_ms() - ${historyMs}`,
    ),
    deletion(`${s}.history`, `seq <= (SELECT max(seq) FROM ${s}.history) - ${historyMost} ORDER BY seq`),
    deletion(`${s}.findings`, `at <= ${s}.now_ms() - ${findingsMs} ORDER BY at`),
    deletion(`${s}.findings`, `seq <= (SELECT max(seq) FROM ${s}.findings) - ${findingsMost} ORDER BY seq`),
  ];
  let running: Promise<void> | undefined;
  let ranAt = Number.NEGATIVE_INFINITY;
  let stopped = false;

  async function sweep(): Promise<void> {
    for (const statement of statements) {
      for (let swept = SWEPT_AT_ONCE; swept === SWEPT_AT_ONCE && !stopped; ) {
        swept = (await connections.query<{ count: number }>(statement))[0]?.count ?? 0;
      }
    }
  }

  return {
    begin() {
      if (running || stopped || performance.now() - ranAt < EVERY_MS) return;
      // What is wrong with the database is heard by those who need it; here the next try is soon enough.
      running = sweep()
        .catch(() => {})
        .finally(() => {
          running = undefined;
          ranAt = performance.now();
        });
    },
    sweep,
    async stop() {
      stopped = true;
      await running;
    },
  };
}

/** Passes over what another process is deleting. */
function deletion(table: string, which: string): string {
  return `WITH gone AS (
      DELETE FROM ${table} WHERE seq IN
        (SELECT seq FROM ${table} WHERE ${which} LIMIT ${SWEPT_AT_ONCE} FOR UPDATE SKIP LOCKED) RETURNING 1
    )
    SELECT count(*) AS count FROM gone`;
}
