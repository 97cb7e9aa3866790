import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { packedBy7z } from "../../../test/fixtures/archives.ts";
import { memoryBlob } from "../blob.ts";
import type { MemberSink } from "../opener.ts";
import { sevenZipProgram, unpack } from "./seven-zip.ts";

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
