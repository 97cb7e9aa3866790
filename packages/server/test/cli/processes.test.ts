import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { before, test } from "node:test";
import { askingOn } from "../support/asking-on.ts";
import { type TestClamd, testClamd } from "../support/clamd.ts";
import { atTheEnd, temporaryFolder, watchChild } from "../support/leftovers.ts";
import { cliOutcome, runCli } from "../support/run-cli.ts";
import { childrenOf, metricIn, processesKey, threeOnAnyPort, threeProcesses } from "../support/three-processes.ts";
import { until } from "../support/until.ts";

let clamd: TestClamd;
before(async () => {
  clamd = await testClamd();
});
atTheEnd(() => clamd[Symbol.asyncDispose]());

const env = (more: Record<string, string> = {}): Record<string, string> => ({
  ...threeOnAnyPort,
  LAZARET_ENGINE: "Q",
  LAZARET_CLAMD: `unix:${clamd.socketPath}`,
  ...more,
});

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function metric(url: string, name: string): Promise<number> {
  return metricIn(await (await fetch(`${url}/metrics`, { headers: { Connection: "close" } })).text(), name);
}

const scans = 'lazaret_requests_total{method="POST",status="200"}';

test("three processes serve one port; log, metrics and SIGHUP are those of one service, and SIGTERM under load costs no request", async () => {
  using folder = temporaryFolder();
  await using service = await threeProcesses(folder.path, env());
  const { run, url, scan, lines, pids } = service;
  assert.equal(pids().length, 3);
  for (let count = 0; count < 9; count += 1)
    assert.deepEqual(await (await scan()).json(), { status: "clean", size: 5 });
  await until("all scans are counted", async () => (await metric(url, scans)) === 9);
  assert.equal(await metric(url, "lazaret_processes "), 3);
  assert.equal(await metric(url, "lazaret_queue_ready "), 0);
  await until("all lines are written", () => lines("request").length === 9);
  assert.deepEqual(new Set(lines("request").map((line) => line.process)), new Set([1, 2, 3]));

  run.child.kill("SIGHUP");
  await run.says(/"event":"reloaded","api_keys":1/);
  const children = pids();
  const clients = [true, false].map((keepAlive) => askingOn(url, { clients: 16, keepAlive }));
  await until("all are at work", () => clients.every((each) => each.answered() > 50));
  assert.equal(await run.stop(), 0);
  assert.deepEqual(await Promise.all(clients.map((each) => each.unanswered())), [[], []]);
  assert.deepEqual(children.filter(alive), []);
  for (const event of ["listening", "reloaded", "stopping", "stopped"]) assert.equal(lines(event).length, 1, event);
  assert.equal(run.stderr, "");
});

test("every process that serves has V8 optimize what each request runs, alone or one of three", async () => {
  using folder = temporaryFolder();
  const told = join(folder.path, "told");
  const preloaded = join(folder.path, "tell.mjs");
  writeFileSync(
    preloaded,
    `import { appendFileSync } from "node:fs";
    import { syncBuiltinESMExports } from "node:module";
    import v8 from "node:v8";
    const set = v8.setFlagsFromString;
    v8.setFlagsFromString = (flag) => {
      appendFileSync(${JSON.stringify(told)}, process.pid + " " + flag + "\\n");
      set(flag);
    };
    syncBuiltinESMExports();`,
  );
  const optimizing = (): number[] => {
    const lines = existsSync(told) ? readFileSync(told, "utf8").split("\n") : [];
    const flag = "--invocation-count-for-turbofan=1000";
    return lines.filter((line) => line.endsWith(flag)).map(Number.parseFloat);
  };
  const more = { NODE_OPTIONS: `--import=${preloaded}` };
  {
    await using service = await threeProcesses(folder.path, env(more));
    const pids = service.pids();
    await until("each of the three does", () => pids.every((pid) => optimizing().includes(pid)));
  }
  await using alone = runCli(["serve"], { cwd: folder.path, env: env({ ...more, LAZARET_PROCESSES: "1" }) });
  await alone.says(/"event":"listening"/);
  await until("the one does", () => optimizing().includes(alone.child.pid ?? 0));
});

test("a process that is killed is replaced, nothing it counted is lost, and the others go on", async () => {
  using folder = temporaryFolder();
  await using service = await threeProcesses(folder.path, env());
  const { run, url, scan, lines, pids } = service;
  for (let count = 0; count < 6; count += 1) await scan();
  await until("all scans are counted", async () => (await metric(url, scans)) === 6);
  const [, victim = 0] = pids();
  process.kill(victim, "SIGKILL");
  await run.says(/"event":"process".*"state":"ended","ended_with":"SIGKILL"/);
  assert.deepEqual(await (await scan()).json(), { status: "clean", size: 5 });
  await run.says(/"event":"process".*"state":"started"/);
  for (const pid of pids()) watchChild(pid);
  assert.equal(pids().includes(victim), false);
  await until("the new one is counted", async () => (await metric(url, "lazaret_processes ")) === 3);
  await until("what the dead one counted is there", async () => (await metric(url, scans)) === 7);
  assert.equal(await run.stop(), 0);
  assert.equal(lines("stopped").length, 1);
});

