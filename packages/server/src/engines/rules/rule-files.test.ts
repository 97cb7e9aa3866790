import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { until } from "../../../test/support/until.ts";
import { rulesFingerprint, watchRules } from "./rule-files.ts";

test("changed rules are tried again after a failure that was not theirs, and not after one that was", async () => {
  using folder = temporaryFolder();
  const tries: string[] = [];
  async function changed([rule]: { text: string }[]): Promise<void> {
    const text = rule?.text ?? "";
    tries.push(text);
    if (tries.length < 3) throw new Error(text);
  }
  const failed = (error: unknown): "again" | "when-they-change" =>
    (error as Error).message === "wrong" ? "when-they-change" : "again";
  using _watch = watchRules(folder.path, changed, { since: rulesFingerprint(folder.path), everyMs: 5, failed });
  writeFileSync(join(folder.path, "a.yar"), "fine");
  await until("they are taken", () => tries.length === 3);
  assert.deepEqual(tries, ["fine", "fine", "fine"]);

  tries.length = 0;
  writeFileSync(join(folder.path, "a.yar"), "wrong");
  await until("they are tried", () => tries.length === 1);
  writeFileSync(join(folder.path, "a.yar"), "fine again");
  await until("the next are tried", () => tries.includes("fine again"));
  assert.equal(tries.filter((text) => text === "wrong").length, 1);
});
