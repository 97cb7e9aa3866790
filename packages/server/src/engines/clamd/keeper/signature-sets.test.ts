import assert from "node:assert/strict";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../../test/support/leftovers.ts";
import { eicarSignature } from "../../../../test/support/signatures.ts";
import type { SpaceReader } from "../../../unpack/temporary-files.ts";
import { takeSet } from "./signature-sets.ts";

test("signatures that there is no room for are not copied, and it is said how much they need", async () => {
  using place = temporaryFolder();
  const [source, into] = [join(place.path, "from"), join(place.path, "to")];
  mkdirSync(source);
  writeFileSync(join(source, "eicar.ndb"), eicarSignature);
  writeFileSync(join(source, "large.hsb"), Buffer.alloc(3 * 1024 * 1024, "\n"));
  const spaceOf = (freeMib: number): SpaceReader => {
    const space = { bsize: 1024 * 1024, blocks: 10_000, bavail: freeMib };
    return { read: async () => space, readSync: () => space };
  };
  await assert.rejects(
    takeSet(source, into, spaceOf(258)),
    /no room for new signatures in .*to: 3 MiB needed, 258 MiB free, 256 MiB must stay free/,
  );
  assert.deepEqual(readdirSync(into), []);
  const { id } = await takeSet(source, into, spaceOf(260));
  assert.deepEqual(readdirSync(into), [id]);
});
