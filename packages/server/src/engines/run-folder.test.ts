import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder as testFolder, watchChild } from "../../test/support/leftovers.ts";
import { runFolder } from "./run-folder.ts";

/** Another process that makes a folder in `parent`, and says which. */
async function other(parent: string) {
  const program = `
    import { runFolder } from ${JSON.stringify(new URL("./run-folder.ts", import.meta.url).href)};
    console.log((await runFolder(process.argv[1])).path);
    setInterval(() => {}, 1000);
  `;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program, parent], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  watchChild(child.pid ?? 0);
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  return { path: line.toString().trim(), kill, [Symbol.asyncDispose]: kill };
}

test("the folder of a killed process is removed by the next one, those of living processes and of strangers stay", async () => {
  using parent = testFolder();
  const strangers = join(parent.path, "lazaret-run-of-a-stranger");
  mkdirSync(strangers);
  await using living = await other(parent.path);
  await using killed = await other(parent.path);
  writeFileSync(join(killed.path, "left"), "over");
  await killed.kill();
  assert.ok(existsSync(killed.path));
  {
    await using own = await runFolder(parent.path);
    assert.deepEqual([existsSync(killed.path), existsSync(living.path), existsSync(strangers)], [false, true, true]);
    await using _second = await runFolder(parent.path);
    assert.ok(existsSync(own.path), "nor does a process remove its own");
  }
  assert.equal(readdirSync(parent.path).length, 2);
});
