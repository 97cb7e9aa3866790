import assert from "node:assert/strict";
import { test } from "node:test";
import type { ScanResult as WireResult } from "../../contract/src/result.ts";
import { isClean, isEncrypted, isOverLimits, isTooBig, parseResult, type ScanResult } from "./result.ts";
import type { Status } from "./wire.ts";

test("results of the wire are taken as they are, without fields nobody knows", () => {
  const results: [unknown, ScanResult][] = [
    [{ status: "clean" }, { status: "clean" }],
    [
      { status: "clean", size: 0, realfiletype: "empty", later: 1 },
      { status: "clean", size: 0, realfiletype: "empty" },
    ],
    [
      { status: "infected", finding: "Eicar", size: 68 },
      { status: "infected", finding: "Eicar", size: 68 },
    ],
    [
      { status: "no", finding: "scanner:too-big", size: null },
      { status: "no", finding: "scanner:too-big" },
    ],
    [{ status: "no" }, { status: "no" }],
  ];
  for (const [value, result] of results) assert.deepEqual(parseResult(value), { result });
});

test("whatever is not exactly a result is none, above all nothing that looks a little clean", () => {
  const values: unknown[] = [
    undefined,
    null,
    "clean",
    ["clean"],
    {},
    { status: "CLEAN" },
    { status: "clean " },
    { status: ["clean"] },
    { status: true },
    { status: "ok" },
    { status: "clean", finding: "Eicar" },
    { status: "clean", finding: 1 },
    { status: "clean", size: "1" },
    { status: "clean", size: -1 },
    { status: "clean", size: 1.5 },
    { status: "infected", realfiletype: {} },
    { result: { status: "clean" } },
  ];
  for (const value of values) assert.ok("problem" in parseResult(value), JSON.stringify(value));
});

test("isClean is true for clean alone", () => {
  const all: Record<Status, boolean> = { clean: true, infected: false, no: false };
  for (const [status, clean] of Object.entries(all)) assert.equal(isClean({ status: status as Status }), clean);
});

test("encrypted, too big and over the limits are told by Lazaret's finding and by clamd's, of files that were not scanned", () => {
  const questions = { isEncrypted, isTooBig, isOverLimits };
  const findings: Record<keyof typeof questions | "none", readonly string[]> = {
    isEncrypted: [
      "scanner:encrypted",
      ...["Zip", "7Zip", "RAR", "PDF", "EGG"].map((kind) => `Heuristics.Encrypted.${kind}`),
    ],
    isTooBig: ["scanner:too-big"],
    isOverLimits: [
      "scanner:limits-exceeded",
      ...["MaxFileSize", "MaxFiles", "MaxRecursion", "MaxScanSize", "MaxScanTime", "EmailHeaders"].map(
        (limit) => `Heuristics.Limits.Exceeded.${limit}`,
      ),
    ],
    none: [
      "scanner:timeout",
      "scanner:unsupported-archive",
      "scanner:download-failed",
      "Encrypted",
      "scanner:encrypted2",
      "",
    ],
  };
  for (const [wanted, names] of Object.entries(findings)) {
    for (const finding of names) {
      for (const [question, ask] of Object.entries(questions)) {
        assert.equal(ask({ status: "no", finding }), question === wanted, `${question} of ${finding}`);
        assert.equal(ask({ status: "infected", finding }), false);
        assert.equal(ask({ status: "clean" }), false);
      }
    }
  }
});

test("a result is also a result of the wire, and clean ones have no finding", () => {
  const result: ScanResult = { status: "clean", size: 1 };
  const wire: WireResult = result;
  assert.equal(wire.finding, undefined);
  const mixed = [result, { status: "no", finding: "scanner:timeout" }] satisfies ScanResult[];
  assert.deepEqual(mixed.filter(isClean), [result]);
});
