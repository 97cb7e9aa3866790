import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { cleanReport, jobFor } from "../../test/support/try-callback.ts";
import type { CallbackFailure } from "../deliver/callback-failures.ts";
import type { Report } from "../model/report.ts";
import { afterEngineFault, afterFailedCallback, afterFailedDownload } from "./retry-policy.ts";

const failure: CallbackFailure = {
  code: "HTTP_500",
  message: "cannot call back: the receiver answered 500",
  statusCode: 500,
  attempts: 24,
  lastAttemptAt: 0,
};
const waiting = (failedCallbacks: number) => jobFor("https://app.example.com/", {}, { failedCallbacks });

describe("after a failed callback", () => {
  for (const [failedBefore, afterSeconds] of [
    [0, 5],
    [1, 10],
    [2, 15],
  ] as const) {
    it(`invocation ${failedBefore + 1} puts the job back for ${afterSeconds} seconds, with its report`, () => {
      const job = waiting(failedBefore);
      assert.deepEqual(afterFailedCallback(job, failure, { reportEventBus: true }), {
        kind: "again",
        afterSeconds,
        job: { ...job, failedCallbacks: failedBefore + 1 },
        why: "callback failed: HTTP_500",
      });
    });
  }

  it("the fourth invocation ends in an event when results go to the event bus", () => {
    assert.deepEqual(afterFailedCallback(waiting(3), failure, { reportEventBus: true }), { kind: "event", failure });
  });

  it("the fourth invocation ends in a dead letter when they do not, and the reason tells no URL", () => {
    assert.deepEqual(afterFailedCallback(waiting(3), failure, { reportEventBus: false }), {
      kind: "buried",
      reason: "scanner:callback-failed: cannot call back: the receiver answered 500, 24 attempts",
      job: waiting(4),
    });
  });

  it("ends after four invocations, whatever failed, and changes nothing but the count", () => {
    fc.assert(
      fc.property(fc.boolean(), fc.nat(3), fc.string(), (reportEventBus, failedBefore, customData) => {
        let job = jobFor("https://app.example.com/", {}, { failedCallbacks: failedBefore, customData });
        const first = job;
        for (let invocations = 1; ; invocations += 1) {
          const next = afterFailedCallback(job, failure, { reportEventBus });
          if (next.kind !== "again") {
            assert.equal(invocations, 4 - failedBefore);
            assert.equal(next.kind, reportEventBus ? "event" : "buried");
            return;
          }
          assert.deepEqual(next.job, { ...first, failedCallbacks: failedBefore + invocations });
          assert.equal(next.afterSeconds, 5 * (failedBefore + invocations));
          job = { ...next.job, report: cleanReport };
        }
      }),
    );
  });
});

describe("after a download", () => {
  const unread = (passing: boolean): Report => ({
    ...cleanReport,
    verdict: { kind: "unscannable", finding: "scanner:download-failed" },
    failure: { finding: "scanner:download-failed", code: "HTTP_503", message: "cannot download", passing },
  });
  const fetching = (failedDownloads: number) => {
    const { report, ...job } = jobFor("https://app.example.com/", {}, { failedDownloads });
    return job;
  };

  it("that failed in a way that may pass, the job runs again after 5, 10 and 15 seconds, without a report", () => {
    for (const failedDownloads of [0, 1, 2]) {
      assert.deepEqual(afterFailedDownload(fetching(failedDownloads), unread(true)), {
        kind: "again",
        afterSeconds: 5 * (failedDownloads + 1),
        job: fetching(failedDownloads + 1),
        why: "download failed: HTTP_503",
      });
    }
  });

  it("that failed for the fourth time, the report stands", () => {
    assert.deepEqual(afterFailedDownload(fetching(3), unread(true)), { kind: "stands" });
  });

  it("that failed for good, or did not fail, the report stands at once", () => {
    assert.deepEqual(afterFailedDownload(fetching(0), unread(false)), { kind: "stands" });
    assert.deepEqual(afterFailedDownload(fetching(0), cleanReport), { kind: "stands" });
  });
});

describe("after a scan without a verdict", () => {
  const job = jobFor("https://app.example.com/", {});

  it("a job waits for an engine that is down, however often", () => {
    const next = afterEngineFault({ ...job, failedScans: 99 }, { whileScanning: false });
    assert.deepEqual(next, {
      kind: "again",
      afterSeconds: 5,
      job: { ...job, failedScans: 99 },
      why: "the engine could not be asked",
    });
  });

  for (const [failedBefore, afterSeconds] of [
    [0, 5],
    [1, 10],
    [2, 15],
  ] as const) {
    it(`an engine that failed while looking for the ${failedBefore + 1}. time is asked again after ${afterSeconds} s`, () => {
      const next = afterEngineFault({ ...job, failedScans: failedBefore }, { whileScanning: true });
      assert.deepEqual(next, {
        kind: "again",
        afterSeconds,
        job: { ...job, failedScans: failedBefore + 1 },
        why: "the engine failed while it scanned",
      });
    });
  }

  it("a file that the engine fails at for the fourth time cannot be scanned", () => {
    assert.deepEqual(afterEngineFault({ ...job, failedScans: 3 }, { whileScanning: true }), { kind: "unscannable" });
  });
});
