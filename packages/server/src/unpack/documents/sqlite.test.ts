import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { deflated, encrypted, type Member, stored, zip as zipFile } from "../../../test/fixtures/zip-writer.ts";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { openContainer } from "../../../test/support/open-container.ts";
import { zip } from "../archives/zip.ts";
import { memoryBlob } from "../blob.ts";
import { sqlite } from "./sqlite.ts";

const noise = Buffer.from(Array.from({ length: 20_000 }, (_, index) => (index * index * 7 + (index >> 3)) & 0xff));
const file = zipFile([stored("noise", noise), deflated("a", Buffer.from("a payload\n".repeat(100)))]);

/** A database with a row for each of the values, in pages of so many bytes. */
function databaseWith(
  values: readonly (string | Uint8Array)[],
  { pageBytes = 1024, table = "(name text, value)" } = {},
): Buffer {
  using folder = temporaryFolder();
  const path = join(folder.path, "database");
  const database = new DatabaseSync(path);
  database.exec(`pragma page_size = ${pageBytes}; create table t ${table}`);
  const insert = database.prepare("insert into t values (?, ?)");
  for (const [index, value] of values.entries()) insert.run(`row ${index}`, value);
  database.close();
  return readFileSync(path);
}

async function valuesOf(database: Buffer): Promise<Buffer[]> {
  return (await openContainer(sqlite, database))?.members.map(({ content }) => content) ?? [];
}

describe("values of a database that go over several pages", () => {
  for (const pageBytes of [512, 1024, 4096, 65_536]) {
    test(`come out in one piece, with pages of ${pageBytes} bytes`, async () => {
      const large = Buffer.concat([noise, noise, noise, noise, noise]);
      const values = await valuesOf(databaseWith(["short", large, file, noise.toString("latin1")], { pageBytes }));
      assert.ok(values.some((value) => value.equals(large)));
    });
  }
  test("come out of a table that is an index as well", async () => {
    const table = "(name text primary key, value) without rowid";
    assert.ok((await valuesOf(databaseWith([file, noise], { table }))).some((value) => value.equals(file)));
  });
  test("come out of all the tables there are, also large ones", async () => {
    const rows = Array.from({ length: 300 }, (_, index) =>
      Buffer.concat([Buffer.from(`${index} `), noise.subarray(0, 3000)]),
    );
    assert.equal((await valuesOf(databaseWith(rows))).length, 300);
  });
  test("that lead to one another in a circle end", async () => {
    const database = databaseWith([file]);
    // Every page that could be one of the others says that it goes on with itself.
    for (let page = 3; page * 1024 <= database.length; page += 1) database.writeUInt32BE(page, (page - 1) * 1024);
    assert.ok((await valuesOf(database)).every((value) => value.length <= database.length));
  });
});

describe("a zip that pages cut apart", () => {
  const outcome = async (...members: Member[]): Promise<string | undefined> => {
    const database = databaseWith([zipFile(members)]);
    const [place] = zip.find(memoryBlob(database));
    assert.equal(place?.sure, false, "it is no reason for doubt where it stands");
    const [value] = await valuesOf(database);
    return (await openContainer(zip, value ?? Buffer.alloc(0)))?.outcome;
  };
  test("is whole as a value", async () => assert.equal(await outcome(stored("noise", noise)), "opened"));
  test("is encrypted as a value", async () =>
    assert.equal(await outcome(encrypted("noise", noise, "password")), "encrypted"));
});
