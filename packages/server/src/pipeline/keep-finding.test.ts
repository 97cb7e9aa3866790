import assert from "node:assert/strict";
import { test } from "node:test";
import type { Finding } from "../deliver/findings.ts";
import type { LogFields } from "../log.ts";
import { QueueUnavailable } from "../model/faults.ts";
import type { Report } from "../model/report.ts";
import type { Source } from "../model/source.ts";
import { newJobId } from "../queue/job-queue.ts";
import { keepFinding } from "./keep-finding.ts";

const account = { tenant: "shop", key: "forms" };
const report: Report = {
  verdict: { kind: "infected", finding: "Test", member: "a/b.exe", fileType: "zip" },
  sizeBytes: 68,
  downloadSeconds: 0,
  scanSeconds: 0,
  sha256: "ab".repeat(32),
};
const url: Source = { kind: "url", url: "https://u:p@files.example/a.zip?token=secret#x", headers: { A: "secret" } };

function kept() {
  const all: Finding[] = [];
  const findings = { add: async (finding: Finding) => void all.push(finding) };
  const log = { error: () => assert.fail("it was kept") };
  return { all, keep: keepFinding({ findings, log, now: () => 5 }) };
}

test("a finding says what was found where and by whom, and no secrets", async () => {
  const { all, keep } = kept();
  const jobId = newJobId();
  await keep({ id: jobId, account, source: url, report, traceId: "t", jobId });
  const { source: _, id: __, ...rest } = all[0] ?? assert.fail("it was not kept");
  assert.deepEqual(rest, {
    at: 5,
    ...account,
    verdict: "infected",
    finding: "Test",
    member: "a/b.exe",
    sizeBytes: 68,
    fileType: "zip",
    sha256: "ab".repeat(32),
    traceId: "t",
    jobId,
  });
  assert.doesNotMatch(JSON.stringify(all), /secret|u:p/);
});

test("a job that finds the same again tells of one finding, and of another when it finds something else", async () => {
  const { all, keep } = kept();
  const jobs = [newJobId(), newJobId()];
  const verdict = { kind: "unscannable", finding: "scanner:download-failed" } as const;
  const reports = [{ ...report, verdict }, report, { ...report, sha256: "cd".repeat(32) }];
  for (const id of [...jobs, ...jobs]) {
    for (const each of reports) await keep({ id, account, source: url, report: each, jobId: id });
  }
  const ids = all.map(({ id }) => id);
  assert.equal(new Set(ids).size, jobs.length * reports.length);
  assert.deepEqual(ids.slice(6), ids.slice(0, 6));
  for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/);
});

test("the name of an upload, and the version of an object that was looked at, are told", async () => {
  const { all, keep } = kept();
  const bytes = (async function* () {})();
  const seen = { bucket: "b", key: "k", version: "7", mark: "m" };
  await keep({ id: "1", account, source: { kind: "upload", bytes, name: "bill.exe" }, report });
  const object: Source = { kind: "object", bucket: "b", key: "k" };
  await keep({ id: "2", account, source: object, report: { ...report, object: seen }, action: "delete" });
  await keep({ id: "3", account, source: object, report: { ...report, object: { ...seen, unversioned: true } } });
  assert.deepEqual(
    all.map(({ source, action }) => [source, action]),
    [
      [{ kind: "upload", name: "bill.exe" }, undefined],
      [{ kind: "object", bucket: "b", key: "k", version: "7" }, "delete"],
      [{ kind: "object", bucket: "b", key: "k" }, undefined],
    ],
  );
});

test("a file that is clean costs nothing; one that could not be scanned says why", async () => {
  const { all, keep } = kept();
  await keep({ id: "1", account, source: url, report: { ...report, verdict: { kind: "clean" } } });
  assert.equal(all.length, 0);
  const failure = { finding: "scanner:download-failed", code: "HTTP_404", message: "it answered 404", passing: false };
  const verdict = { kind: "unscannable", finding: failure.finding } as const;
  await keep({ id: "2", account, source: url, report: { ...report, verdict, failure } });
  assert.deepEqual([all[0]?.verdict, all[0]?.finding, all[0]?.detail], ["no", failure.finding, "it answered 404"]);
});

test("what cannot be kept is in the log, without secrets, and nobody is told otherwise", async () => {
  const lines: [string, LogFields | undefined][] = [];
  const keep = keepFinding({
    findings: { add: () => Promise.reject(new QueueUnavailable("the disk is full")) },
    log: { error: (event, fields) => void lines.push([event, fields]) },
    now: () => 5,
  });
  await keep({ id: "1", account, source: url, report });
  assert.deepEqual(
    lines.map(([event, fields]) => [event, fields?.finding, fields?.error]),
    [["finding_not_kept", "Test", "the disk is full"]],
  );
  assert.doesNotMatch(JSON.stringify(lines), /secret|u:p/);
});
