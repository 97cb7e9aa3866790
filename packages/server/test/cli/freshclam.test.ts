import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { fileServer } from "../support/file-server.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { dailyDatabase, eicarSignature } from "../support/signatures.ts";

const recommended = readFileSync(new URL("../../../../deploy/freshclam.conf", import.meta.url), "utf8");

/** Runs it with the recommended configuration, in a folder of its own, on loopback alone. Answers all that it said. */
async function freshclam(folder: string, more: readonly string[]): Promise<string> {
  const database = join(folder, "db");
  mkdirSync(database, { recursive: true });
  const kept = recommended.split("\n").filter((line) => !/^(?:#|Database|$)/.test(line));
  const own = [
    `DatabaseDirectory ${database}`,
    `DatabaseOwner ${userInfo().username}`,
    "DNSDatabaseInfo no",
    "MaxAttempts 1",
  ];
  const conf = join(folder, "freshclam.conf");
  writeFileSync(conf, [...kept, ...own, ...more, ""].join("\n"));
  chmodSync(conf, 0o600);
  return new Promise((resolve) => {
    const env = { PATH: process.env.PATH, no_proxy: "127.0.0.1" };
    execFile("freshclam", [`--config-file=${conf}`, "--stdout"], { env }, (_, stdout, stderr) =>
      resolve(`${stdout}${stderr}`),
    );
  });
}

test("freshclam takes from a mirror only what ClamAV has signed", async () => {
  using folder = temporaryFolder();
  const daily = dailyDatabase({ version: 27815, builtAt: Date.UTC(2026, 10, 14) });
  const forged = Buffer.concat([daily.subarray(0, 512), gzipSync(daily.subarray(512))]);
  await using mirror = await fileServer({ "/daily.cvd": (_, response) => response.end(forged) });
  const said = await freshclam(folder.path, [`PrivateMirror ${mirror.origin}`, "ScriptedUpdates no"]);
  assert.match(said, /remote version: 27815/);
  assert.match(said, /Can't verify database integrity/);
  assert.deepEqual(
    readdirSync(join(folder.path, "db")).filter((name) => name !== "freshclam.dat"),
    [],
  );
});

test("freshclam takes signatures of one's own from a server of one's own", async () => {
  using folder = temporaryFolder();
  await using server = await fileServer({ "/own.ndb": (_, response) => response.end(eicarSignature) });
  const without = ["daily", "main", "bytecode"].map((name) => `ExcludeDatabase ${name}`);
  const mirror = `DatabaseMirror ${new URL(server.origin).host}`;
  const said = await freshclam(folder.path, [mirror, `DatabaseCustomURL ${server.origin}/own.ndb`, ...without]);
  assert.match(said, /own\.ndb updated/);
  assert.equal(readFileSync(join(folder.path, "db", "own.ndb"), "utf8"), eicarSignature);
});

test("every line of the recommended configuration has its reason in front of it", () => {
  const lines = recommended.split("\n");
  const settings = lines.flatMap((line, index) => (/^#?[A-Z]\w+ \S+$/.test(line) ? [{ line, index }] : []));
  assert.ok(settings.length > 7);
  for (const { line, index } of settings) assert.match(lines[index - 1] ?? "", /^# |^#?\w+ \S+$/, line);
});
