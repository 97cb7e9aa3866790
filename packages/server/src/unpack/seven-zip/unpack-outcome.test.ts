import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryBlob } from "../blob.ts";
import { LINES_AT_MOST, type UnpackerReport, type UnpackOutcome, unpackOutcome } from "./unpack-outcome.ts";

function outcomeOf(report: Partial<UnpackerReport>): UnpackOutcome {
  const archive = memoryBlob(Buffer.alloc(1000));
  return unpackOutcome({ result: 0, memoryRefused: false, output: [], errors: [], archive, type: "zip", ...report });
}

const fine = { kind: "unpacked", tailBytes: 0, dataAfterEnd: false };
const after = "ERROR: There are some data after the end of the payload data : archive~";
const unreadable = { kind: "unreadable" };
const link = "ERROR: Dangerous link path was ignored : a : ../b";

const cases: [name: string, report: Partial<UnpackerReport>, outcome: object][] = [
  ["everything is in order", {}, fine],
  ["there were warnings", { result: 1 }, fine],
  ["links could not be made", { result: 2, errors: ["", link, ""] }, fine],
  ["something else failed beside a link", { result: 2, errors: [link, "ERROR: CRC Failed : a"] }, unreadable],
  ["it failed and did not say why", { result: 2 }, unreadable],
  [
    "it is no such archive",
    { result: 2, errors: ["ERROR: /in/archive", "Cannot open the file as archive"] },
    unreadable,
  ],
  ["a member is damaged", { result: 2, errors: ["ERROR: Data Error : a"] }, unreadable],
  ["an error is reported although it went well", { result: 0, errors: ["ERROR: Data Error : a"] }, unreadable],
  ["a method is unknown", { result: 2, errors: ["ERROR: Unsupported Method : a"] }, unreadable],
  ["a member is encrypted", { result: 2, errors: ["ERROR: Wrong password : a"] }, { kind: "encrypted" }],
  [
    "a 7z is encrypted",
    { result: 2, errors: ["ERROR: Data Error in encrypted file. Wrong password? : a"] },
    { kind: "encrypted" },
  ],
  ["memory ran out", { result: 8 }, { kind: "too-large" }],
  ["memory was refused", { result: undefined, memoryRefused: true }, { kind: "too-large" }],
  ["it stopped dead", { result: undefined }, unreadable],
  ["the command line was wrong", { result: 7 }, unreadable],
  ["it had too much to say", { output: Array(LINES_AT_MOST).fill("") }, unreadable],
  ["something stands behind it", { output: ["Type = zip", "Tail Size = 9"] }, { ...fine, tailBytes: 9 }],
  ["its comment says so", { output: ["Comment = x", "Tail Size = 9"] }, fine],
  ["it claims more behind it than there is", { output: ["Tail Size = 99999"] }, { ...fine, tailBytes: 1000 }],
  ["something stands behind it, nobody knows where", { result: 2, errors: [after] }, { ...fine, dataAfterEnd: true }],
  [
    "something stands behind it, and it is damaged",
    { result: 2, errors: [after, "ERROR: CRC Failed : a"] },
    unreadable,
  ],
];

for (const [name, report, outcome] of cases) test(name, () => assert.deepEqual(outcomeOf(report), outcome));
