import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "./place.ts";

const read = (path: string): string => readFileSync(join(root, path), "utf8");
const server = "packages/server";
const contracts = `${server}/test/contracts`;
const platformPage = read("docs/add-a-platform.md");
const enginePage = read("docs/add-an-engine.md");

/** Where the blocks of the pages are from, by the word behind `ts`. */
const quoted: Record<string, string> = {
  adapter: `${contracts}/memory-platform.ts`,
  platform: `${contracts}/memory-platform.ts`,
  suites: `${contracts}/memory.test.ts`,
  start: `${server}/test/journeys/own-platform.test.ts`,
  engine: `${contracts}/hash-engine.ts`,
  suite: `${contracts}/engines.test.ts`,
};

/** The rows of the table: file, name of the port, its file, suites. */
const rows = [
  ...platformPage.matchAll(/^\| `([\w-]+\.ts)` \| `(\w+)` in \[[^\]]+\]\(\.\.\/([^)]+)\) \| (.+) \|$/gm),
].map(([, file = "", port = "", path = "", suites = ""]) => ({
  file,
  port,
  path,
  suites: [...suites.matchAll(/`([\w-]+\.ts)`/g)].map(([, suite = ""]) => suite),
}));

test("docs/add-a-platform.md has a row for each port of a platform, with its file on every platform", () => {
  const platform = read(`${server}/src/platforms/platform.ts`);
  const ports = [...platform.matchAll(/^import type \{ (.+) \} from "\.\.\/[^"]+";$/gm)].flatMap(([, names = ""]) =>
    names.split(", "),
  );
  assert.ok(ports.length >= 9, `only ${ports.length} ports`);
  assert.deepEqual(rows.map(({ port }) => port).toSorted(), ports.toSorted());
  for (const { file, port, path } of rows) {
    assert.match(read(path), new RegExp(`^export interface ${port} `, "m"));
    for (const name of ["embedded", "postgres", "aws"]) {
      assert.ok(existsSync(join(root, server, "src/platforms", name, file)), `${name} has no ${file}`);
    }
  }
});

test("every contract suite is on one of the two pages, and the platform in memory passes all of the table", () => {
  const suites = readdirSync(join(root, contracts)).filter((name) =>
    /^export function \w+Contract\(/m.test(read(`${contracts}/${name}`)),
  );
  assert.ok(suites.length >= 14, `only ${suites.length} suites`);
  const named = [...`${platformPage}${enginePage}`.matchAll(/`([\w-]+\.ts)`|\[([\w-]+\.ts)\]/g)].map(
    ([, code, link]) => code ?? link ?? "",
  );
  assert.deepEqual(
    suites.filter((name) => !named.includes(name)),
    [],
  );
  const inMemory = read(`${contracts}/memory.test.ts`);
  for (const suite of rows.flatMap((row) => row.suites)) {
    const [, contract = "?"] = /^export function (\w+Contract)\(/m.exec(read(`${contracts}/${suite}`)) ?? [];
    assert.ok(inMemory.includes(`\n${contract}(memory);`), `the platform in memory does not run ${suite}`);
  }
});

test("the code on both pages is the code that the tests run, and each page fits a screen or two", () => {
  for (const page of [platformPage, enginePage]) {
    const blocks = [...page.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)];
    assert.ok(blocks.length >= 2);
    for (const [, mark = "", block] of blocks) {
      const name = mark.replace(/^ts /, "");
      assert.equal(block, region(read(quoted[name] ?? assert.fail(`where is ${mark} from?`)), name), name);
    }
    assert.ok(page.split("\n").length <= 120);
  }
});

/** What stands between `#region` and `#endregion`, without its indentation. */
function region(source: string, name: string): string {
  const [, indent = "", text = ""] =
    new RegExp(`^( *)// #region ${name}\\n([\\s\\S]*?)^ *// #endregion$`, "m").exec(source) ??
    assert.fail(`there is no region ${name}`);
  return text.replaceAll(new RegExp(`^${indent}`, "gm"), "");
}
