import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { GRACE_MS, SYNC_TIMEOUT_MS } from "../../src/pipeline/limits.ts";
import { KEEP_ALIVE_MS } from "../../src/receive/http/http-server.ts";
import { readSettings } from "../../src/settings/read-settings.ts";

const deploy = fileURLToPath(new URL("../../../../deploy", import.meta.url));
const read = (path: string): string => readFileSync(join(deploy, path), "utf8");
const linesOf = (unit: string): string[] =>
  read(`systemd/${unit}.service`)
    .split("\n")
    .filter((line) => /^\w+=/.test(line));
const seconds = (text: string, name: string): number[] =>
  [...text.matchAll(new RegExp(`^\\s*${name}[ =](\\d+)s?;?$`, "gm"))].map(([, value]) => Number(value));

test("the units differ in what they are called and run, and in nothing else", () => {
  const own = linesOf("lazaret");
  assert.ok(own.length > 50);
  for (const other of ["lazaret@", "lazaret-worker"]) {
    const lines = linesOf(other);
    const differing = [...own.filter((line) => !lines.includes(line)), ...lines.filter((line) => !own.includes(line))];
    assert.deepEqual([...new Set(differing.map((line) => line.split("=")[0]))], ["Description", "ExecStart"], other);
    assert.equal(lines.length, own.length, other);
  }
});

test("systemd waits for a stop for longer than the service takes for it", () => {
  const [stop = 0] = seconds(read("systemd/lazaret.service"), "TimeoutStopSec");
  assert.ok(stop * 1000 > GRACE_MS);
});

test("nginx waits for longer than the service does, and keeps idle connections for a shorter time", () => {
  const nginx = read("nginx/lazaret.conf");
  for (const name of ["client_body_timeout", "proxy_send_timeout", "proxy_read_timeout"]) {
    const found = seconds(nginx, name);
    assert.ok(found.length > 0 && found.every((each) => each * 1000 > SYNC_TIMEOUT_MS + 5000), name);
  }
  const upstreams = [...nginx.matchAll(/^upstream[^}]*\}/gm)].map(([block]) => seconds(block, "keepalive_timeout"));
  assert.equal(upstreams.length, 2);
  for (const [kept = 0] of upstreams) assert.ok(kept > 0 && kept * 1000 < KEEP_ALIVE_MS);
});

test("the settings that are installed are settings, and those that nginx wants", () => {
  const settings = readSettings({ flags: {}, env: {}, file: JSON.parse(read("systemd/lazaret.json")) });
  assert.equal(settings.kind, "ok");
  if (settings.kind !== "ok") return;
  const { host, port, trustedProxies } = settings.settings;
  assert.deepEqual({ host, trustedProxies }, { host: "127.0.0.1", trustedProxies: ["127.0.0.1/32"] });
  assert.match(read("nginx/lazaret.conf"), new RegExp(`server ${host}:${port} `));
});
