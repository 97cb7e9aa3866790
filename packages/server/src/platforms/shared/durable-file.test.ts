import assert from "node:assert/strict";
import { mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { makeFolder } from "./durable-file.ts";

test("a folder is made with those above it, as private as asked for, and is no trouble when it is there", () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "a", "b", "c");
  makeFolder(path, 0o700);
  makeFolder(path, 0o700);
  for (const each of [path, join(path, "..")]) assert.equal(statSync(each).mode & 0o777, 0o700);
  mkdirSync(join(folder.path, "real"));
  symlinkSync("real", join(folder.path, "link"));
  makeFolder(join(folder.path, "link"), 0o700);
  makeFolder(join(folder.path, "link", "inside"), 0o700);
  assert.ok(statSync(join(folder.path, "real", "inside")).isDirectory());
  makeFolder("/");
  makeFolder(".");
});

test("where none can be made it ends with an error, also where the folder above is there and says that it is not", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "file");
  writeFileSync(file, "");
  symlinkSync("nowhere", join(folder.path, "dangling"));
  assert.throws(() => makeFolder(file), { code: "EEXIST" });
  assert.throws(() => makeFolder(join(file, "below", "it")), { code: "ENOTDIR" });
  assert.throws(() => makeFolder(join(folder.path, "dangling")), { code: "EEXIST" });
  assert.throws(() => makeFolder(join(folder.path, "x".repeat(300))), { code: "ENAMETOOLONG" });
  assert.throws(() => makeFolder(""), /cannot make a folder in \./);
  for (const path of ["/proc/none", "/proc/none/at/all"]) {
    assert.throws(() => makeFolder(path), { message: "cannot make a folder in /proc" });
  }
});
