import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { callbackPayloadSchema, downloadScanResultSchema } from "@lazaret/contract";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { cleanReport, jobFor } from "../../test/support/try-callback.ts";
import type { Report } from "../model/report.ts";
import type { SourceFailure } from "../model/source.ts";
import type { CallbackFailure } from "./callback-failures.ts";
import { callbackPayload, downloadScanResult } from "./render.ts";

const ajv = new Ajv2020({ strict: false, formats: { "date-time": true } });
const isPayload = ajv.compile({ ...callbackPayloadSchema, additionalProperties: false });
const isDetail = ajv.compile({ ...downloadScanResultSchema, additionalProperties: false });

const CALLBACK = "https://app.example.com/scanned?x=1";
const DOWNLOAD = "https://files.example.com/report.pdf?token=t";
const infected: Report = {
  ...cleanReport,
  verdict: { kind: "infected", finding: "Win.Test.EICAR_HDB-1", fileType: "Zip" },
};
const failure: SourceFailure = {
  finding: "scanner:download-failed",
  code: "HTTP_503",
  message: "cannot download: the server answered 503",
  statusCode: 503,
  passing: true,
};
const unread: Report = {
  verdict: { kind: "unscannable", finding: failure.finding },
  sizeBytes: 0,
  downloadSeconds: 0.01,
  scanSeconds: 0,
  failure,
};
const callbackFailure: CallbackFailure = {
  code: "HTTP_500",
  message: "cannot call back: the receiver answered 500",
  statusCode: 500,
  attempts: 24,
  lastAttemptAt: 1_767_225_600_000,
};

function without<Field extends "traceId" | "callback">(
  job: ReturnType<typeof jobFor>,
  field: Field,
): Omit<ReturnType<typeof jobFor>, Field> {
  const { [field]: _left, ...rest } = job;
  return rest;
}

describe("the callback payload", () => {
  it("has the spec's fields and types: the times are strings of seconds, the size is a number", () => {
    assert.deepEqual(callbackPayload(jobFor(CALLBACK), cleanReport), {
      status: "clean",
      size: 4096,
      download_time: "0.214",
      scan_time: "1.030",
      download_url: DOWNLOAD,
      trace_id: "order-4711",
    });
    assert.deepEqual(callbackPayload(jobFor(CALLBACK, {}, { customData: "" }), infected), {
      status: "infected",
      finding: "Win.Test.EICAR_HDB-1",
      size: 4096,
      download_time: "0.214",
      scan_time: "1.030",
      download_url: DOWNLOAD,
      trace_id: "order-4711",
      custom_data: "",
      realfiletype: "Zip",
    });
  });

  it("leaves out what was not submitted", () => {
    assert.equal("trace_id" in callbackPayload(without(jobFor(CALLBACK), "traceId"), cleanReport), false);
  });

  it("says no for a file that could not be scanned, and why", () => {
    const { status, finding, size } = callbackPayload(jobFor(CALLBACK), unread);
    assert.deepEqual({ status, finding, size }, { status: "no", finding: "scanner:download-failed", size: 0 });
  });

  it("follows its schema, and echoes custom_data unchanged, lone surrogates and NUL included", () => {
    const unit = fc.constantFrom("a", '"', "\\", "\0", "\n", "é", "😀", "\ud83d", "\ude00", "\u2028");
    const seconds = fc.double({ min: 0, max: 100_000, noNaN: true });
    fc.assert(
      fc.property(
        fc.string({ unit }),
        seconds,
        fc.nat(),
        fc.constantFrom(cleanReport, infected, unread),
        (...given) => {
          const [customData, downloadSeconds, sizeBytes, report] = given;
          const payload = callbackPayload(jobFor(CALLBACK, {}, { customData }), {
            ...report,
            downloadSeconds,
            sizeBytes,
          });
          const received: unknown = JSON.parse(Buffer.from(JSON.stringify(payload), "utf8").toString("utf8"));
          assert.ok(isPayload(received), ajv.errorsText(isPayload.errors));
          assert.deepEqual(received, payload);
          assert.equal(payload.custom_data, customData);
          assert.match(payload.download_time, /^\d+\.\d{3}$/);
        },
      ),
    );
  });
});

describe("the Download Scan Result", () => {
  it("tells what was found, and both URLs", () => {
    const detail = downloadScanResult(jobFor(CALLBACK, {}, { customData: "\ud83d" }), infected);
    assert.deepEqual(detail, {
      download_url: DOWNLOAD,
      callback_url: CALLBACK,
      status: "infected",
      finding: "Win.Test.EICAR_HDB-1",
      trace_id: "order-4711",
      custom_data: "\ud83d",
      realfiletype: "Zip",
    });
    assert.ok(isDetail(detail), ajv.errorsText(isDetail.errors));
  });

  it("has an empty callback_url for a job without one", () => {
    const detail = downloadScanResult(without(jobFor(CALLBACK), "callback"), cleanReport);
    assert.equal(detail.callback_url, "");
    assert.ok(isDetail(detail), ajv.errorsText(isDetail.errors));
  });

  it("says no and scanner:callback-failed when the callback finally failed, whatever was found", () => {
    for (const report of [cleanReport, infected, unread]) {
      const detail = downloadScanResult(jobFor(CALLBACK), report, { callbackFailure });
      assert.ok(isDetail(detail), ajv.errorsText(isDetail.errors));
      assert.equal(detail.status, "no");
      assert.equal(detail.finding, "scanner:callback-failed");
      assert.equal(detail.download_failed_error, undefined);
      assert.deepEqual(detail.callback_failed_error, {
        message: "cannot call back: the receiver answered 500",
        code: "HTTP_500",
        metadata: { attempts: 24, status_code: 500, last_attempt_at: "2026-01-01T00:00:00.000Z" },
      });
    }
  });

  it("tells why a download failed, and what is known about its tries", () => {
    const job = jobFor(CALLBACK, {}, { failedDownloads: 3 });
    const detail = downloadScanResult(job, unread, { downloadEndedAt: 1_767_225_600_000 });
    assert.ok(isDetail(detail), ajv.errorsText(isDetail.errors));
    assert.equal(detail.status, "no");
    assert.deepEqual(detail.download_failed_error, {
      message: "cannot download: the server answered 503",
      code: "HTTP_503",
      metadata: { attempts: 4, status_code: 503, last_attempt_at: "2026-01-01T00:00:00.000Z" },
    });
    const { statusCode, ...reset } = { ...failure, code: "ECONNRESET" };
    const other = downloadScanResult(jobFor(CALLBACK), { ...unread, failure: reset });
    assert.deepEqual(other.download_failed_error?.metadata, { attempts: 1 });
  });

  it("has no error object for other reasons to say no", () => {
    const tooBig: Report = {
      ...unread,
      verdict: { kind: "unscannable", finding: "scanner:too-big" },
      failure: { ...failure, finding: "scanner:too-big" },
    };
    const detail = downloadScanResult(jobFor(CALLBACK), tooBig);
    assert.equal(detail.finding, "scanner:too-big");
    assert.equal(detail.download_failed_error, undefined);
  });
});
