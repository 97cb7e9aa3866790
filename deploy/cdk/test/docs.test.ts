import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Template } from "./support/deployment.ts";
import { statements } from "./support/reading.ts";
import { asyncApiOf, scannerOf, syncApiOf, templates } from "./support/templates.ts";

const all = templates();
const { scanner, asyncApi, syncApi } = all;
const page = (name: string): string => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), "utf8");

/** The rows of the table below a heading: name and default. */
function documented(heading: string): Record<string, string> {
  const [, section = ""] = page("run-on-aws.md").split(`\n### ${heading}\n`);
  const [table = ""] = section.split("\n#");
  return Object.fromEntries([...table.matchAll(/^\| `(\w+)` \| (.+?) \|/gm)].map(([, name, value]) => [name, value]));
}

function declared({ Parameters = {} }: Template): Record<string, string> {
  const words = (value: string | number | undefined): string => {
    if (value === undefined) return "must be given";
    return value === "" ? "none" : `\`${value}\``;
  };
  return Object.fromEntries(Object.entries(Parameters).map(([name, { Default }]) => [name, words(Default)]));
}

for (const [heading, template] of Object.entries({ scanner, "async-api": asyncApi, "sync-api": syncApi })) {
  test(`docs/run-on-aws.md has every parameter of ${heading}, with its default`, () => {
    assert.deepEqual(documented(heading), declared(template));
  });
}

for (const [who, policy] of [
  ["workers", scannerOf(all).one("AWS::IAM::Policy", "WorkerRole")],
  ["the function of async-api", asyncApiOf(all).one("AWS::IAM::Policy")],
  ["the fleet of sync-api", syncApiOf(all).one("AWS::IAM::Policy", "FleetRole")],
] as const) {
  test(`docs/run-on-aws.md says what ${who} may do to the table`, () => {
    const [, row = ""] = page("run-on-aws.md").split(`\n| ${who} |`);
    const [line = ""] = row.split("\n");
    const actions = statements(policy)
      .flatMap(({ Action }) => Action)
      .filter((action) => action.startsWith("dynamodb:"));
    const written = [...line.matchAll(/`([A-Z]\w+)`/g)].map(([, name]) => `dynamodb:${name}`);
    assert.deepEqual(written.sort(), actions.sort());
    for (const { Condition } of statements(policy)) {
      const partitions = JSON.stringify(Condition ?? "").match(/(?<=")[a-z]+(?=")/g) ?? [];
      for (const name of partitions) assert.match(line, new RegExp(`\`${name}\``));
    }
  });
}

test("docs/runbook.md has a section for every alarm that tells a person, and for no other", () => {
  const alarms = [scanner, asyncApi, syncApi].flatMap(({ Resources }) =>
    Object.entries(Resources).flatMap(([id, { Type, Properties = {} }]) => {
      const described = JSON.stringify(Properties).includes("docs/runbook.md");
      return Type === "AWS::CloudWatch::Alarm" && described ? id.replace(/[0-9A-F]{8}$/, "") : [];
    }),
  );
  assert.equal(alarms.length, 7);
  const sections = [...page("runbook.md").matchAll(/^## (\w+Alarm)$/gm)].map(([, name]) => name);
  assert.deepEqual(sections.sort(), alarms.sort());
});
