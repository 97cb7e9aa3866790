import assert from "node:assert/strict";
import { memoryBlob } from "../../src/unpack/blob.ts";
import { type Budget, type UnpackLimits, unpackBudget } from "../../src/unpack/budget.ts";
import { pdf } from "../../src/unpack/documents/pdf.ts";
import type { MemberSink, Outcome, Tools } from "../../src/unpack/opener.ts";

const LIMITS: UnpackLimits = {
  layers: 17,
  members: 1000,
  membersFrom: 1000,
  bytesPerMember: 1,
  unpackedBytes: 1e9,
  ratio: 1e9,
  ratioFromBytes: 1e9,
  workRatio: 40,
  workFromBytes: 1e7,
  unpackerStarts: 48,
  bytesPerUnpackerStart: 4096,
  unpackerBytes: 1e9,
  memberInMemoryBytes: 4_000_000,
  milliseconds: 1e9,
};

interface OpenedPdf {
  members: { name: string; way: string | undefined; content: Buffer }[];
  outcome: Outcome;
  work: number;
}

/** Opens a PDF as the walk does, and keeps what comes out. */
export function openPdf(file: Uint8Array): OpenedPdf {
  const members: OpenedPdf["members"] = [];
  let work = 0;
  const counted = unpackBudget(LIMITS, file.length, () => false);
  const budget: Budget = {
    ...counted,
    addWork(count) {
      work += count;
      counted.addWork(count);
    },
  };
  let current = { name: "", way: undefined as string | undefined, pieces: [] as Buffer[] };
  const sink: MemberSink = {
    folder() {},
    begin(name, way) {
      budget.addMember();
      current = { name, way, pieces: [] };
    },
    write(bytes) {
      budget.addBytes(bytes.length);
      current.pieces.push(Buffer.from(bytes));
    },
    end: () => void members.push({ name: current.name, way: current.way, content: Buffer.concat(current.pieces) }),
  };
  const content = memoryBlob(file);
  assert.deepEqual(pdf.find(content), [{ start: 0, end: file.length, sure: true }]);
  const outcome = pdf.open(content, { sink, budget } as Tools) as Outcome;
  return { members, outcome, work };
}
