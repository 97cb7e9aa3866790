import assert from "node:assert/strict";
import { test } from "node:test";
import { failureOf } from "./database-unavailable.ts";

/** What SQLite throws with one of its extended result codes. */
function sqliteError(errcode: number): Error {
  return Object.assign(new Error("some words of SQLite"), { code: "ERR_SQLITE_ERROR", errcode });
}

test("faults of the storage are told from mistakes of ours", () => {
  const words = (errcode: number): string | undefined => failureOf(sqliteError(errcode), "jobs.db")?.message;
  assert.match(words(5) ?? "", /another process keeps it locked/);
  assert.match(words(5 | (2 << 8)) ?? "", /another process keeps it locked/);
  assert.match(words(10 | (4 << 8)) ?? "", /the disk reports an error/);
  assert.match(words(11) ?? "", /it is damaged/);
  assert.match(words(13) ?? "", /the disk is full/);
  assert.match(words(8 | (4 << 8)) ?? "", /it cannot be written/);
  assert.equal(words(19), undefined, "a constraint of the schema");
  assert.equal(failureOf(new TypeError("a mistake"), "jobs.db"), undefined);
});

test("a failure keeps SQLite's words as its cause", () => {
  assert.equal(failureOf(sqliteError(1034), "jobs.db")?.cause, "some words of SQLite (SQLite 1034)");
});
