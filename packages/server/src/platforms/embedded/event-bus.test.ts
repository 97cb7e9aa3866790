import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { DOWNLOAD_SCAN_RESULT } from "@lazaret/contract";
import { temporaryFolder } from "../../../test/support/leftovers.ts";
import { cleanReport, jobFor } from "../../../test/support/try-callback.ts";
import { busEvent } from "../../deliver/event-bus.ts";
import { downloadScanResult } from "../../deliver/render.ts";
import { eventFile } from "./event-bus.ts";

const detail = downloadScanResult(jobFor("https://app.example.com/", {}), cleanReport);
const event = (id: string) =>
  busEvent(
    id,
    { detailType: DOWNLOAD_SCAN_RESULT, detail },
    { account: "000000000000", region: "local", now: () => 0 },
  );

test("events published at once are whole lines, in their order", async () => {
  using folder = temporaryFolder();
  const bus = await eventFile(folder.path);
  const ids = Array.from({ length: 50 }, (_, index) => String(index));
  await Promise.all(ids.map((id) => bus.publish(event(id))));
  await bus.close();
  const lines = readFileSync(join(folder.path, "events.jsonl"), "utf8").trim().split("\n");
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).id),
    ids,
  );
});

test("a line that was cut short does not swallow the next one", async () => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, "events.jsonl"), '{"id":"whole"}\n{"id":"cu');
  const bus = await eventFile(folder.path);
  await bus.publish(event("next"));
  await bus.close();
  const lines = readFileSync(join(folder.path, "events.jsonl"), "utf8").trim().split("\n");
  assert.deepEqual([lines.length, JSON.parse(lines[2] ?? "").id], [3, "next"]);
});
