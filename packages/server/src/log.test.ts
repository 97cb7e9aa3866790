import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync, readSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { test } from "node:test";
import { afterwards } from "./flow/afterwards.ts";
import { type LogLevel, log } from "./log.ts";

function lines(level: LogLevel, format: "json" | "text"): { written: string[]; say: ReturnType<typeof log> } {
  const written: string[] = [];
  const say = log({ level, format, write: (line) => written.push(line), now: () => Date.UTC(2026, 10, 15, 8, 30) });
  return { written, say };
}

test("a line is one JSON object with time, level and event first", () => {
  const { written, say } = lines("info", "json");
  say("request", { status: 200, code: undefined });
  assert.deepEqual(written, ['{"time":"2026-11-15T08:30:00.000Z","level":"info","event":"request","status":200}\n']);
});

test("a field that is too long is cut, and ends with an ellipsis", () => {
  for (const format of ["json", "text"] as const) {
    const { written, say } = lines("info", format);
    say("request", { path: `/${"a".repeat(499)}`, error: "e".repeat(2100) });
    assert.ok(!written[0]?.includes("…"));
    say("request", { method: "GET", path: `/${"a".repeat(500)}`, error: "e".repeat(100_000), status: 404 });
    const [, line = ""] = written;
    assert.ok(line.length < 3000, `${line.length}`);
    assert.match(line, /\/a{499}…"/);
    assert.match(line, /[^e]e{2100}…"/);
    assert.match(line, /404/);
  }
});

test("on a terminal control characters are shown, not obeyed", () => {
  const { written, say } = lines("info", "text");
  say("request", { path: "/x\u001b[2J\nfake", status: 404 });
  assert.deepEqual(written, ['08:30:00 request path="/x\\u001b[2J\\nfake" status=404\n']);
});

test("on a terminal the control characters of eight bits are shown, too", () => {
  const { written, say } = lines("info", "text");
  say("request", { path: "/x\u009b2J\u007f" });
  assert.deepEqual(written, ['08:30:00 request path="/x\\u009b2J\\u007f"\n']);
});

test("level error leaves out what went well, silent leaves out everything", () => {
  const errors = lines("error", "text");
  errors.say("request");
  errors.say.error("engine");
  assert.deepEqual(errors.written, ["08:30:00 ERROR engine\n"]);
  const silent = lines("silent", "text");
  silent.say.error("engine");
  assert.deepEqual(silent.written, []);
});

test("a line that is made afterwards has the time of what it tells", () => {
  let time = Date.parse("2026-01-02T08:30:00.000Z");
  const after = afterwards(() => time);
  const written: string[] = [];
  const say = log({ level: "info", format: "json", after, write: (line) => written.push(line) });
  say("request", { status: 200 });
  time += 7;
  say.error("engine");
  time += 7;
  assert.deepEqual(written, []);
  after.catchUp();
  assert.deepEqual(
    written.map((line) => JSON.parse(line)),
    [
      { time: "2026-01-02T08:30:00.000Z", level: "info", event: "request", status: 200 },
      { time: "2026-01-02T08:30:00.007Z", level: "error", event: "engine" },
    ],
  );
});

test("a reader that goes away ends nothing", async () => {
  const program = `
    import { buffered, log, outputLines } from ${JSON.stringify(new URL("log.ts", import.meta.url).href)};
    const say = log({ level: "info", format: "json", write: buffered(outputLines(process.stdout)) });
    process.stdin.once("end", () => {
      say("request");
      setTimeout(() => process.exit(7), 100);
    }).resume();`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  child.stdout.destroy();
  child.stdin.end();
  assert.deepEqual(await once(child, "exit"), [7, null]);
});

const ends: Record<string, string> = {
  "by itself": "",
  "by process.exit": "process.exit(3)",
  "with an error that nobody caught": "throw new Error('not caught')",
  "with a rejection that nobody caught": "Promise.reject(new Error('not caught'))",
};
for (const [how, end] of Object.entries(ends)) {
  test(`no line is lost when the process ends ${how}`, () => {
    // More than a pipe holds.
    const program = `
      import { afterwards } from ${JSON.stringify(new URL("flow/afterwards.ts", import.meta.url).href)};
      import { buffered, log, outputLines } from ${JSON.stringify(new URL("log.ts", import.meta.url).href)};
      const after = afterwards();
      const say = log({ level: "info", format: "json", write: buffered(outputLines(process.stdout), after), after });
      for (let at = 0; at < 5000; at += 1) say("request", { at });
      ${end}`;
    const { stdout } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" });
    const written = stdout.trimEnd().split("\n");
    assert.deepEqual(
      written.map((line) => JSON.parse(line).at),
      Array.from({ length: 5000 }, (_, at) => at),
    );
  });
}

test("no line is lost when an error that nobody caught ends the process while the reader is behind", async () => {
  const program = `
    import { afterwards } from ${JSON.stringify(new URL("flow/afterwards.ts", import.meta.url).href)};
    import { buffered, log, outputLines } from ${JSON.stringify(new URL("log.ts", import.meta.url).href)};
    const after = afterwards();
    const write = outputLines(process.stdout);
    const say = log({ level: "info", format: "json", write: buffered(write, after), after });
    for (let at = 0; at < 20_000; at += 1) say("request", { at });
    after.catchUp();
    write(Buffer.from('{"at":20000}\\n'));
    say("request", { at: 20_001 });
    setTimeout(() => {
      process.stderr.write("ending");
      throw new Error("not caught");
    }, 100);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program]);
  await once(child.stderr, "data");
  child.stderr.resume();
  let text = "";
  for await (const part of child.stdout.setEncoding("utf8")) text += part;
  assert.deepEqual(
    text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).at),
    Array.from({ length: 20_002 }, (_, at) => at),
  );
});

test("a reader who is behind gets everything while the process goes on", async () => {
  const program = `
    import { outputLines } from ${JSON.stringify(new URL("log.ts", import.meta.url).href)};
    outputLines(process.stdout)("line\\n".repeat(400_000));
    process.stderr.write("written");
    setTimeout(() => process.kill(process.pid, "SIGKILL"), 60_000);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program]);
  await once(child.stderr, "data");
  let bytes = 0;
  for await (const part of child.stdout) {
    bytes += part.length;
    if (bytes === 2_000_000) child.kill("SIGKILL");
  }
  assert.equal(bytes, 2_000_000);
});

