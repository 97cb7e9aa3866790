import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryFolder, watchChild } from "../../../../test/support/leftovers.ts";
import { fileSender } from "./file-sender.ts";
import type { Posted, SendOutcome } from "./sender.ts";

const never = new AbortController().signal;

function send(path: string, ids: readonly string[]): Promise<SendOutcome[]> {
  const sender = fileSender(path);
  return Promise.all(ids.map((id) => sender.send(posted(id), never)));
}

function posted(id: string): Posted {
  return { message: { id, receiver: "r", body: JSON.stringify({ id, text: "line\nend" }) }, failures: 0 };
}

function lines(path: string): string[] {
  return readFileSync(path, "utf8").split("\n").slice(0, -1);
}

function idsIn(path: string): string[] {
  return lines(path).map((line) => JSON.parse(line).id);
}

test("messages sent at once are whole lines, in their order, for the owner only", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "new", "folder", "findings.jsonl");
  const ids = Array.from({ length: 50 }, (_, index) => String(index));
  const outcomes = await send(path, ids);
  assert.deepEqual(new Set(outcomes.map(({ kind }) => kind)), new Set(["sent"]));
  assert.deepEqual(idsIn(path), ids);
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test("a line that was cut short does not swallow the next one, whoever cut it and when", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "events.jsonl");
  const sender = fileSender(path);
  writeFileSync(path, '{"id":"whole"}\n{"id":"cu');
  await sender.send(posted("next"), never);
  writeFileSync(path, '{"id":"cu', { flag: "a" });
  await sender.send(posted("last"), never);
  const [whole, cut, next, cutToo, last, ...rest] = lines(path);
  assert.deepEqual([whole, cut, cutToo, rest], ['{"id":"whole"}', '{"id":"cu', '{"id":"cu', []]);
  assert.deepEqual([JSON.parse(next ?? "").id, JSON.parse(last ?? "").id], ["next", "last"]);
});

test("a file that was moved away is begun anew", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "events.jsonl");
  const sender = fileSender(path);
  await sender.send(posted("1"), never);
  renameSync(path, `${path}.1`);
  await sender.send(posted("2"), never);
  assert.deepEqual([idsIn(`${path}.1`), idsIn(path)], [["1"], ["2"]]);
});

test("a path that cannot be written is a failure, and no more than that", async () => {
  using folder = temporaryFolder();
  mkdirSync(join(folder.path, "folder"));
  const outcomes = await send(join(folder.path, "folder"), ["1", "2"]);
  assert.deepEqual(outcomes, [
    { kind: "failed", code: "EISDIR" },
    { kind: "failed", code: "EISDIR" },
  ]);
  assert.deepEqual(await send(join(folder.path, "file"), ["1"]), [{ kind: "sent" }]);
});

test("several processes append to one file without mixing their lines", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "events.jsonl");
  const script = `
    import { existsSync } from "node:fs";
    import { fileSender } from ${JSON.stringify(fileURLToPath(new URL("./file-sender.ts", import.meta.url)))};
    const [name, path] = process.argv.slice(1);
    const sender = fileSender(path);
    const signal = new AbortController().signal;
    process.stdout.write("ready");
    while (!existsSync(path)) await new Promise(setImmediate);
    for (let round = 0; round < 30; round += 1) {
      await Promise.all([0, 1, 2].map((part) => {
        const body = JSON.stringify({ id: name + round + "." + part, pad: name.repeat(1 + round * 700) });
        return sender.send({ message: { id: "x", receiver: "r", body }, failures: 0 }, signal);
      }));
    }`;
  const children = ["a", "b", "c"].map((name) => {
    const args = ["--input-type=module-typescript", "-e", script, name, path];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    if (child.pid) watchChild(child.pid);
    return child;
  });
  const ended = children.map((child) => once(child, "exit"));
  await Promise.all(children.map((child) => once(child.stdout, "data")));
  assert.equal(existsSync(path), false);
  writeFileSync(path, "");
  assert.deepEqual(
    (await Promise.all(ended)).map(([code]) => code),
    [0, 0, 0],
  );
  const found = lines(path).filter((line) => line !== "");
  assert.equal(new Set(found.map((line) => JSON.parse(line).id)).size, 270);
});