test("all processes may die at once: the port stays, and keys that were exchanged stay exchanged", async () => {
  using folder = temporaryFolder();
  const keys = join(folder.path, "keys");
  writeFileSync(keys, "first-key-of-the-tests");
  await using service = await threeProcesses(folder.path, env({ LAZARET_API_KEYS: "", LAZARET_API_KEYS_FILE: keys }));
  const { run, scan, pids, lines } = service;
  assert.equal((await scan("first-key-of-the-tests")).status, 200);
  writeFileSync(keys, "second-key-of-the-tests");
  run.child.kill("SIGHUP");
  await run.says(/"event":"reloaded"/);
  for (const pid of pids()) process.kill(pid, "SIGKILL");
  await until("all are back", () => lines("process").filter(({ state }) => state === "started").length === 3, {
    limitMs: 60_000,
  });
  for (const pid of pids()) watchChild(pid);
  for (let count = 0; count < 3; count += 1) {
    assert.equal((await scan("second-key-of-the-tests")).status, 200);
    assert.equal((await scan("first-key-of-the-tests")).status, 401);
  }
  assert.equal(await run.stop(), 0);
});

/** On a machine so busy that it was silent for too long, it was ended meanwhile, and replaced. */
function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {}
}

test("a key that was taken away is refused by a process that came back while the others were told", async () => {
  using folder = temporaryFolder();
  const keys = join(folder.path, "keys");
  writeFileSync(keys, "first-key-of-the-tests,second-key-of-the-tests");
  await using service = await threeProcesses(folder.path, env({ LAZARET_API_KEYS: "", LAZARET_API_KEYS_FILE: keys }));
  const { run, scan, pids, lines } = service;
  writeFileSync(keys, "first-key-of-the-tests");
  const [slow = 0, killed = 0] = pids();
  process.kill(slow, "SIGSTOP");
  process.kill(killed, "SIGKILL");
  await until("its end is seen", () => lines("process").some(({ state }) => state === "ended"));
  run.child.kill("SIGHUP");
  const isBack = (): boolean => lines("process").some(({ state }) => state === "started");
  await until("it is back", isBack).finally(() => signalTo(slow, "SIGCONT"));
  for (const pid of pids()) watchChild(pid);
  await run.says(/"event":"reloaded"/);
  for (let count = 0; count < 6; count += 1) assert.equal((await scan("second-key-of-the-tests")).status, 401);
  assert.equal(await run.stop(), 0);
});

test("a key that was taken away is refused by a process that died while it was told", async () => {
  using folder = temporaryFolder();
  const keys = join(folder.path, "keys");
  writeFileSync(keys, "first-key-of-the-tests,second-key-of-the-tests");
  await using service = await threeProcesses(folder.path, env({ LAZARET_API_KEYS: "", LAZARET_API_KEYS_FILE: keys }));
  const { run, scan, pids, lines } = service;
  writeFileSync(keys, "first-key-of-the-tests");
  const [silent = 0] = pids();
  process.kill(silent, "SIGSTOP");
  run.child.kill("SIGHUP");
  // The other two are asked by turns, the silent one never answers.
  const refused = async (): Promise<boolean> => {
    const answer = await scan("second-key-of-the-tests", AbortSignal.timeout(2000)).catch(() => undefined);
    return answer?.status === 401;
  };
  await until("the others refuse it", refused);
  signalTo(silent, "SIGKILL");
  await until("it is back", () => lines("process").some(({ state }) => state === "started"));
  for (const pid of pids()) watchChild(pid);
  await run.says(/"event":"reloaded"/);
  for (let count = 0; count < 6; count += 1) assert.equal((await scan("second-key-of-the-tests")).status, 401);
  assert.equal((await scan("first-key-of-the-tests")).status, 200);
  assert.equal(await run.stop(), 0);
});

