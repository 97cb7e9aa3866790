import assert from "node:assert/strict";
import { test } from "node:test";
import type { Findings } from "../deliver/findings.ts";
import { groupFindings, listFindings } from "./finding-list.ts";

/** Much was found, and nothing of it is wanted: each read has had its time, and goes on behind. */
function endless(onRead: (reads: number) => void = () => {}): { findings: Findings; reads(): number } {
  let reads = 0;
  const findings: Findings = {
    add: async () => {},
    async list() {
      reads += 1;
      onRead(reads);
      return { entries: [], next: String(reads) };
    },
  };
  return { findings, reads: () => reads };
}

const query = new URLSearchParams({ q: "nothing" });

test("a search that finds nothing ends, though there is ever more to read", async () => {
  const { findings, reads } = endless();
  assert.deepEqual((await groupFindings(findings, query, new AbortController().signal)).entries, []);
  assert.equal(reads(), 100);
});

test("nothing more is read for a client that has hung up", async () => {
  for (const search of [groupFindings, listFindings]) {
    const stop = new AbortController();
    const { findings, reads } = endless((count) => {
      if (count === 3) stop.abort();
    });
    await search(findings, query, stop.signal);
    assert.equal(reads(), 3, search.name);
  }
});
