import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { dirname, join, relative } from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { httpServer, httpsServer, type LoopbackServer } from "../support/loopback-server.ts";
import { type CliOutcome, cliOutcome } from "../support/run-cli.ts";
import { selfSigned } from "../support/self-signed.ts";
import { specifiersIn } from "../support/specifiers.ts";

const src = fileURLToPath(new URL("../../src", import.meta.url));
const checks = [
  { name: "queue", ok: true, detail: "0 jobs wait" },
  { name: "clamd", ok: false, detail: "cannot reach clamd\nat unix:/run/clamav/clamd.ctl" },
];
/** What a service may answer: it is ready, alive and not ready, or somebody else. */
let state: "ready" | "not ready" | "stranger" = "ready";
const asked: (string | undefined)[] = [];
const answer: RequestListener = ({ url }, response) => {
  asked.push(url);
  if (state === "stranger") response.writeHead(404).end("who?");
  else if (url === "/livez") response.writeHead(204).end();
  else if (state === "ready") response.writeHead(200).end('{"ready":true,"checks":[]}');
  else response.writeHead(503).end(JSON.stringify({ ready: false, checks }));
};
const folder = temporaryFolder();
atTheEnd(() => folder[Symbol.dispose]());
let server: LoopbackServer;
before(async () => {
  server = await httpServer(answer);
});
atTheEnd(() => server[Symbol.asyncDispose]());

const health = (flags: readonly string[] = [], env: Record<string, string> = {}): Promise<CliOutcome> =>
  cliOutcome(["health", ...flags], { cwd: folder.path, env: { LAZARET_PORT: String(server.port), ...env } });

test("health says 0 for a service that is ready, and 1 with the reason for one that is not", async () => {
  const url = `http://127.0.0.1:${server.port}`;
  assert.deepEqual(await health(), { code: 0, out: `ready: ${url}\n`, err: "" });
  state = "not ready";
  assert.deepEqual(await health(), {
    code: 1,
    out: "",
    err: `lazaret: not ready: ${url} answered 503\n  clamd: cannot reach clamd\\nat unix:/run/clamav/clamd.ctl\n`,
  });
  assert.deepEqual(await health(["--live"]), { code: 0, out: `alive: ${url}\n`, err: "" });
  state = "stranger";
  const stranger = await health();
  assert.equal(stranger.code, 1);
  assert.match(stranger.err, /answered 404/);
  assert.deepEqual(asked, ["/readyz?verbose", "/readyz?verbose", "/livez", "/readyz?verbose"]);
});

test("health says 1 where nobody listens, and 78 for settings that are wrong", async () => {
  const nobody = await health([], { LAZARET_PORT: "1" });
  assert.equal(nobody.code, 1);
  assert.match(nobody.err, /^lazaret: no answer from http:\/\/127\.0\.0\.1:1: ECONNREFUSED\nhint: is it started/);
  const wrong = await health([], { LAZARET_PORT: "many" });
  assert.equal(wrong.code, 78);
  assert.match(wrong.err, /^lazaret: the settings have problems:\n {2}LAZARET_PORT must be a whole number/);
  const badHost = await health([], { LAZARET_HOST: "bad host" });
  assert.equal(badHost.code, 78);
  assert.match(badHost.err, /\n {2}LAZARET_HOST must be an IP address or the name of a host.*"bad host"/);
});

test("health speaks TLS where the service does, whatever name its certificate has", async () => {
  state = "ready";
  await using secure = await httpsServer(selfSigned("DNS:scan.example.com"), answer);
  const outcome = await health([], { LAZARET_PORT: String(secure.port), LAZARET_TLS_CERT: "cert.pem" });
  assert.deepEqual(outcome, { code: 0, out: `ready: https://127.0.0.1:${secure.port}\n`, err: "" });
});

test("health loads the settings, and nothing of what serves, scans or stores", () => {
  const seen = new Set<string>();
  const packages = new Set<string>();
  const visit = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    const loaded = readFileSync(path, "utf8").replaceAll(/^import type [^;]*;$/gm, "");
    for (const specifier of specifiersIn(loaded)) {
      if (specifier.startsWith(".")) visit(join(dirname(path), specifier));
      else if (!specifier.startsWith("node:")) packages.add(specifier);
    }
  };
  visit(join(src, "cli/health-check.ts"));
  const folders = new Set([...seen].map((path) => relative(src, path).split("/")[0]));
  assert.ok(folders.has("settings"), "the guard sees imports");
  for (const folder of ["app.ts", "receive", "scan", "pipeline", "queue"]) assert.ok(!folders.has(folder), folder);
  for (const name of ["commander", "undici", "pg", "yaml"]) assert.ok(!packages.has(name), name);
});
