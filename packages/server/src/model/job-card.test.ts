import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleJob } from "../../test/contracts/sample-job.ts";
import { jobCard } from "./job-card.ts";

function shown(url: string): string {
  const { source } = jobCard(sampleJob({ source: { kind: "url", url, headers: {} } }));
  return source.kind === "url" ? source.url : source.kind;
}

test("a URL is shown without its query, fragment, user and password", () => {
  assert.equal(shown("https://files.example:8443/a/b.pdf?token=secret#secret"), "https://files.example:8443/a/b.pdf?…");
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
    "failedTrials",
    "key",
    "source",
    "tenant",
  ]);
});
