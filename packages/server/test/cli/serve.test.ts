import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { connect } from "node:net";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { before, test } from "node:test";
import { askingOn } from "../support/asking-on.ts";
import { type TestClamd, testClamd } from "../support/clamd.ts";
import { atTheEnd, temporaryFolder } from "../support/leftovers.ts";
import { cliOutcome, runCli } from "../support/run-cli.ts";
import { until } from "../support/until.ts";

let clamd: TestClamd;
before(async () => {
  clamd = await testClamd();
});
atTheEnd(() => clamd[Symbol.asyncDispose]());

const key = "production-key-canary";
const env = (more: Record<string, string> = {}): Record<string, string> => ({
  LAZARET_API_KEYS: key,
  LAZARET_ENGINE: "Q",
  LAZARET_CLAMD: `unix:${clamd.socketPath}`,
  LAZARET_HOST: "127.0.0.1",
  LAZARET_PORT: "0",
  LAZARET_DRAIN_SECONDS: "0",
  ...more,
});
const listening = /"event":"listening".*"port":(\d+)/;

// spec: parameter-1
test("serve refuses to start without a key, and says how to make one", async () => {
  using folder = temporaryFolder();
  const { LAZARET_API_KEYS: _, ...keyless } = env();
  const run = await cliOutcome(["serve"], { cwd: folder.path, env: keyless });
  assert.equal(run.code, 78);
  assert.match(run.err, /^lazaret: no API key is set, and none was made\nhint: lazaret keys create .*LAZARET_API_KEYS/);
});

test("serve starts with a key that was made, before it ever ran, and when all are revoked: there may be jobs", async () => {
  using folder = temporaryFolder();
  const { LAZARET_API_KEYS: _, ...keyless } = env();
  const place = { cwd: folder.path, env: keyless };
  const create = ["keys", "create", "--name", "web", "--scope", "read"];
  const { out: secret } = await cliOutcome(create, place);
  {
    await using run = runCli(["serve"], place);
    const [, port] = await run.says(listening);
    const headers = { Authorization: `Bearer ${secret.trim()}` };
    assert.equal((await fetch(`http://127.0.0.1:${port}/v1/whoami`, { headers })).status, 200);
    assert.equal(await run.stop(), 0);
  }
  assert.equal((await cliOutcome(["keys", "revoke", "default/web"], place)).code, 0);
  await using run = runCli(["serve"], place);
  await run.says(listening);
  assert.equal(await run.stop(), 0);
});

test("serve refuses keys that can be guessed, and says how to make one; dev takes them", async () => {
  using folder = temporaryFolder();
  const short = env({ LAZARET_API_KEYS: `${key},fifteen-letters` });
  const run = await cliOutcome(["serve"], { cwd: folder.path, env: short });
  assert.equal(run.code, 78);
  assert.match(run.err, /^lazaret: LAZARET_API_KEYS: key 2 has fewer than 16 characters.*\nhint: openssl rand -hex 24/);
  assert.ok(!run.err.includes("fifteen-letters"));
  await using dev = runCli(["dev"], { cwd: folder.path, env: { ...short, LAZARET_API_KEYS: "fifteen-letters" } });
  await dev.says(/is ready at/);
  assert.equal(await dev.stop("SIGINT"), 0);
});

test("serve reports all problems of its settings at once", async () => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, "lazaret.json"), '{"prot": 1}');
  const run = await cliOutcome(["serve"], { cwd: folder.path, env: env({ LAZARET_PORT: "x", LAZARET_API_KEYZ: "y" }) });
  assert.equal(run.code, 78);
  assert.match(run.err, /LAZARET_PORT must be a whole number/);
  assert.match(run.err, /LAZARET_API_KEYZ is not a setting\n\s+hint: did you mean LAZARET_API_KEYS\?/);
  assert.match(run.err, /lazaret\.json: prot is not a setting\n\s+hint: did you mean port\?/);
});

