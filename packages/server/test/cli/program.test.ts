import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Command } from "commander";
import { cliPage } from "../../src/cli/cli-page.ts";
import { lazaret } from "../../src/cli/program.ts";
import { temporaryFolder } from "../support/leftovers.ts";
import { cliOutcome } from "../support/run-cli.ts";

test("docs/cli.md is what the commands say", () => {
  const page = readFileSync(new URL("../../../../docs/cli.md", import.meta.url), "utf8");
  assert.equal(page, cliPage(), "write it anew: node scripts/write-cli-page.mjs");
});

test("every command has a description, and examples in its help", () => {
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
  visit(lazaret());
  assert.deepEqual(wanting, []);
});

test("what was compiled is kept where only this user can write, and nowhere else", async () => {
  const mine = `lazaret-compiled-${process.getuid?.()}`;
  const kept = async (prepare: (folder: string) => void): Promise<string[]> => {
    using temporary = temporaryFolder();
    const folder = join(temporary.path, mine);
    prepare(folder);
    const env = { TMPDIR: temporary.path, NODE_COMPILE_CACHE: "" };
    assert.equal((await cliOutcome(["--version"], { cwd: temporary.path, env })).code, 0);
    return readdirSync(folder);
  };
  assert.equal((await kept(() => {})).length, 1);
  const writable = (folder: string): void => {
    mkdirSync(folder);
    chmodSync(folder, 0o777);
  };
  assert.deepEqual(await kept(writable), []);
  const elsewhere = (folder: string): void => {
    mkdirSync(`${folder}-elsewhere`, { mode: 0o700 });
    symlinkSync(`${folder}-elsewhere`, folder);
  };
  assert.deepEqual(await kept(elsewhere), []);
});
