import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleJob } from "../../test/contracts/sample-job.ts";
import { jobCard, newJobId } from "./job-queue.ts";

function shown(url: string): string {
  const { source } = jobCard(sampleJob({ source: { kind: "url", url, headers: {} } }));
  return source.kind === "url" ? source.url : source.kind;
}

test("a URL is shown without its query, fragment, user and password", () => {
  assert.equal(shown("https://files.example:8443/a/b.pdf?token=secret#secret"), "https://files.example:8443/a/b.pdf");
  assert.equal(shown("https://user:secret@files.example/a"), "https://files.example/a");
  assert.equal(shown("https://files.example"), "https://files.example/");
  assert.equal(shown("secret and no URL"), "(not a URL)");
});

test("an object is shown by its names, without the address it was told by", () => {
  const source = {
    kind: "object",
    bucket: "b",
    key: "k?x",
    version: "3",
    address: "https://store.example/b/k",
  } as const;
  assert.deepEqual(jobCard(sampleJob({ source })).source, { kind: "object", bucket: "b", key: "k?x", version: "3" });
});

test("a job without optional parts has a card without them", () => {
  const { traceId: _, customData: __, callback: ___, ...job } = sampleJob();
  assert.deepEqual(Object.keys(jobCard(job)).toSorted(), [
    "failedActions",
    "failedCallbacks",
    "failedDownloads",
    "failedRuns",
    "failedScans",
    "source",
  ]);
});

test("ids are UUIDs of version 7, all different, and in the order of time", () => {
  const ids = Array.from({ length: 10_000 }, () => newJobId());
  for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(new Set(ids).size, ids.length);
  assert.ok(newJobId(Date.UTC(2026, 0, 1)) < newJobId(Date.UTC(2026, 0, 2)));
});