test("serve scans, and never shows a key", async () => {
  using folder = temporaryFolder();
  await using run = runCli(["serve"], { cwd: folder.path, env: env() });
  const [, port] = await run.says(listening);
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/scan/sync/binary`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/octet-stream" },
    body: "hello",
  });
  assert.deepEqual(await response.json(), { status: "clean", size: 5 });
  assert.equal(await run.stop(), 0);
  assert.ok(!`${run.stdout}${run.stderr}`.includes(key));
});

test("what is counted afterwards is there for who asks next, and lines are in order", async () => {
  using folder = temporaryFolder();
  const admin = "an-admin-key-of-its-own";
  await using run = runCli(["serve"], { cwd: folder.path, env: env({ LAZARET_ADMIN_KEYS: admin }) });
  const [, port] = await run.says(listening);
  const url = `http://127.0.0.1:${port}`;
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/octet-stream" };
  for (let count = 0; count < 5; count += 1)
    assert.equal((await fetch(`${url}/api/v1/scan/sync/binary`, { method: "POST", headers, body: "x" })).status, 200);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  assert.match(metrics, /^lazaret_scans_total\{way="sync",source="upload",verdict="clean"\} 5$/m);
  assert.match(metrics, /^lazaret_requests_total\{method="POST",status="200"\} 5$/m);
  const activity = await fetch(`${url}/admin/v1/activity`, { headers: { Authorization: `Bearer ${admin}` } });
  assert.equal(((await activity.json()) as { last_day: { scanned: number } }).last_day.scanned, 5);
  assert.equal(await run.stop(), 0);
  const lines = run.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { time: string; event: string; endpoint?: string });
  const events = lines.map(({ event }) => event);
  assert.equal(lines.filter(({ endpoint }) => endpoint === "syncBinary").length, 5, events.join(" "));
  assert.equal(events.lastIndexOf("stopped"), lines.length - 1, events.join(" "));
  assert.ok(events.lastIndexOf("request") < events.indexOf("stopping"), events.join(" "));
  assert.deepEqual(
    lines.map(({ time }) => time),
    lines.map(({ time }) => time).sort(),
  );
});

test("one process has a scan thread for each core, and scans as many uploads at once as engine P may", async () => {
  using folder = temporaryFolder();
  const rules = { LAZARET_ENGINE: "P", LAZARET_CLAMD: "none" };
  await using run = runCli(["serve"], { cwd: folder.path, env: env(rules) });
  const [, port] = await run.says(listening);
  const ready = await (await fetch(`http://127.0.0.1:${port}/readyz?verbose`)).text();
  // One more is for small files alone.
  assert.match(ready, new RegExp(`of at most ${availableParallelism() + 1} scan threads`));
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  assert.ok(metrics.includes(`\nlazaret_sync_slots ${8 * availableParallelism()}\n`));
  assert.equal(await run.stop(), 0);
});

test("SIGTERM under load costs no request", async () => {
  using folder = temporaryFolder();
  await using run = runCli(["serve"], { cwd: folder.path, env: env() });
  const [, port] = await run.says(listening);
  const clients = [true, false].map((keepAlive) => askingOn(`http://127.0.0.1:${port}`, { clients: 16, keepAlive }));
  await until("all are at work", () => clients.every((each) => each.answered() > 50));
  assert.equal(await run.stop(), 0);
  assert.deepEqual(await Promise.all(clients.map((each) => each.unanswered())), [[], []]);
  assert.equal(run.stderr, "");
});

