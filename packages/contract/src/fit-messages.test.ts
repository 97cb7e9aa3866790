import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CallbackPayload } from "./callback.ts";
import type { DownloadScanResultDetail } from "./events.ts";
import { type EngineVariant, type Installation, latestAddOns } from "./features.ts";
import type { FindingsAttributes, FindingsMessage } from "./findings-topic.ts";
import {
  fitAsyncResult,
  fitAttributes,
  fitCallback,
  fitDownloadScanResult,
  fitMessage,
  fitSyncResult,
  topicBody,
} from "./fit-messages.ts";
import type { ScanResult } from "./result.ts";
import type { VersionNumber } from "./version-number.ts";

const engine = (variant: EngineVariant, engineVersion: VersionNumber): Installation => ({
  ...latestAddOns,
  variant,
  engineVersion,
});

const message: FindingsMessage = {
  bucket: "uploads",
  key: "a.zip",
  version: "v1",
  size: 68,
  status: "infected",
  action: "delete",
  finding: "Win.Test.EICAR_HDB-1",
  trace_id: "order-4711",
  custom_data: "{}",
  realfiletype: "Zip",
};
const attributes: FindingsAttributes = {
  bucket: "uploads",
  key: "a.zip",
  version: "v1",
  size: 68,
  status: "infected",
  action: "delete",
  finding: "Win.Test.EICAR_HDB-1",
  trace_id: "order-4711",
};
const payload: CallbackPayload = {
  status: "infected",
  finding: "Win.Test.EICAR_HDB-1",
  size: 68,
  download_time: "0.002",
  scan_time: "0.004",
  download_url: "https://files.example.com/a.zip",
  trace_id: "order-4711",
  custom_data: "{}",
  realfiletype: "Zip",
};
const result: ScanResult = { status: "infected", finding: "Win.Test.EICAR_HDB-1", size: 68, realfiletype: "Zip" };
const detail: DownloadScanResultDetail = {
  download_url: "https://files.example.com/a.zip",
  callback_url: "",
  status: "infected",
  finding: "Win.Test.EICAR_HDB-1",
  trace_id: "order-4711",
  custom_data: "{}",
  realfiletype: "Zip",
};

/** Names of the fields, in their order. */
const fields = (value: object): string => Object.keys(value).join(" ");

const findings: [EngineVariant, VersionNumber, "json" | "text", string, string][] = [
  ["Q", "1.6.9", "text", "bucket key status action finding", "bucket key status action"],
  ["Q", "1.7.0", "text", "bucket key status action finding", "bucket key status action finding"],
  ["Q", "2.0.9", "text", "bucket key status action finding", "bucket key status action finding"],
  ["Q", "2.1.0", "json", "bucket key status action finding", "bucket key status action finding"],
  ["Q", "2.2.9", "json", "bucket key status action finding", "bucket key status action finding"],
  ["Q", "2.3.0", "json", "bucket key version status action finding", "bucket key version status action finding"],
  ["Q", "2.8.9", "json", "bucket key version status action finding", "bucket key version status action finding"],
  [
    "Q",
    "2.9.0",
    "json",
    "bucket key version status action finding trace_id custom_data",
    "bucket key version status action finding trace_id",
  ],
  [
    "Q",
    "2.12.9",
    "json",
    "bucket key version status action finding trace_id custom_data",
    "bucket key version status action finding trace_id",
  ],
  [
    "Q",
    "2.13.0",
    "json",
    "bucket key version size status action finding trace_id custom_data",
    "bucket key version size status action finding trace_id",
  ],
  [
    "Q",
    "3.4.1",
    "json",
    "bucket key version size status action finding trace_id custom_data",
    "bucket key version size status action finding trace_id",
  ],
  ["P", "1.999.999", "text", "bucket key status action finding", "bucket key status action"],
  [
    "P",
    "2.0.0",
    "json",
    "bucket key version status action finding trace_id custom_data",
    "bucket key version status action finding trace_id",
  ],
  [
    "P",
    "2.1.9",
    "json",
    "bucket key version status action finding trace_id custom_data",
    "bucket key version status action finding trace_id",
  ],
  [
    "P",
    "2.2.0",
    "json",
    "bucket key version size status action finding trace_id custom_data",
    "bucket key version size status action finding trace_id",
  ],
  [
    "P",
    "2.17.9",
    "json",
    "bucket key version size status action finding trace_id custom_data",
    "bucket key version size status action finding trace_id",
  ],
  [
    "P",
    "2.18.0",
    "json",
    "bucket key version size status action finding trace_id custom_data realfiletype",
    "bucket key version size status action finding trace_id",
  ],
];

