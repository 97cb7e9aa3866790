import type { Finding, Findings } from "../../deliver/findings.ts";
import { isWantedFinding } from "../shared/finished-job.ts";
import { wantedPage } from "../shared/page.ts";
import type { Retention } from "../shared/retention.ts";
import { ANY, type Attributes, type Table } from "./table.ts";

const PARTITION = { S: "findings" };
const TIME_DIGITS = 15;
const PLACE = /^\d{15}#[\w-]{1,64}$/;
/** Sorts behind all places, which begin with a digit, and before the items of ids. */
const BEHIND = "a";

/**
 * One partition, by time, as few files are not clean; and an item for each id, so that one that is told of again stays where it is. In clear,
 * as callbacks that failed are: who scans for others has no key to seal with. DynamoDB deletes what is over some time later; no number
 * limits how many there are until then.
 */
export function tableFindings({ table, kept, now }: { table: Table; kept: Retention; now(): number }): Findings {
  /** When it was told of first. */
  async function firstAt({ id, at }: Finding, expires_at: { N: string }): Promise<number> {
    const key = { pk: PARTITION, sk: { S: `id#${id}` } };
    const item = { ...key, at: { N: String(at) }, expires_at };
    if (await table.put(item, ABSENT)) return at;
    return Number((await table.get(key))?.at?.N ?? at);
  }

  function opened({ content }: Attributes): Finding | undefined {
    try {
      const finding = JSON.parse(content?.S ?? "") as Finding;
      return finding.at > now() - kept.findingsMs ? finding : undefined;
    } catch {
      return undefined;
    }
  }

  async function read(before: string | undefined, count: number): Promise<Attributes[]> {
    const rows: Attributes[] = [];
    const query = { pk: PARTITION.S, newestFirst: true, consistent: true, before: before ?? BEHIND, limit: count };
    let after: Attributes | undefined;
    do {
      const page = await table.query({ ...query, ...(after && { after }) });
      rows.push(...page.items);
      after = page.next;
    } while (after && rows.length < count);
    return rows.slice(0, count);
  }

  return {
    async add(finding) {
      if (kept.findingsMost === 0) return;
      const expires_at = { N: String(Math.ceil((finding.at + kept.findingsMs) / 1000)) };
      const at = await firstAt(finding, expires_at);
      const content = { S: JSON.stringify({ ...finding, at }) };
      await table.put({ pk: PARTITION, sk: { S: placeOf(at, finding.id) }, content, expires_at }, { if: ANY });
    },

    async list({ limit, after, ...query }) {
      if (after !== undefined && !PLACE.test(after)) return undefined;
      const { since = 0, until } = query;
      const end = until === undefined ? undefined : placeOf(until, "");
      // What is too new is not read at all, and what is too old ends the list.
      const from = after === undefined || (end !== undefined && end < after) ? end : after;
      const oldest = placeOf(Math.max(since, now() - kept.findingsMs), "");
      const parts = {
        limit,
        mostRead: kept.mostRead,
        read: async (before: string | undefined, count: number) =>
          (await read(before, count)).filter(({ sk }) => (sk?.S ?? "") >= oldest),
        open: opened,
        isWanted: (finding: Finding) => isWantedFinding(finding, query),
        placeOf: ({ sk }: Attributes) => sk?.S ?? "",
      };
      return await wantedPage(parts, from);
    },
  };
}

const ABSENT = { if: "attribute_not_exists(pk)" };

function placeOf(at: number, id: string): string {
  return `${String(Math.min(at, 10 ** TIME_DIGITS - 1)).padStart(TIME_DIGITS, "0")}#${id}`;
}
