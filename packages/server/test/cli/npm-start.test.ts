import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryFolder, watchChild } from "../support/leftovers.ts";
import { until } from "../support/until.ts";

const script = fileURLToPath(new URL("../../../../scripts/start.mjs", import.meta.url));

interface Started extends AsyncDisposable {
  port: number;
  key: string;
  /** To all of the group, as a terminal and `docker stop` send it. */
  signal(name: NodeJS.Signals): void;
  said(): string;
}

/** Runs what `npm start` runs, below a shell as npm has one, in a group of its own. */
async function start(): Promise<Started> {
  await using undo = new AsyncDisposableStack();
  const folder = undo.use(temporaryFolder());
  const shell = spawn("sh", ["-c", '"$0" "$1" --port 0; :', process.execPath, script], {
    cwd: folder.path,
    env: { PATH: process.env.PATH, LAZARET_CLAMD: "none", LAZARET_DRAIN_SECONDS: "0" },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const group = shell.pid ?? assert.fail("sh did not start");
  watchChild(group);
  // Not at the shell's end, but of all that may write.
  const closed = once(shell, "close");
  let said = "";
  for (const stream of [shell.stdout, shell.stderr]) stream.setEncoding("utf8").on("data", (part) => (said += part));
  undo.defer(async () => {
    if (isThere(group)) process.kill(-group, "SIGKILL");
    await closed;
  });
  await until("it is ready", () => /is ready at/.test(said), { limitMs: 60_000 }).catch((cause) => {
    throw new Error(said, { cause });
  });
  const [, port = ""] = /is ready at http:\/\/127\.0\.0\.1:(\d+)/.exec(said) ?? [];
  const key = readFileSync(join(folder.path, "data/dev-key"), "utf8").trim();
  const all = undo.move();
  return {
    port: Number(port),
    key,
    signal: (name) => process.kill(-group, name),
    said: () => said,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

function isThere(group: number): boolean {
  try {
    process.kill(-group, 0);
    return true;
  } catch {
    return false;
  }
}

/** An upload of five bytes, of which four are sent. */
async function upload({ port, key }: Started): Promise<{ socket: Socket; answer(): string; closed: Promise<unknown> }> {
  const socket = connect(port, "127.0.0.1").on("error", () => {});
  const closed = once(socket, "close");
  let answer = "";
  socket.setEncoding("utf8").on("data", (part) => (answer += part));
  socket.write(
    `POST /api/v1/scan/sync/binary HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n` +
      "Content-Type: application/octet-stream\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
  );
  await until("the body is wanted", () => answer.includes("100 Continue"));
  socket.write("hell");
  return { socket, answer: () => answer, closed };
}

test("SIGTERM to the whole group of npm start lets an upload come to its end", async () => {
  await using started = await start();
  const { socket, answer, closed } = await upload(started);
  started.signal("SIGTERM");
  const begun = performance.now();
  await until("it stops", () => started.said().includes("stopping"));
  await until("another signal would count as a second one", () => performance.now() - begun > 2500);
  socket.write("o");
  await closed;
  assert.match(answer(), /"status":"clean"/);
  await until("it has stopped", () => started.said().includes("stopped"));
});

test("a second Ctrl-C ends npm start at once", async () => {
  await using started = await start();
  const { answer, closed } = await upload(started);
  started.signal("SIGINT");
  const begun = performance.now();
  await until("it stops", () => started.said().includes("stopping"));
  await until("another signal counts as a second one", () => performance.now() - begun > 1500);
  started.signal("SIGINT");
  await closed;
  assert.doesNotMatch(answer(), /"status":/);
  assert.ok(!started.said().includes("stopped"));
});
