import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { settingsPage } from "../../src/settings/settings-page.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { runCli } from "../support/run-cli.ts";

const root = fileURLToPath(new URL("../../../..", import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), "utf8");

async function markdown(): Promise<string[]> {
  const docs = (await readdir(join(root, "docs"), { recursive: true })).map((name) => join("docs", name));
  return [...docs, "README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"].filter((name) =>
    name.endsWith(".md"),
  );
}

/** A command of the README and the answer that stands below it, if one does. */
function examples(page: string): { command: string; answer: unknown }[] {
  const blocks = [...page.matchAll(/```(sh|json)\n([\s\S]*?)```/g)].map(([, kind, text = ""]) => ({ kind, text }));
  return blocks.flatMap(({ kind, text }, index) => {
    const next = blocks[index + 1];
    const answer = next?.kind === "json" ? JSON.parse(next.text) : undefined;
    return kind === "sh" ? [{ command: text.trim(), answer }] : [];
  });
}

test("the README's commands answer as shown", async () => {
  using folder = temporaryFolder();
  await using run = runCli(["dev"], { cwd: folder.path, env: { LAZARET_PORT: "0", LAZARET_CLAMD: "none" } });
  const [, url = ""] = await run.says(/export URL=(\S+)/);
  const exports =
    read("README.md")
      .match(/^export URL=.*$/m)?.[0]
      .replace("http://127.0.0.1:8040", url) ?? "";
  assert.match(exports, /data\/dev-key/);
  const shown = examples(read("README.md"));
  assert.ok(shown.length >= 4, `only ${shown.length} examples found`);
  for (const { command, answer } of shown) {
    const script = `cd ${folder.path}\n${exports}\ncd ${root}\n${command}`;
    const output = execFileSync("sh", ["-c", script], { stdio: ["ignore", "pipe", "ignore"] }).toString();
    if (answer) assert.deepEqual(blurred(JSON.parse(output), answer), answer, command);
  }
  run.child.kill("SIGTERM");
  assert.equal(await run.ended(), 0);
});

/** What the page shows as "…" may be anything. */
function blurred(actual: Record<string, unknown>, shown: unknown): object {
  const anything = Object.entries(shown as object).filter(([, value]) => value === "…");
  return { ...actual, ...Object.fromEntries(anything.filter(([name]) => name in actual)) };
}

test("docs/settings.md is what the settings table says", () => {
  assert.equal(read("docs/settings.md"), settingsPage());
});

test("every link inside the docs leads somewhere", async () => {
  const broken: string[] = [];
  for (const page of await markdown()) {
    for (const [, target = ""] of read(page).matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const path = join(root, dirname(page), target);
      if (!existsSync(path)) broken.push(`${page} → ${relative(root, path)}`);
    }
  }
  assert.deepEqual(broken, []);
});

test("every test that docs/spec-map.md names is there, and every row of it has one, a decision or a reason", () => {
  const rows = read("docs/spec-map.md")
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| spec"));
  assert.ok(rows.length > 60, `only ${rows.length} rows`);
  const wrong = rows.filter((row) => {
    const proofs = [...row.matchAll(/`([^`]+\.test\.ts)` "([^"]+)"/g)];
    const missing = proofs.filter(
      ([, path = "", name = ""]) => !existsSync(join(root, path)) || !read(path).includes(name),
    );
    const excused = /\[\d{4}\]\(decisions\/|not yet:|deployment:|nothing to show:/.test(row);
    return missing.length > 0 || (proofs.length === 0 && !excused);
  });
  assert.deepEqual(wrong, []);
});

test("no file of the repository holds the whole EICAR test string", () => {
  const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { cwd: root })
    .toString()
    .split("\n")
    .filter((name) => name !== "" && existsSync(join(root, name)));
  const whole = ["EICAR", "-STANDARD-ANTIVIRUS-TEST-FILE"].join("");
  assert.ok(files.length > 100);
  assert.deepEqual(
    files.filter((name) => readFileSync(join(root, name), "latin1").includes(whole)),
    [],
  );
});

test("the lock file names no registry, and has an entry for every platform's packages", () => {
  const { packages } = JSON.parse(read("package-lock.json")) as {
    packages: Record<string, { resolved?: string; optionalDependencies?: Record<string, string> }>;
  };
  const resolved = Object.values(packages).flatMap((entry) => entry.resolved ?? []);
  assert.deepEqual(
    resolved.filter((address) => address.includes(":")),
    [],
  );
  const wanted = Object.values(packages).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {}));
  assert.ok(wanted.length > 20);
  assert.deepEqual(
    wanted.filter((name) => !(`node_modules/${name}` in packages)),
    [],
  );
});
