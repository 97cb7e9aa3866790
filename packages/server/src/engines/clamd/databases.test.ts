import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { dailyDatabase, eicarSignature } from "../../../test/support/signatures.ts";
import { databasesIn, isOfficial, readHeader, sha256Of } from "./databases.ts";

test("a database says when it was built, and which version it is", () => {
  const built = Date.UTC(2026, 10, 14, 9, 30);
  const rest = `27815:2065432:90:md5:dsig:raynman:${built / 1000}`;
  const expected = { version: 27815, builtAt: built, signatures: 2065432, builder: "raynman" };
  assert.deepEqual(readHeader(`ClamAV-VDB:14 Nov 2026 09-30 +0000:${rest}   `), expected);
  // Old ones have the date in words only.
  assert.deepEqual(readHeader("ClamAV-VDB:14 Nov 2026 09-30 +0000:27815:2065432:90:md5:dsig:raynman:"), expected);
  for (const bad of ["", "ClamAV-VDB", "ClamAV-VDB:x:y:z", "ClamAV-VDB:nonsense:1:2:3:4:5:6:", "PK:14:1:1:1:1:1:1:1"])
    assert.equal(readHeader(bad), undefined, bad);
});

test("lists the databases of a folder, and nothing else that lies there", async () => {
  using folder = temporaryFolder();
  const builtAt = Date.UTC(2026, 10, 14);
  const files = {
    "daily.cud": dailyDatabase({ version: 3, builtAt }),
    "half.cvd": "ClamAV-V",
    "own.ndb": eicarSignature,
    "freshclam.dat": "x",
    ".hidden.ndb": "x",
    "notes.txt": "x",
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder.path, name), content);
  mkdirSync(join(folder.path, "tmp.ndb"));
  const found = await databasesIn(folder.path);
  assert.deepEqual(
    found.map(({ name, header }) => [name, header?.version, header?.builtAt]),
    [
      ["daily.cud", 3, builtAt],
      ["half.cvd", undefined, undefined],
      ["own.ndb", undefined, undefined],
    ],
  );
  assert.match(await sha256Of(join(folder.path, "own.ndb")), /^[0-9a-f]{64}$/);
  await assert.rejects(databasesIn(join(folder.path, "nowhere")), { code: "ENOENT" });
});

test("only what ClamAV signs is official", () => {
  const names = ["daily.cld", "main.cvd", "bytecode.cvd", "daily.cud", "own.cvd", "daily.ndb"];
  assert.deepEqual(names.filter(isOfficial), ["daily.cld", "main.cvd", "bytecode.cvd"]);
});
