import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Command } from "commander";
import { cliPage } from "../../src/cli/cli-page.ts";
import { lazaret } from "../../src/cli/program.ts";

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
