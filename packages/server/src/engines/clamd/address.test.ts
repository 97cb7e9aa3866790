import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { describeAddress, findClamd, isTrusted, parseClamdAddress } from "./address.ts";

const good: [text: string, address: object][] = [
  ["unix:/run/clamav/clamd.ctl", { kind: "unix", path: "/run/clamav/clamd.ctl" }],
  ["tcp://clamd:3310", { kind: "tcp", host: "clamd", port: 3310 }],
  ["tcp://[::1]:3310", { kind: "tcp", host: "::1", port: 3310 }],
];
for (const [text, address] of good) {
  test(`${text} is an address of clamd`, () => assert.deepEqual(parseClamdAddress(text), address));
}

const bad = [
  "",
  "unix:",
  "unix:relative",
  "/run/clamd.ctl",
  "tcp://clamd",
  "tcp://clamd:0",
  "tcp://clamd:99999",
  "http://x:1",
];
for (const text of bad) {
  test(`${JSON.stringify(text)} is none`, () => assert.equal(parseClamdAddress(text), undefined));
}

test("auto takes the first of the usual sockets that is there, and no ordinary file for one", async () => {
  using folder = temporaryFolder();
  const [file, socket] = ["clamd.txt", "clamd.sock"].map((name) => join(folder.path, name)) as [string, string];
  writeFileSync(file, "");
  assert.equal(findClamd([file, socket]), undefined);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  const found = findClamd([file, socket]);
  assert.deepEqual(found && describeAddress(found), `unix:${socket}`);
  await new Promise((resolve) => server.close(resolve));
});

test("in a folder for everybody only a socket of root, of this user or of clamav's counts", () => {
  const [forAll, forSome] = [{ mode: 0o41777 }, { mode: 0o40755 }];
  const passwd = (): string =>
    "root:x:0:0::/root:/bin/sh\nclamav:x:4711:4711::/var/lib/clamav:/bin/false\nx:x:4712:1::/:\n";
  const [root, own, clamav, stranger] = [0, process.getuid?.() ?? 0, 4711, 4712].map((uid) => ({ uid }));
  for (const owner of [root, own, clamav]) assert.equal(isTrusted(owner ?? { uid: -1 }, forAll, passwd), true);
  assert.equal(isTrusted(stranger ?? { uid: 0 }, forAll, passwd), false);
  assert.equal(isTrusted(stranger ?? { uid: 0 }, forSome, passwd), true);
});
