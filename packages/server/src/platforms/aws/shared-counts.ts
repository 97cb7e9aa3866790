import { type SharedCounts, SILENT_MS } from "../../access/shared-counts.ts";
import type { Attributes, Table } from "./table.ts";

const PARTITION = "counts";

/** One partition with an item for each process, which DynamoDB deletes some time after the process is gone. */
export function tableCounts(table: Table, now: () => number): SharedCounts {
  return {
    async exchange(process, content) {
      const at = now();
      await table.put(
        {
          pk: { S: PARTITION },
          sk: { S: process },
          at: { N: String(at) },
          content: { S: content },
          expires_at: { N: String(Math.ceil((at + 2 * SILENT_MS) / 1000)) },
        },
        { if: "attribute_not_exists(pk) OR attribute_exists(pk)" },
      );
      const others = new Map<string, string>();
      let after: Attributes | undefined;
      do {
        const page = await table.query({
          pk: PARTITION,
          newestFirst: false,
          consistent: true,
          ...(after && { after }),
        });
        for (const item of page.items) {
          const fresh = Math.abs(at - Number(item.at?.N)) <= SILENT_MS;
          if (fresh && item.sk?.S !== undefined && item.sk.S !== process)
            others.set(item.sk.S, item.content?.S ?? "{}");
        }
        after = page.next;
      } while (after);
      return others;
    },
  };
}