test("SIGTERM to one process replaces it, and costs no request that was under way", async () => {
  using folder = temporaryFolder();
  await using service = await threeProcesses(folder.path, env());
  const { run, url, pids, lines } = service;
  const sockets = Array.from({ length: 3 }, () => connect({ host: "127.0.0.1", port: Number(new URL(url).port) }));
  const answers = sockets.map(
    (socket) =>
      new Promise<string>((resolve) => {
        let text = "";
        socket.on("data", (part) => {
          text += part;
          if (text.includes('"size":5')) resolve(text);
        });
      }),
  );
  for (const socket of sockets) {
    socket.write(
      `POST /api/v1/scan/sync/binary HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nAuthorization: Bearer ${processesKey}\r\nContent-Length: 5\r\n\r\nhe`,
    );
  }
  await until("all have begun", async () => (await fetch(`${url}/healthz`)).status === 204);
  const [first = 0] = pids();
  process.kill(first, "SIGTERM");
  for (const socket of sockets) socket.write("llo");
  for (const answer of await Promise.all(answers)) assert.match(answer, /"status":"clean","size":5/);
  for (const socket of sockets) socket.destroy();
  await run.says(/"level":"info","event":"process".*"state":"ended","ended_with":0/);
  await run.says(/"event":"process".*"state":"started"/);
  for (const pid of pids()) watchChild(pid);
  assert.equal(await run.stop(), 0);
  assert.equal(lines("stopping").length, 1);
});

test("when the one that supervises is killed, the others finish what they have and go", async () => {
  using folder = temporaryFolder();
  await using service = await threeProcesses(folder.path, env());
  const { run, url, pids } = service;
  const children = pids();
  const socket = connect({ host: "127.0.0.1", port: Number(new URL(url).port) });
  let received = "";
  socket.on("data", (part) => {
    received += part;
  });
  socket.write(
    `POST /api/v1/scan/sync/binary HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nAuthorization: Bearer ${processesKey}\r\nContent-Length: 23\r\nExpect: 100-continue\r\n\r\n`,
  );
  // A process has the request now: before that, its connection may still be the supervisor's.
  await until("the body is asked for", () => received.includes("100 Continue"));
  socket.write("first half, ");
  run.child.kill("SIGKILL");
  await until("nobody listens", () =>
    fetch(`${url}/healthz`).then(
      () => false,
      () => true,
    ),
  );
  socket.write("second half");
  await until("it is answered", () => received.includes('{"status":"clean","size":23}'));
  socket.destroy();
  await until("they are gone", () => children.filter(alive).length === 0, { limitMs: 30_000 });
});

test("what keeps several processes from starting is said once, with the exit code of one", async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "file");
  writeFileSync(file, "");
  const wrong: [more: Record<string, string>, message: RegExp][] = [
    [{ LAZARET_CLAMD: "none" }, /engine Q needs clamd/],
    [{ LAZARET_API_KEYS: "short-key" }, /fewer than 16 characters/],
    [{ LAZARET_PROCESSES: "5" }, /LAZARET_PROCESSES is 5, and only 4 files are scanned at once/],
    [{ LAZARET_PROCESSES: "0" }, /must be auto, or a whole number from 1 to 64/],
    [{ LAZARET_DATA_DIR: file }, /cannot use the data folder/],
    [{ LAZARET_DATA_DIR: "/proc/none/here" }, /cannot use the data folder .*: cannot make a folder in \/proc$/m],
  ];
  for (const [more, message] of wrong) {
    const { code, err, out } = await cliOutcome(["serve"], { cwd: folder.path, env: env(more) });
    assert.equal(code, 78, err);
    assert.match(err, message);
    assert.equal(err.match(/^lazaret: /gm)?.length, 1, err);
    assert.doesNotMatch(out, /"event":"(?:listening|process)"/);
  }
});

test("a taken port is said once, and dev has one process unless told otherwise", async () => {
  using folder = temporaryFolder();
  await using dev = runCli(["dev"], { cwd: folder.path, env: { ...env(), LAZARET_PROCESSES: "" } });
  const [, port = ""] = await dev.says(/is ready at http:\/\/127\.0\.0\.1:(\d+)/);
  assert.deepEqual(childrenOf(dev.child.pid ?? 0), []);
  const taken = await cliOutcome(["serve"], { cwd: folder.path, env: env({ LAZARET_PORT: port }) });
  assert.equal(taken.code, 75);
  assert.match(taken.err, /^lazaret: cannot listen on .*: the port is taken\nhint: [^\n]*\n$/);
  assert.equal(await dev.stop("SIGINT"), 0);

  await using several = runCli(["dev", "--processes", "2"], {
    cwd: folder.path,
    env: { ...env(), LAZARET_PROCESSES: "" },
  });
  await several.says(/is ready at http:\/\/127\.0\.0\.1:(\d+)/);
  assert.equal(childrenOf(several.child.pid ?? 0).length, 2);
  assert.equal(await several.stop("SIGINT"), 0);
  assert.equal(`${several.stdout}`.match(/is ready at/g)?.length, 1);
});