test("a reader who has gone, or comes back, keeps nobody from going on", async () => {
  const folder = await mkdtemp(join(tmpdir(), "log-"));
  const fifo = join(folder, "fifo");
  spawnSync("mkfifo", [fifo]);
  const program = `
    import { outputLines } from ${JSON.stringify(new URL("log.ts", import.meta.url).href)};
    const write = outputLines(process.stdout);
    process.stdin.on("data", (text) => {
      write(text);
      process.stderr.write(".");
    }).once("end", () => process.exit(7));`;
  // Open for both, or to open it would wait for somebody to write.
  const first = openSync(fifo, constants.O_RDWR);
  const out = openSync(fifo, constants.O_WRONLY);
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], { stdio: ["pipe", out, "pipe"] });
  closeSync(out);
  const exited = once(child, "exit");
  const told = async (text: string): Promise<void> => {
    const heard = once(child.stderr as Readable, "data");
    child.stdin?.write(text);
    await Promise.race([heard, exited]);
  };
  const read = (descriptor: number): string => {
    const buffer = Buffer.alloc(100);
    return buffer.toString("utf8", 0, readSync(descriptor, buffer));
  };
  await told("one\n");
  assert.equal(read(first), "one\n");
  closeSync(first);
  await told("two\n");
  const second = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
  await told("three\n");
  assert.equal(read(second), "three\n");
  closeSync(second);
  child.stdin?.end();
  assert.deepEqual(await exited, [7, null]);
  await rm(folder, { recursive: true });
});
