import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { packedBy7z } from "../../test/fixtures/archives.ts";
import { memoryBlob } from "./blob.ts";
import type { MemberSink } from "./opener.ts";
import {
  LINES_AT_MOST,
  sevenZipProgram,
  type UnpackerReport,
  type UnpackOutcome,
  unpack,
  unpackOutcome,
} from "./seven-zip.ts";

const program = sevenZipProgram();
const options = { program, memoryBytes: 64 * 1024 * 1024 };

function collector(): MemberSink & { members: { name: string; content: string }[] } {
  const members: { name: string; content: string }[] = [];
  let written: Buffer[] = [];
  return {
    members,
    folder() {},
    begin(name) {
      written = [];
      members.push({ name, content: "" });
    },
    write: (bytes) => void written.push(Buffer.from(bytes)),
    end() {
      const last = members.at(-1);
      if (last) last.content = Buffer.concat(written).toString();
    },
  };
}

test("members come out with their names and content", async () => {
  const sink = collector();
  const archive = memoryBlob(packedBy7z(Buffer.from("hello"), "7z"));
  assert.deepEqual(await unpack(archive, sink, { ...options, type: "7z" }), {
    kind: "unpacked",
    tailBytes: 0,
    dataAfterEnd: false,
  });
  assert.deepEqual(sink.members, [{ name: "sample.txt", content: "hello" }]);
});

test("what the sink throws ends the unpacking and comes through", async () => {
  const sink = { ...collector(), write: () => assert.fail("enough") };
  const bomb = memoryBlob(gzipSync(Buffer.alloc(50 * 1024 * 1024)));
  await assert.rejects(unpack(bomb, sink, { ...options, type: "gzip" }), /enough/);
});

test("a file that is no such archive is unreadable, and the next one is not affected", async () => {
  const sink = collector();
  assert.deepEqual(await unpack(memoryBlob(Buffer.from("hello")), sink, { ...options, type: "7z" }), {
    kind: "unreadable",
  });
  const { kind } = await unpack(memoryBlob(gzipSync("hello")), sink, { ...options, type: "gzip" });
  assert.deepEqual([kind, sink.members.at(-1)?.content], ["unpacked", "hello"]);
});

test("the unpacker changes neither the exit code nor the listeners of the process", async () => {
  const before = [process.exitCode, process.eventNames().length];
  await unpack(memoryBlob(Buffer.from("7z\xbc\xaf\x27\x1c broken", "latin1")), collector(), { ...options, type: "7z" });
  assert.deepEqual([process.exitCode, process.eventNames().length], before);
});

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
  ["it begins further back", { output: ["Type = Cpio", "Offset = 580"] }, { kind: "unreadable" }],
  ["its comment says that it begins further back", { output: ["Comment = a", "Offset = 580"] }, fine],
  ["it claims more behind it than there is", { output: ["Tail Size = 99999"] }, { ...fine, tailBytes: 1000 }],
  ["something stands behind it, nobody knows where", { result: 2, errors: [after] }, { ...fine, dataAfterEnd: true }],
  [
    "something stands behind it, and it is damaged",
    { result: 2, errors: [after, "ERROR: CRC Failed : a"] },
    unreadable,
  ],
];

for (const [name, report, outcome] of cases) test(name, () => assert.deepEqual(outcomeOf(report), outcome));
