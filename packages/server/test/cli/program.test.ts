import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Command } from "commander";
import { cliPage } from "../../src/cli/cli-page.ts";
import { lazaret } from "../../src/cli/program.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { cliOutcome } from "../support/run-cli.ts";

test("docs/cli.md is what the commands say", async () => {
  const page = readFileSync(new URL("../../../../docs/cli.md", import.meta.url), "utf8");
  assert.equal(page, await cliPage(), "write it anew: node scripts/write-cli-page.mjs");
});

test("every command has a description, and examples in its help", async () => {
  const wanting: string[] = [];
  const visit = (command: Command): void => {
    let help = "";
    command.configureOutput({
      writeOut: (text) => {
        help += text;
      },
    });
    command.outputHelp();
    if (command.description() === "" || !/\nExamples:\n {2}\S/.test(help)) wanting.push(command.name());
    // Words of before are not shown.
    const shown = command.createHelp().visibleCommands(command);
    command.commands.filter((child) => shown.includes(child)).forEach(visit);
  };
  visit(await lazaret());
  assert.deepEqual(wanting, []);
});

test("a command is the same alone as among all, and comes alone but where it is about all", async () => {
  const all = await lazaret();
  const names = namesOf(all.commands);
  assert.ok(names.length > 20);
  for (const command of all.commands) {
    const { commands } = await lazaret([command.name(), "--help"]);
    const wanted = command.name() === "completion" ? names : [command.name()];
    assert.deepEqual(namesOf(commands), wanted);
    const alone = commands.find((each) => each.name() === command.name());
    assert.equal(alone?.helpInformation(), command.helpInformation());
    assert.equal(alone?.helpGroup(), command.helpGroup());
  }
  for (const args of [[], ["--help"], ["help", "scan"], ["scna"], ["toString"]])
    assert.deepEqual(namesOf((await lazaret(args)).commands), names, args.join(" "));
  assert.deepEqual(namesOf((await lazaret(["--version"])).commands), []);
});

test("a command loads what it needs: none another command or a platform, few the client", async () => {
  const loaded = async (...args: string[]): Promise<string[]> => {
    using temporary = temporaryFolder();
    const list = join(temporary.path, "loaded.txt");
    const env = { NODE_OPTIONS: `--import=${new URL("../support/list-modules.ts", import.meta.url)}`, LOADED: list };
    assert.equal((await cliOutcome(args, { cwd: temporary.path, env })).code, 0);
    return readFileSync(list, "utf8").split("\n");
  };
  const heavy = /@aws-sdk|\/pg\/|undici|yara|7z-wasm|src\/app\.ts/;
  const [version, keys, scan] = await Promise.all([
    loaded("--version"),
    loaded("keys", "--help"),
    loaded("scan", "--help"),
  ]);
  assert.ok(version.some((url) => url.endsWith("/src/cli/program.ts")));
  assert.ok(keys.some((url) => url.endsWith("/src/cli/keys.ts")));
  assert.ok(scan.some((url) => url.includes("/client/src/")));
  assert.deepEqual(
    [...version, ...keys].filter((url) => url.includes("/client/src/") || /cli\/(?:serve|scan)\.ts/.test(url)),
    [],
  );
  assert.deepEqual(
    [...version, ...keys, ...scan].filter((url) => heavy.test(url)),
    [],
  );
});

function namesOf(commands: readonly Command[]): string[] {
  return commands.map((command) => command.name());
}

test("what was compiled is kept in the user's home, where nobody else can write", async () => {
  using home = temporaryFolder();
  const env = { HOME: home.path, NODE_COMPILE_CACHE: "" };
  assert.equal((await cliOutcome(["--version"], { cwd: home.path, env })).code, 0);
  assert.deepEqual(readdirSync(home.path, { recursive: true }).slice(0, 2), [".cache", ".cache/lazaret"]);
});
