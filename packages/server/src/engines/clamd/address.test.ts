import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { describeAddress, findClamd, parseClamdAddress } from "./address.ts";

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
