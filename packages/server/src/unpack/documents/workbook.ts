import type { Blob } from "../blob.ts";
import { byteAt } from "../byte-pattern.ts";
import { emit, type Opener, type Outcome, type Tools, whole } from "../opener.ts";
import { type RecordCipher, workbookCipher } from "./office-crypto.ts";

/**
 * A workbook of Excel before 2007 (BIFF): the stream `Workbook` or `Book` of a compound file, or a file by itself. Records, one
 * behind the other; one that is too long goes on in others. Such a one comes out in one piece, and one with an archive in it.
 */
export const workbook: Opener = {
  kind: "workbook",
  scattered: true,
  knownBy: [byteAt(0, "09")],
  find(content) {
    if (!isWorkbook(content.bytes(0, 8))) return [];
    let end = 0;
    for (const { position, data } of recordsOf(content)) end = position + data.length;
    // Behind the last record there may be zeros. Something else is something else.
    const sure = content.bytes(end, WINDOW_BYTES).every((byte) => byte === 0);
    return [{ start: 0, end: content.size, sure }];
  },
  open,
};

const FILE_PASS = 0x2f;
const BOUND_SHEET = 0x85;
/** What opens a stream or part of it, and what must be known before anything is decrypted: these are never encrypted. */
const NEVER_ENCRYPTED: readonly number[] = [0x09, 0x209, 0x409, 0x809, FILE_PASS, 0xe1, 0x194, 0x195, 0x196, 0x138];
/** Records that go on with the one before, and how long their own header is. */
const CONTINUED = new Map([
  [0x3c, 0],
  [0x43c, 0],
  [0x812, 4],
  [0x875, 4],
  [0x87f, 12],
]);
const RECORD_HEADER = 4;
const WINDOW_BYTES = 256 * 1024;

const ZIP = Buffer.from("PK\x03\x04", "latin1");

/** The first record says which version it is and what follows: a workbook, a sheet, a chart, macros. */
export function isWorkbook(head: Buffer): boolean {
  // Every file is asked about, and this byte rules out nearly all of them.
  if (head.length < 8 || head[0] !== 0x09) return false;
  const [type, length, part] = [0, 2, 6].map((at) => head.readUInt16LE(at)) as [number, number, number];
  const isFirst = [0x09, 0x209, 0x409, 0x809].includes(type) && length >= 4 && length <= 16;
  return isFirst && [0x05, 0x06, 0x10, 0x20, 0x40, 0x100].includes(part);
}

interface BiffRecord {
  type: number;
  /** Where its data stands in the stream. */
  position: number;
  data: Buffer;
}

/** As far as they follow each other. Empty ones of type 0 stand in between too: some programs write them, readers pass over them. */
function* recordsOf(content: Blob, start = 0): Generator<BiffRecord> {
  let window: Buffer = Buffer.alloc(0);
  let base = start;
  for (let at = start; at + RECORD_HEADER <= content.size; ) {
    const room = RECORD_HEADER + 0xffff;
    if (at - base + room > window.length && base + window.length < content.size) {
      window = content.bytes(at, WINDOW_BYTES);
      base = at;
    }
    const [type, length] = [window.readUInt16LE(at - base), window.readUInt16LE(at - base + 2)];
    const position = at + RECORD_HEADER;
    if (position + length > content.size) return;
    yield { type, position, data: window.subarray(position - base, position - base + length) };
    at = position + length;
  }
}

/** Where nothing but sheets should be missed there is room for a few. */
const STARTS_AT_MOST = 16;

function open(container: Blob, tools: Tools): Outcome {
  const { filePass, starts } = survey(container, tools);
  if (starts.length > STARTS_AT_MOST) return { kind: "too-large" };
  const cipher = filePass && workbookCipher(filePass);
  if (filePass && !cipher) return { kind: "encrypted" };
  for (const start of starts) {
    if (cipher) decrypt(container, { cipher, start }, tools);
    else if (!joinRecords(container, start, tools)) return { kind: "too-large" };
  }
  return { kind: "opened", covered: whole(container), ...(cipher && { decrypted: true }) };
}

/** What it is encrypted by, and where its records begin: readers find a sheet by where the workbook says it is. */
function survey(container: Blob, { budget }: Tools): { filePass: Buffer | undefined; starts: number[] } {
  const sheets = new Set<number>();
  let filePass: Buffer | undefined;
  for (const { type, position, data } of recordsOf(container)) {
    budget.addWork(RECORD_HEADER);
    sheets.delete(position - RECORD_HEADER);
    if (type === FILE_PASS) filePass ??= Buffer.from(data);
    if (type === BOUND_SHEET && data.length >= 4) sheets.add(data.readUInt32LE(0));
  }
  return { filePass, starts: [0, ...[...sheets].filter((start) => isWorkbook(container.bytes(start, 8)))] };
}

/** False if one is too large. */
function joinRecords(container: Blob, start: number, tools: Tools): boolean {
  const { budget } = tools;
  const limit = budget.limits.memberInMemoryBytes;
  let parts: Buffer[] = [];
  let [joined, first] = [0, 0];
  const finish = (): void => {
    const [content = Buffer.alloc(0)] = parts.length > 1 ? [Buffer.concat(parts)] : parts;
    if (parts.length > 1 || content.includes(ZIP)) emit(tools.sink, { name: `record-${first}`, content });
    parts = [];
    joined = 0;
  };
  for (const { type, position, data } of recordsOf(container, start)) {
    budget.addWork(RECORD_HEADER + data.length);
    const skipped = CONTINUED.get(type);
    if (skipped === undefined) {
      finish();
      first = position - RECORD_HEADER;
    }
    joined += data.length;
    if (joined > limit) return false;
    parts.push(data.subarray(skipped ?? 0));
  }
  finish();
  return true;
}

/** All of the stream from there on as it is without a password; it is a workbook again. */
function decrypt(
  container: Blob,
  { cipher, start }: { cipher: RecordCipher; start: number },
  { sink, budget }: Tools,
): void {
  sink.begin("decrypted");
  let end = start;
  for (const { type, position, data } of recordsOf(container, start)) {
    budget.addWork(data.length * DECRYPTING);
    const header = Buffer.alloc(RECORD_HEADER);
    // Without its number, the record that speaks of encryption means nothing to anybody.
    header.writeUInt16LE(type === FILE_PASS ? 0xffff : type, 0);
    header.writeUInt16LE(data.length, 2);
    sink.write(header);
    // Where a sheet begins stands in the open.
    const open = NEVER_ENCRYPTED.includes(type) ? data.length : type === BOUND_SHEET ? Math.min(4, data.length) : 0;
    sink.write(data.subarray(0, open));
    if (open < data.length) sink.write(cipher(data, position).subarray(open));
    end = position + data.length;
  }
  for (let at = end; at < container.size; at += WINDOW_BYTES) sink.write(container.bytes(at, WINDOW_BYTES));
  sink.end();
}

/** Decrypting a byte takes longer than passing over it. */
const DECRYPTING = 8;
