import assert from "node:assert/strict";
import { test } from "node:test";
import { afterwards } from "../flow/afterwards.ts";
import type { Report } from "../model/report.ts";
import type { Source } from "../model/source.ts";
import { readSettings } from "../settings/read-settings.ts";
import { startWatching } from "./admin.ts";

const counts = { ready: 0, delayed: 0, leased: 0, buried: 0 };

test("whoever asks for what was scanned finds what is noted afterwards", async (t) => {
  const read = readSettings({ flags: {}, env: { LAZARET_API_KEYS: "a-key-of-the-tests" }, file: {} });
  assert.ok(read.kind === "ok");
  const { settings } = read;
  const after = afterwards();
  const watching = startWatching(settings, { now: Date.now, after });
  assert.ok(watching);
  const source: Source = { kind: "upload", bytes: (async function* () {})() };
  const report: Report = { verdict: { kind: "clean" }, sizeBytes: 4, downloadSeconds: 0, scanSeconds: 0 };
  // A scan takes no time, however busy the machine is.
  t.mock.method(performance, "now", () => 0);
  const scan = watching.watch.scan(async () => report);
  await scan(source, { account: { tenant: "shop", key: "web" } }, new AbortController());
  const { activity } = watching;
  assert.equal(activity.p95Ms(), 1);
  await scan(source, { account: { tenant: "shop", key: "web" } }, new AbortController());
  const { last_day: day, recent } = activity.show("1h", counts as never);
  assert.equal(day.scanned, 2);
  assert.deepEqual(
    recent.map(({ tenant, key, size }) => [tenant, key, size]),
    [
      ["shop", "web", 4],
      ["shop", "web", 4],
    ],
  );
  watching.hub[Symbol.dispose]();
});
