import type { Finding, Findings } from "../../deliver/findings.ts";
import { findingPlace, findingPlaceIn } from "../shared/finding-place.ts";
import { isWantedFinding } from "../shared/finished-job.ts";
import { wantedPage } from "../shared/page.ts";
import type { Retention } from "../shared/retention.ts";
import type { StoreParts } from "./database/store-parts.ts";
import type { BulkWrite } from "./database/write-lane.ts";
import type { Upkeep } from "./upkeep.ts";

interface FindingRow {
  id: string;
  at: number;
  sealed: Uint8Array;
}

/** Behind all that can be there. */
const BEHIND = { at: Number.MAX_SAFE_INTEGER, id: "" };

export function postgresFindings(
  { connections, lane, sealer, schema: s }: Pick<StoreParts, "connections" | "lane" | "sealer" | "schema">,
  { kept, upkeep }: { kept: Retention; upkeep: Pick<Upkeep, "begin"> },
): Findings {
  const add: BulkWrite<Finding, void> = {
    durable: true,
    async run(query, given) {
      // One statement writes a row once.
      const all = [...new Map(given.map((finding) => [finding.id, finding])).values()];
      await query(
        `INSERT INTO ${s}.findings (id, at, sealed)
         SELECT id, at, sealed FROM unnest($1::text[], $2::bigint[], $3::bytea[]) WITH ORDINALITY AS given (id, at, sealed, place)
         ORDER BY place ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed`,
        [
          all.map(({ id }) => id),
          all.map(({ at }) => at),
          all.map((finding) => sealer.seal(JSON.stringify(finding), ["finding", finding.id])),
        ],
      );
      return given.map(() => undefined);
    },
  };
  const list = `SELECT id, at, sealed FROM ${s}.findings
    WHERE (at, id) < ($1::bigint, $2::text) AND at >= $3 AND at < $4 AND at > ${s}.now_ms() - ${kept.findingsMs}
    ORDER BY at DESC, id DESC LIMIT $5`;

  function open({ id, at, sealed }: FindingRow): Finding | undefined {
    const content = sealer.unseal(sealed, ["finding", id]);
    return content === undefined ? undefined : { ...JSON.parse(content), at };
  }

  return {
    async add(finding) {
      if (kept.findingsMost === 0) return;
      await lane.write(add, finding);
      upkeep.begin();
    },

    async list({ limit, after, ...query }) {
      if (after !== undefined && findingPlaceIn(after) === undefined) return undefined;
      const { since = 0, until = Number.MAX_SAFE_INTEGER } = query;
      const read = (text: string | undefined, most: number): Promise<FindingRow[]> => {
        const { at, id } = (text === undefined ? undefined : findingPlaceIn(text)) ?? BEHIND;
        return connections.query<FindingRow>(list, [at, id, since, until, most]);
      };
      const isWanted = (finding: Finding): boolean => isWantedFinding(finding, query);
      return await wantedPage({ limit, mostRead: kept.mostRead, read, open, isWanted, placeOf: findingPlace }, after);
    },
  };
}
