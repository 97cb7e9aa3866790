import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { updateSignatures } from "../../src/cli/signatures/update-signatures.ts";
import { askVersion } from "../../src/engines/clamd/version.ts";
import { readSettings } from "../../src/settings/read-settings.ts";
import type { Settings } from "../../src/settings.ts";
import { testClamd } from "../support/clamd.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { cliOutcome } from "../support/run-cli.ts";
import { dailyDatabase, eicarSignature } from "../support/signatures.ts";
import { until } from "../support/until.ts";

const builtAt = Date.UTC(2026, 10, 14);
const old = dailyDatabase({ version: 2, builtAt });
const young = dailyDatabase({ version: 3, builtAt });
const own = "Own:0:*:6f776e207369676e6174757265\n";

interface Folders extends Disposable {
  path: string;
  from: string;
  to: string;
  /** What is in `to`, by name. */
  there(): Record<string, string>;
}

function folders(given: Record<string, string | Uint8Array>, there: Record<string, string | Uint8Array>): Folders {
  const { path, [Symbol.dispose]: dispose } = temporaryFolder();
  const [from, to] = [join(path, "from"), join(path, "to")];
  for (const [folder, files] of [[from, given] as const, [to, there] as const]) {
    mkdirSync(folder);
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  }
  const read = (name: string): [string, string] => [name, readFileSync(join(to, name), "latin1")];
  return { path, from, to, there: () => Object.fromEntries(readdirSync(to).map(read)), [Symbol.dispose]: dispose };
}

function settings(): Settings {
  const read = readSettings({ flags: { clamd: "none" }, env: {}, file: {} });
  assert.ok(read.kind === "ok");
  return read.settings;
}

function sumOf(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

test("databases of a folder take the place of those that clamd has, and clamd loads them", async () => {
  const signatures = { "daily.cud": old, "own.ndb": own, "stays.ndb": eicarSignature };
  await using clamd = await testClamd({}, { signatures });
  const to = join(clamd.folder, "signatures");
  const sums = `${sumOf(young)}  ./daily.cud\n${sumOf(own)} *own.ndb\n`;
  using here = folders({ "daily.cud": young, "own.ndb": own, SHA256SUMS: sums, "notes.txt": "x" }, {});
  const address = { kind: "unix", path: clamd.socketPath } as const;
  const run = await cliOutcome(["signatures", "update", "--from", here.from, "--clamd", `unix:${clamd.socketPath}`], {
    cwd: here.path,
  });
  assert.deepEqual([run.code, run.out, run.err], [0, "replaced   daily.cud\nunchanged  own.ndb\n", ""]);
  assert.deepEqual(readdirSync(to), ["daily.cud", "own.ndb", "stays.ndb"]);
  assert.deepEqual(readFileSync(join(to, "daily.cud")), young);
  const loaded = async (): Promise<string | undefined> =>
    (await askVersion(address, 5000, AbortSignal.timeout(30_000))).signatures?.number;
  await until("clamd has loaded them", async () => (await loaded()) === "3");
});

test("what is not what it should be changes nothing, and says why", async () => {
  const cases: [string, Record<string, string | Uint8Array>, RegExp][] = [
    [
      "another content",
      { "daily.cud": young, SHA256SUMS: `${sumOf(old)}  daily.cud\n` },
      /is not what SHA256SUMS says/,
    ],
    ["an older version", { "daily.cud": dailyDatabase({ version: 1, builtAt }) }, /is version 1, and .* is 2/],
    ["half of it", { "daily.cud": young.subarray(0, young.length / 2) }, /failed their self-test: cannot start clamd/],
    [
      "no EICAR in it",
      { "daily.cud": dailyDatabase({ version: 3, builtAt, signatures: own }) },
      /do not find the EICAR/,
    ],
    ["nothing", { "notes.txt": "x" }, /there are no databases/],
    ["not in the list", { "a.ndb": own, "b.ndb": own, SHA256SUMS: `${sumOf(own)}  a.ndb\n` }, /b.ndb is not named in/],
    ["a list in capitals", { "own.ndb": own, SHA256SUMS: `${sumOf(old).toUpperCase()}  own.ndb\n` }, /is not what SHA/],
    ["a list too long", { "own.ndb": own, SHA256SUMS: "x".repeat(2_000_000) }, /SHA256SUMS is too large/],
    ["a name for terminals", { "\u001b[31mred.ndb": own }, /red.ndb" has letters in its name/],
  ];
  for (const [name, given, why] of cases) {
    using here = folders(given, { "daily.cud": old, "own.ndb": own });
    const before = here.there();
    const { from, to } = here;
    await assert.rejects(updateSignatures(settings(), { from, to, test: true, allowOlder: false }), why, name);
    assert.deepEqual(here.there(), before, name);
  }
});

test("what was brought as a link, a pipe or a folder is not read", { timeout: 30_000 }, async () => {
  const cases: [string, (from: string) => void, RegExp][] = [
    ["a link", (from) => symlinkSync("/etc/passwd", join(from, "x.sign")), /x.sign is a link/],
    ["a link to sums", (from) => symlinkSync("/etc/passwd", join(from, "SHA256SUMS")), /SHA256SUMS is a link/],
    ["a pipe", (from) => void execFileSync("mkfifo", [join(from, "SHA256SUMS")]), /SHA256SUMS is not a file/],
    ["a folder", (from) => void mkdirSync(join(from, "SHA256SUMS")), /SHA256SUMS is not a file/],
  ];
  for (const [name, make, why] of cases) {
    using here = folders({ "own.ndb": own }, { "daily.cud": old });
    make(here.from);
    const before = here.there();
    const { from, to } = here;
    await assert.rejects(updateSignatures(settings(), { from, to, test: false, allowOlder: false }), why, name);
    assert.deepEqual(here.there(), before, name);
  }
});

test("what an update left that was killed a day ago goes, and nothing else", async () => {
  using here = folders({ "daily.cud": young }, { "daily.cud": old });
  const yesterday = new Date(Date.now() - 25 * 3600 * 1000);
  const [left, underWay, mine] = [".lazaret-0123456789ab", ".lazaret-ba9876543210", ".lazaret-notes"];
  for (const name of [left, underWay, mine]) {
    mkdirSync(join(here.to, name));
    writeFileSync(join(here.to, name, "daily.cud"), "half");
    if (name !== underWay) utimesSync(join(here.to, name), yesterday, yesterday);
  }
  await updateSignatures(settings(), { from: here.from, to: here.to, test: false, allowOlder: false });
  assert.deepEqual(readdirSync(here.to).sort(), [underWay, mine, "daily.cud"]);
  assert.deepEqual(readFileSync(join(here.to, "daily.cud")), young);
});

test("a database in another form takes the place of the one before, and an older one only where that is wanted", async () => {
  using here = folders({ "daily.cud": old }, { "daily.cld": young, "own.ndb": own });
  const { from, to } = here;
  const { replaced } = await updateSignatures(settings(), { from, to, test: true, allowOlder: true });
  assert.deepEqual(replaced, ["daily.cud"]);
  assert.deepEqual(readdirSync(to), ["daily.cud", "own.ndb"]);
});
