import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readReply } from "./reply.ts";

const verdicts: [reply: string, verdict: object][] = [
  ["1: stream: OK", { kind: "clean" }],
  ["1: stream: Eicar-Test-Signature FOUND", { kind: "infected", finding: "Eicar-Test-Signature" }],
  ["1: stream: Lazaret.Test.UNOFFICIAL FOUND", { kind: "infected", finding: "Lazaret.Test" }],
  ["1: stream: A name with spaces FOUND", { kind: "infected", finding: "A name with spaces" }],
  ["1: stream: Heuristics.Encrypted.Zip FOUND", { kind: "unscannable", finding: "Heuristics.Encrypted.Zip" }],
  [
    "1: stream: Heuristics.Limits.Exceeded.MaxScanSize FOUND",
    { kind: "unscannable", finding: "Heuristics.Limits.Exceeded.MaxScanSize" },
  ],
  ["INSTREAM size limit exceeded. ERROR", { kind: "unscannable", finding: "scanner:limits-exceeded" }],
  ["1: INSTREAM size limit exceeded. ERROR", { kind: "unscannable", finding: "scanner:limits-exceeded" }],
];

for (const [reply, verdict] of verdicts) {
  test(`clamd's "${reply}" is ${JSON.stringify(verdict)}`, () => {
    assert.deepEqual(readReply(reply, 1), { kind: "verdict", verdict });
  });
}

const failures = [
  "",
  "OK",
  "stream: OK",
  "2: stream: OK",
  "1: stream: OK ",
  "1: stream: ok",
  "1: stream:  FOUND",
  "1: stream: FOUND",
  "1: stream: Can't write to file ERROR",
  "Error writing to temporary file ERROR",
  "COMMAND READ TIMED OUT",
  "1: stream: OK\nstream: OK",
  "1: UNKNOWN COMMAND",
];

for (const reply of failures) {
  test(`clamd's "${reply}" is no verdict`, () => {
    assert.equal(readReply(reply, 1).kind, "failure");
  });
}

test("nothing but the exact reply is ever read as clean", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.string().map((rest) => `1: stream: ${rest}`),
      ),
      fc.nat(5),
      (text, number) => {
        const reply = readReply(text, number);
        const clean = reply.kind === "verdict" && reply.verdict.kind === "clean";
        assert.equal(clean, text === `${number}: stream: OK`);
      },
    ),
  );
});