describe("messages fitted to an installation", () => {
  for (const [variant, version, body, inMessage, asAttributes] of findings) {
    it(`a finding of engine ${variant} ${version} is ${body} with ${inMessage}`, () => {
      const installation = engine(variant, version);
      assert.equal(topicBody(installation), body);
      assert.equal(fields(fitMessage(message, installation)), inMessage);
      assert.equal(fields(fitAttributes(attributes, installation)), asAttributes);
    });
  }

  it("leaves what it is given as it is, and the values too", () => {
    const before = structuredClone(message);
    const fitted = fitMessage(message, engine("Q", "2.1.0"));
    assert.deepEqual(message, before);
    assert.deepEqual(fitted, {
      bucket: "uploads",
      key: "a.zip",
      status: "infected",
      action: "delete",
      finding: "Win.Test.EICAR_HDB-1",
    });
    assert.deepEqual(fitMessage(message, engine("P", "3.4.1")), message);
  });

  it("adds no field that was not there", () => {
    const small: FindingsMessage = { bucket: "b", key: "k", size: 0, status: "clean", action: "tag" };
    assert.deepEqual(fitMessage(small, engine("P", "3.4.1")), small);
    assert.deepEqual(fitAttributes(small, engine("Q", "3.4.1")), small);
  });

  const { realfiletype: _type, ...untyped } = payload;
  it("a callback tells the real file type from engine P 2.18.0 on, never with Q", () => {
    assert.deepEqual(fitCallback(payload, engine("P", "2.17.999")), untyped);
    assert.deepEqual(fitCallback(payload, engine("P", "2.18.0")), payload);
    assert.deepEqual(fitCallback(payload, engine("Q", "3.4.1")), untyped);
  });

  it("a poll tells the real file type from the asynchronous add-on 2.8.0 on, with engine P", () => {
    const { realfiletype: _, ...rest } = result;
    assert.deepEqual(fitAsyncResult(result, { ...engine("P", "2.4.0"), asyncAddOn: "2.7.999" }), rest);
    assert.deepEqual(fitAsyncResult(result, { ...engine("P", "2.4.0"), asyncAddOn: "2.8.0" }), result);
    assert.deepEqual(fitAsyncResult(result, engine("Q", "3.4.1")), rest);
  });

  it("a synchronous result tells the real file type from the synchronous add-on 2.11.0 on, with engine P", () => {
    const { realfiletype: _, ...rest } = result;
    assert.deepEqual(fitSyncResult(result, { ...engine("P", "1.0.0"), syncAddOn: "2.10.999" }), rest);
    assert.deepEqual(fitSyncResult(result, { ...engine("P", "1.0.0"), syncAddOn: "2.11.0" }), result);
    assert.deepEqual(fitSyncResult(result, engine("Q", "3.4.1")), rest);
  });

  it("there is no Download Scan Result before engine 3.4.1, and with Q it has no real file type", () => {
    const { realfiletype: _, ...rest } = detail;
    assert.equal(fitDownloadScanResult(detail, engine("P", "3.4.0")), undefined);
    assert.equal(fitDownloadScanResult(detail, engine("Q", "3.4.0")), undefined);
    assert.deepEqual(fitDownloadScanResult(detail, engine("P", "3.4.1")), detail);
    assert.deepEqual(fitDownloadScanResult(detail, engine("Q", "3.4.1")), rest);
  });
});
