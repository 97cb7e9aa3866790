import assert from "node:assert/strict";
import { test } from "node:test";
import { postgresPlace, takingNoWrites } from "../../../test/support/postgres-stores.ts";
import { QueueUnavailable } from "../../model/faults.ts";
import { postgresBookmarks } from "./bookmarks.ts";
import { openJobStore } from "./job-store.ts";

test("nothing of bucket and key is in clear; a row that was changed is as good as none", async () => {
  await using place = await postgresPlace();
  const store = await openJobStore(place.options);
  await using _ = { [Symbol.asyncDispose]: store.close };
  const bookmark = postgresBookmarks(store).of("canary-bucket", { prefix: "canary-prefix" });
  await bookmark.write({ key: "canary-key", startedAt: 7 });
  const { server, options } = place;
  const rows = await server.sql<{ text: string }>(
    `SELECT encode(name, 'escape') || encode(sealed, 'escape') AS text FROM ${options.schema}.bookmarks`,
  );
  assert.equal(rows.length, 1);
  assert.doesNotMatch(rows[0]?.text ?? "", /canary/);
  await server.sql(`UPDATE ${options.schema}.bookmarks SET sealed = set_byte(sealed, 50, 255 - get_byte(sealed, 50))`);
  assert.equal(await bookmark.read(), undefined);
  await bookmark.write({ key: "again", startedAt: 8 });
  assert.equal((await bookmark.read())?.key, "again");

  const unwritable = await openJobStore(takingNoWrites(options));
  await using __ = { [Symbol.asyncDispose]: unwritable.close };
  const same = postgresBookmarks(unwritable).of("canary-bucket", { prefix: "canary-prefix" });
  await assert.rejects(same.write({ key: "other", startedAt: 9 }), QueueUnavailable);
  await assert.rejects(same.clear(), QueueUnavailable);
  assert.equal((await same.read())?.key, "again");
});