test("a second SIGTERM cuts off what the first waits for, if it is not the same one come twice", async () => {
  using folder = temporaryFolder();
  await using run = runCli(["serve"], { cwd: folder.path, env: env() });
  const [, port] = await run.says(listening);
  const socket = connect({ host: "127.0.0.1", port: Number(port) }).on("error", () => {});
  let received = "";
  socket.on("data", (part) => {
    received += part;
  });
  socket.write(
    `POST /api/v1/scan/sync/binary HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nAuthorization: Bearer ${key}\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n`,
  );
  await until("its body is asked for", () => received.includes("100 Continue"));
  const began = performance.now();
  run.child.kill("SIGTERM");
  run.child.kill("SIGTERM");
  await run.says(/"event":"stopping"/);
  const waits = (): boolean => performance.now() - began > 1500;
  await until("it waits", () => waits() || run.child.exitCode !== null);
  assert.equal(run.child.exitCode, null, "one signal that came twice is one");
  run.child.kill("SIGTERM");
  assert.equal(await run.ended(), 1);
  assert.ok(performance.now() - began < 10_000);
  assert.doesNotMatch(run.stdout, /"event":"stopped"/);
});

test("on SIGTERM a request under way finishes, new ones find nobody, and the exit code is 0", async () => {
  using folder = temporaryFolder();
  await using run = runCli(["serve"], { cwd: folder.path, env: env() });
  const [, port] = await run.says(listening);
  const rest = Promise.withResolvers<void>();
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(Buffer.from("first half, "));
      await rest.promise;
      controller.enqueue(Buffer.from("second half"));
      controller.close();
    },
  });
  const underWay = fetch(`http://127.0.0.1:${port}/api/v1/scan/sync/binary`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/octet-stream" },
    body,
    duplex: "half",
  } as RequestInit);
  await fetch(`http://127.0.0.1:${port}/healthz`);
  run.child.kill("SIGTERM");
  await run.says(/"event":"stopping"/);
  // Who was just answered may ask once more on the same connection.
  await until("new ones find nobody", () =>
    fetch(`http://127.0.0.1:${port}/healthz`).then(
      () => false,
      () => true,
    ),
  );
  rest.resolve();
  assert.deepEqual(await (await underWay).json(), { status: "clean", size: 23 });
  assert.equal(await run.ended(), 0);
});

