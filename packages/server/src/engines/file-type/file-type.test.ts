import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { noise } from "../../../test/fixtures/sample-files/sample-file.ts";
import { CLAMAV_FILES, SAMPLE_FILES, TOOL_FILES } from "../../../test/fixtures/sample-files/sample-files.ts";
import { fileTypeOf } from "./file-type.ts";
import { sampleOf, sampler } from "./sample.ts";

function detect(bytes: Uint8Array): string {
  return fileTypeOf(sampleOf(bytes));
}

describe("the real file type of files made by hand", () => {
  for (const [what, name, make] of SAMPLE_FILES) {
    test(`${what} is ${name}`, () => assert.equal(detect(make()), name));
  }
});

describe("the real file type of Debian's clamav-testfiles", () => {
  for (const [file, name] of CLAMAV_FILES) {
    test(`${file} is ${name}`, () => {
      assert.equal(detect(readFileSync(`/usr/share/clamav-testfiles/${file}`)), name);
    });
  }
});

describe("the real file type of files made by the usual tools", () => {
  let folder = "";
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "lazaret-file-type-"));
    writeFileSync(join(folder, "a.txt"), "hello\n".repeat(999));
    mkdirSync(join(folder, "package/DEBIAN"), { recursive: true });
    writeFileSync(
      join(folder, "package/DEBIAN/control"),
      "Package: a\nVersion: 1\nArchitecture: all\nMaintainer: a <a@example.com>\nDescription: a\n",
    );
  });
  after(() => rmSync(folder, { recursive: true }));

  for (const [file, name, [program, ...args]] of TOOL_FILES) {
    test(`what ${program} writes to ${file} is ${name}`, () => {
      execFileSync(program, args, { cwd: folder, stdio: "pipe" });
      assert.equal(detect(readFileSync(join(folder, file))), name);
    });
  }

  test("what node:sqlite writes is SQLite database", () => {
    const database = new DatabaseSync(join(folder, "a.db"));
    database.exec("CREATE TABLE a (id INTEGER PRIMARY KEY) STRICT");
    database.close();
    assert.equal(detect(readFileSync(join(folder, "a.db"))), "SQLite database");
  });
});

test("the name of a file has no part in its type: the sampler sees bytes only, in chunks of any size", () => {
  const [, name, make] = SAMPLE_FILES.find(([what]) => what === "docm with its list behind 300 KB of picture") ?? [];
  assert.ok(name && make);
  const whole = make();
  const seen = sampler();
  for (let at = 0; at < whole.length; at += 1500) seen.see(whole.subarray(at, at + 1500));
  assert.equal(fileTypeOf(seen.sample()), name);
});

function assertName(name: string): void {
  assert.match(name, /^[ -~]{2,64}$/);
}

test("any bytes get a name", () => {
  const anyBytes = fc.uint8Array({ maxLength: 4000 });
  fc.assert(
    fc.property(anyBytes, (bytes) => assertName(detect(bytes))),
    { numRuns: 2000 },
  );
});

test("files cut short, spoilt or glued together get a name as well", () => {
  const nothing = new Uint8Array(0);
  const files = SAMPLE_FILES.map(([, , make]) => make());
  const spoilt = fc.record({
    file: fc.nat(files.length - 1),
    other: fc.nat(files.length - 1),
    keep: fc.double({ min: 0, max: 1, noNaN: true }),
    changes: fc.array(fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), byte: fc.nat(255) }), {
      maxLength: 8,
    }),
  });
  fc.assert(
    fc.property(spoilt, ({ file, other, keep, changes }) => {
      const first = Buffer.from(files[file] ?? nothing);
      for (const { at, byte } of changes) first[Math.floor(at * 200)] = byte;
      const cut = first.subarray(0, Math.ceil(keep * first.length));
      assertName(detect(cut));
      assertName(detect(Buffer.concat([cut, files[other] ?? nothing])));
    }),
    { numRuns: 3000 },
  );
});

/** What patterns of text begin with, go on with or wait for, in pairs over and over: none may take them long. */
test("texts made of the same few characters get a name, whatever these are", () => {
  const pieces =
    '# |#\n|\n|\r\n| |\t|%|%\n|/*|*/|<|<!--|<%|<?|-|- |--|{|[|"|"a":|a|a |a.|a:|A: |1|1 |0\n|@|@a |$|\\|=|,|;|(|)|999\n|P1 |v 1 |begin |REM a\n|msgid|solid |From |import |CREATE |namespace a'
      .split("|")
      .map((piece) => piece.replaceAll("\\n", "\n"));
  for (const first of pieces) {
    for (const second of pieces)
      assertName(detect(Buffer.from((first + second).repeat(4096 / (first + second).length))));
    assertName(detect(Buffer.from(first + " ".repeat(4096))));
    assertName(detect(Buffer.from(first + "\n".repeat(4096))));
  }
});

test("encrypted bytes are data, not what two bytes of them happen to mean", () => {
  for (let key = 0; key < 200; key++) assert.equal(detect(noise(4096, key)), "data");
});
