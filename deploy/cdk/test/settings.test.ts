import assert from "node:assert/strict";
import { test } from "node:test";
import { readSettings } from "../../../packages/server/src/settings/read-settings.ts";
import { containers, environment, functionSettings } from "./support/reading.ts";
import { asyncApiOf, scannerOf, syncApiOf, templates } from "./support/templates.ts";

const all = templates();

for (const [name, env] of Object.entries({
  worker: environment(containers(scannerOf(all)).service),
  function: functionSettings(asyncApiOf(all)),
  fleet: environment(containers(syncApiOf(all)).service),
})) {
  test(`the service knows every setting that the ${name} gets, and likes its value`, () => {
    const read = readSettings({ flags: {}, env, file: {} });
    assert.deepEqual(read.kind === "ok" ? [] : read.problems, []);
    assert.ok(read.kind === "ok" && read.settings.platform === "aws");
  });
}
