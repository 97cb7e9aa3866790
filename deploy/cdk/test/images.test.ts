import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const path = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url));
const settings = (text: string): string[] => text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

test("clamd beside a worker has the recommended settings, and listens on the loopback interface of the task only", () => {
  const stock = settings(readFileSync(path("../clamd.conf"), "utf8"));
  const sidecar = settings(
    execFileSync("sed", ["-f", path("images/sidecar.sed"), path("../clamd.conf")], { encoding: "utf8" }),
  );
  const gone = stock.filter((line) => !sidecar.includes(line));
  assert.deepEqual(
    gone.map((line) => line.split(" ")[0]),
    ["User", "LocalSocket", "LocalSocketMode", "FixStaleSocket", "TemporaryDirectory"],
  );
  const added = sidecar.filter((line) => !stock.includes(line));
  assert.deepEqual(added, ["TemporaryDirectory /var/lib/clamav-tmp", "TCPSocket 3310", "TCPAddr 127.0.0.1"]);
});