for (const command of ["serve", "dev"]) {
  test(`after SIGTERM ${command} takes requests for a while, with readiness at 503; none that it took is cut`, async () => {
    using folder = temporaryFolder();
    const more = { LAZARET_DRAIN_SECONDS: "8", LAZARET_DATA_DIR: join(folder.path, "data") };
    await using run = runCli([command], { cwd: folder.path, env: env(more) });
    const [, port] = await run.says(command === "serve" ? listening : /ready at http:\/\/127\.0\.0\.1:(\d+)/);
    const socket = connect({ host: "127.0.0.1", port: Number(port) });
    let answers = "";
    socket.setEncoding("latin1").on("data", (part: string) => {
      answers += part;
    });
    const upload =
      "POST /api/v1/scan/sync/binary HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\n" +
      `Authorization: Bearer ${key}\r\nContent-Length: 5\r\n\r\n`;
    socket.write(`${upload}hel`);
    assert.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 204);
    run.child.kill("SIGTERM");
    await run.says(/stopping/);
    const ready = await fetch(`http://127.0.0.1:${port}/readyz?verbose`);
    assert.deepEqual([ready.status, ready.headers.get("connection")], [503, "close"]);
    assert.match(await ready.text(), /"service","ok":false,"detail":"stopping"/);
    assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 204);
    await until("it stops listening", () =>
      fetch(`http://127.0.0.1:${port}/healthz`).then(
        () => false,
        () => true,
      ),
    );
    socket.write(`lo${upload}again${upload}thrice`.slice(0, -1));
    const closed = once(socket, "close");
    assert.equal(await run.ended(), 0);
    await closed;
    assert.equal(answers.split('"status":"clean","size":5').length, 4, answers);
  });
}
test("SIGHUP makes serve read its keys and rules again, and never ends it", async () => {
  using folder = temporaryFolder();
  const [keys, rules] = [join(folder.path, "keys"), join(folder.path, "rules")];
  writeFileSync(keys, "first-key-of-the-tests\n");
  mkdirSync(rules);
  const { LAZARET_API_KEYS: _, ...keyless } = env({
    LAZARET_ENGINE: "P",
    LAZARET_CLAMD: "none",
    LAZARET_RULES_DIR: rules,
    LAZARET_API_KEYS_FILE: keys,
  });
  await using run = runCli(["serve"], { cwd: folder.path, env: keyless });
  const [, port] = await run.says(listening);
  const scanWith = (given: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}/api/v1/scan/sync/binary`, {
      method: "POST",
      headers: { Authorization: `Bearer ${given}`, "Content-Type": "application/octet-stream" },
      body: "a very own marker",
    });
  assert.equal((await scanWith("first-key-of-the-tests")).status, 200);

  writeFileSync(keys, "second-key-of-the-tests,third-key-of-the-tests\n");
  writeFileSync(join(rules, "own.yar"), 'rule My_Own_Rule { strings: $a = "very own marker" condition: $a }');
  run.child.kill("SIGHUP");
  await run.says(/"event":"reloaded","api_keys":2/);
  assert.equal((await scanWith("first-key-of-the-tests")).status, 401);
  await run.says(/"event":"rules_loaded"/);
  assert.match(await (await scanWith("third-key-of-the-tests")).text(), /My_Own_Rule/);

  writeFileSync(keys, "");
  run.child.kill("SIGHUP");
  await run.says(/"event":"not_reloaded","error":"no API key is set"/);
  assert.equal((await scanWith("second-key-of-the-tests")).status, 200);
  assert.equal(await run.stop(), 0);
  assert.doesNotMatch(`${run.stdout}${run.stderr}`, /key-of-the-tests/);
});

test("what may pass by itself ends a start with 75, so that a unit tries again: a full disk, an address that is not there yet", async () => {
  using folder = temporaryFolder();
  const dataDir = join(folder.path, "data");
  mkdirSync(dataDir);
  // Too little for the folder's first files, then for the tables, then for what SQLite keeps beside them.
  for (const bytes of [4096, 16 * 1024, 64 * 1024]) {
    const disk = { path: dataDir, bytes };
    const full = await cliOutcome(["serve"], { cwd: folder.path, disk, env: env({ LAZARET_DATA_DIR: dataDir }) });
    assert.equal(full.code, 75, full.err);
    assert.match(full.err, /^lazaret: cannot use the .*: the disk .*\nhint: /);
  }
  const elsewhere = await cliOutcome(["serve"], { cwd: folder.path, env: env({ LAZARET_HOST: "192.0.2.9" }) });
  assert.equal(elsewhere.code, 75);
  assert.match(elsewhere.err, /EADDRNOTAVAIL\nhint: /);
});

test("serve speaks TLS with a certificate and its key", async () => {
  using folder = temporaryFolder();
  const cert = join(folder.path, "cert.pem");
  const certKey = join(folder.path, "key.pem");
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
  const make = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-keyout", certKey, "-out", cert];
  execFileSync("openssl", [...make, ...subject], { stdio: "ignore" });
  await using run = runCli(["serve"], {
    cwd: folder.path,
    env: env({ LAZARET_TLS_CERT: cert, LAZARET_TLS_KEY: certKey }),
  });
  const [, port] = await run.says(listening);
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const headers = { Authorization: `Bearer ${key}` };
    request(
      { host: "127.0.0.1", port, path: "/api/v1/test", headers, rejectUnauthorized: false, agent: false },
      (response) => {
        response.resume();
        resolve(response.statusCode);
      },
    )
      .on("error", reject)
      .end();
  });
  assert.equal(status, 204);
  assert.equal(await run.stop(), 0);
});

test("serve says what is wrong when its port is taken, its certificate is missing, or half of TLS is set", async () => {
  using folder = temporaryFolder();
  await using first = runCli(["serve"], { cwd: folder.path, env: env() });
  const [, port] = await first.says(listening);
  const taken = await cliOutcome(["serve"], { cwd: folder.path, env: env({ LAZARET_PORT: String(port) }) });
  assert.equal(taken.code, 75);
  assert.match(taken.err, /the port is taken\nhint: /);

  const nowhere = join(folder.path, "nowhere.pem");
  const missing = await cliOutcome(["serve"], {
    cwd: folder.path,
    env: env({ LAZARET_TLS_CERT: nowhere, LAZARET_TLS_KEY: nowhere }),
  });
  assert.equal(missing.code, 78);
  assert.match(missing.err, /cannot use the TLS files.*\nhint: /);

  const half = await cliOutcome(["serve"], { cwd: folder.path, env: env({ LAZARET_TLS_CERT: nowhere }) });
  assert.equal(half.code, 78);
  assert.match(half.err, /one of LAZARET_TLS_CERT and LAZARET_TLS_KEY is missing/);
});

test("on SIGTERM a connection that never sent a request is not waited for", async () => {
  using folder = temporaryFolder();
  await using run = runCli(["serve"], { cwd: folder.path, env: env() });
  const [, port] = await run.says(listening);
  const silent = connect({ host: "127.0.0.1", port: Number(port) });
  await new Promise((resolve) => silent.once("connect", resolve));
  await fetch(`http://127.0.0.1:${port}/healthz`);
  const closed = new Promise((resolve) => silent.once("close", resolve));
  silent.on("error", () => {});
  run.child.kill("SIGTERM");
  await closed;
  assert.equal(await run.ended(), 0);
});

