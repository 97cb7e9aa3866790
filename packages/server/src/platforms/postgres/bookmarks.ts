import { type Bookmarks, type Reached, reachedIn } from "../../guard/bookmarks.ts";
import type { StoreParts } from "./database/store-parts.ts";
import type { BulkWrite } from "./database/write-lane.ts";

interface Moved extends Reached {
  name: Uint8Array;
}

/** One row for each, whose name is a keyed digest: buckets and keys are the client's. */
export function postgresBookmarks({ connections, lane, sealer, schema: s }: StoreParts): Bookmarks {
  const labelOf = (name: Uint8Array): ["bookmark", string] => ["bookmark", Buffer.from(name).toString("hex")];
  const move: BulkWrite<Moved, void> = {
    durable: true,
    async run(query, all) {
      // The last of each, as one statement changes no row twice.
      const last = [...new Map(all.map((each) => [labelOf(each.name)[1], each])).values()];
      await query(
        `INSERT INTO ${s}.bookmarks AS kept (name, moved_at, sealed)
         SELECT name, ${s}.now_ms(), sealed FROM unnest($1::bytea[], $2::bytea[]) AS given (name, sealed) ORDER BY name
         ON CONFLICT (name) DO UPDATE SET moved_at = excluded.moved_at, sealed = excluded.sealed`,
        [
          last.map(({ name }) => name),
          last.map(({ name, key, startedAt }) => sealer.seal(JSON.stringify({ key, startedAt }), labelOf(name))),
        ],
      );
      return all.map(() => undefined);
    },
  };
  const remove: BulkWrite<Uint8Array, void> = {
    durable: true,
    async run(query, all) {
      await query(`DELETE FROM ${s}.bookmarks WHERE name = ANY ($1::bytea[])`, [all]);
      return all.map(() => undefined);
    },
  };

  return {
    of(bucket, filters) {
      const name = sealer.digest(`bookmark ${JSON.stringify([bucket, filters])}`);
      return {
        async read() {
          const sql = `SELECT sealed FROM ${s}.bookmarks WHERE name = $1`;
          const [found] = await connections.query<{ sealed: Buffer }>(sql, [name]);
          const text = found && sealer.unseal(found.sealed, labelOf(name));
          return text === undefined ? undefined : reachedIn(text);
        },
        write: (reached) => lane.write(move, { name, ...reached }),
        clear: () => lane.write(remove, name),
      };
    },
  };
}
