import { type SharedCounts, SILENT_MS } from "../../access/shared-counts.ts";
import type { StoreParts } from "./database/store-parts.ts";
import type { BulkWrite } from "./database/write-lane.ts";

type Row = { process: string; content: string };

/** Times are of the database's clock: those of the processes may differ. */
export function postgresCounts({ lane, schema: s }: StoreParts): SharedCounts {
  const exchange: BulkWrite<Row, Row[]> = {
    durable: false,
    async run(query, all) {
      await query(
        `DELETE FROM ${s}.shared_counts WHERE process IN (
           SELECT process FROM ${s}.shared_counts
           WHERE at NOT BETWEEN ${s}.now_ms() - ${SILENT_MS} AND ${s}.now_ms() + ${SILENT_MS} FOR UPDATE SKIP LOCKED
         )`,
      );
      const answers: Row[][] = [];
      for (const { process, content } of all) {
        await query(
          `INSERT INTO ${s}.shared_counts (process, at, content) VALUES ($1, ${s}.now_ms(), $2)
           ON CONFLICT (process) DO UPDATE SET at = excluded.at, content = excluded.content`,
          [process, content],
        );
        answers.push(
          await query<Row>(`SELECT process, content FROM ${s}.shared_counts WHERE process <> $1`, [process]),
        );
      }
      return answers;
    },
  };
  return {
    async exchange(process, content) {
      const others = await lane.write(exchange, { process, content });
      return new Map(others.map((other) => [other.process, other.content]));
    },
  };
}