test("a reader of the log that leaves does not take the service with it", async () => {
  using folder = temporaryFolder();
  await using run = runCli(["serve"], { cwd: folder.path, env: env() });
  const [, port] = await run.says(listening);
  run.child.stdout?.destroy();
  for (let count = 0; count < 3; count += 1) {
    assert.equal((await fetch(`http://127.0.0.1:${port}/healthz`)).status, 204);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.equal(await run.stop(), 0);
});

test("an empty variable is as good as none, and mistakes in lazaret.json come with a hint", async () => {
  using folder = temporaryFolder();
  const empty = await cliOutcome(["config"], { cwd: folder.path, env: { LAZARET_HOST: "", LAZARET_DATA_DIR: "" } });
  assert.equal(empty.code, 0);
  assert.match(empty.out, /^LAZARET_HOST=0\.0\.0\.0 {2}# default/m);
  mkdirSync(join(folder.path, "lazaret.json"));
  const unreadable = await cliOutcome(["config"], { cwd: folder.path });
  assert.equal(unreadable.code, 78);
  assert.match(unreadable.err, /cannot read lazaret\.json: .*\nhint: /);
  rmdirSync(join(folder.path, "lazaret.json"));
  writeFileSync(join(folder.path, "lazaret.json"), '{"host": null}');
  const nothing = await cliOutcome(["config"], { cwd: folder.path });
  assert.equal(nothing.code, 78);
  assert.match(nothing.err, /lazaret\.json: host must be a string/);
});

test("rules of one's own that do not compile keep the service from starting, with a hint", async () => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, "own.yar"), "rule broken {");
  const rules = env({ LAZARET_ENGINE: "P", LAZARET_CLAMD: "none", LAZARET_RULES_DIR: folder.path });
  const run = await cliOutcome(["serve"], { cwd: folder.path, env: rules });
  assert.equal(run.code, 78);
  assert.match(run.err, /cannot start engine P with the rules in .*[\s\S]*\nhint: LAZARET_RULES_DIR/);
});

// spec: parameter-1
test("config shows every setting with its origin, and hides the keys", async () => {
  using folder = temporaryFolder();
  const run = await cliOutcome(["config", "--port", "9000"], { cwd: folder.path, env: env() });
  assert.equal(run.code, 0);
  assert.match(run.out, /^LAZARET_PORT=9000 {2}# flag: /m);
  assert.match(run.out, /^LAZARET_HOST=127\.0\.0\.1 {2}# environment: /m);
  assert.match(run.out, /^LAZARET_API_KEYS=\(1 set, hidden\)/m);
  assert.ok(!run.out.includes(key));
});
