import assert from "node:assert/strict";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { bookmarkFiles } from "./bookmark-files.ts";

test("a bookmark is a file for its owner only; one that cannot be understood is as good as none", async () => {
  using folder = temporaryFolder();
  const bookmark = bookmarkFiles(folder.path).of("b", {});
  await bookmark.write({ key: "k", startedAt: 7 });
  const names = readdirSync(join(folder.path, "guard"));
  assert.equal(names.length, 1);
  const path = join(folder.path, "guard", names[0] ?? "");
  assert.equal(statSync(path).mode & 0o777, 0o600);
  writeFileSync(path, "{");
  assert.equal(await bookmark.read(), undefined);
});

test("a folder in which nothing can be made is an error, and no endless search", async () => {
  const bookmark = bookmarkFiles("/proc/lazaret-test").of("b", {});
  await assert.rejects(bookmark.write({ key: "k", startedAt: 7 }), /cannot make a folder in \/proc/);
  assert.equal(await bookmark.read(), undefined);
});
