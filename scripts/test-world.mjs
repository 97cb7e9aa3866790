// npm run test:world: what needs minutes and programs that others wrote: the panel with a fixed seed, and a part of the proof.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { folderInMemory, root, say } from "./setup.mjs";

/** The same files everywhere, however fast the machine is. */
const steps = [
  ["panel", "--seed", "world", "--by-hand", "--rounds", "2"],
  ["proof", "--limit", "400", "--unchecked"],
];

const memory = folderInMemory();
process.on("exit", () => memory && rmSync(memory, { recursive: true, force: true }));
const env = { ...process.env, ...(memory ? { TMPDIR: memory } : {}) };
for (const name of Object.keys(env)) if (name.startsWith("LAZARET_")) delete env[name];
for (const [name = "", ...args] of steps) {
  const started = Date.now();
  const { status } = spawnSync(process.execPath, [join(root, "scripts", `${name}.mjs`), ...args], {
    cwd: root,
    stdio: "inherit",
    env,
  });
  if (status !== 0) {
    say(`${name}: failed`);
    process.exit(1);
  }
  say(`${name}: ok (${((Date.now() - started) / 1000).toFixed(1)} s)`);
}
