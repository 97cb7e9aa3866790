import { type Blob, piecesOf } from "../blob.ts";
import { emit, type Opener, type Tools, whole } from "../opener.ts";
import { findAll, marksIn } from "../signature-search.ts";
import { inflateLeniently } from "./pdf-inflate.ts";

/**
 * Embedded objects and macros in the stream `PowerPoint Document`, and vector pictures in `Pictures`, which are compressed
 * one by one; and the many small zips that PowerPoint keeps there for its newer versions. A stream comes as a content, without
 * its name.
 *
 * PowerPoint finds its records by a table of offsets and not one behind the other; so we look for compressed ones anywhere.
 */
export const powerPoint: Opener = {
  kind: "powerpoint",
  scattered: true,
  find(content) {
    if (isTiled(content)) return [{ start: 0, end: content.size, sure: true }];
    const isStream = isRecordStream(content.bytes(0, HEADER), content.size);
    return (isStream ? hasRecord(content, WITH_PICTURES) : hasObject(content))
      ? [{ start: 0, end: content.size, sure: false }]
      : [];
  },
  open(container, tools, place) {
    if (place?.sure) takeZips(container, tools);
    let isTooLarge = false;
    for (const record of recordsIn(container, WITH_PICTURES, (bytes) => tools.budget.addWork(bytes))) {
      if (!takeRecord(container, record, tools)) isTooLarge = true;
    }
    return isTooLarge ? { kind: "too-large" } : { kind: "opened", covered: whole(container) };
  },
};

interface FoundRecord {
  kind: "compressed" | "plain";
  /** Where the record begins, where its content does, and where it ends if its length is right. */
  at: number;
  start: number;
  end: number;
}

const HEADER = 8;
const WINDOW_BYTES = 256 * 1024;
const TYPE_OFFSET = 2;
/** How far behind the type of a picture its data may begin. */
const REACH = 128;

/** ExOleObjStg: objects and macro projects. */
const OBJECT = 0x1011;
const DOCUMENT = 0x3e8;
const EMF = 0xf01a;
const LAST_PICTURE = 0xf02a;
const PICT = 0xf01c;
const OBJECTS_ONLY: readonly number[] = [OBJECT];
const WITH_PICTURES: readonly number[] = [OBJECT, EMF, 0xf01b, PICT];

/** Whether a stream begins with a record of PowerPoint's or one of a picture's. */
function isRecordStream(head: Buffer, size: number): boolean {
  if (head.length < HEADER) return false;
  const type = head.readUInt16LE(2);
  return ((type >= 0x3e8 && type < 0x3000) || (type >= 0xf000 && type <= 0xf200)) && head.readUInt32LE(4) <= size;
}

/** False of a content that is asked about only for the objects in it, which begin with a mark. */
export function mayBeRecords(head: Buffer, size: number): boolean {
  return isRecordStream(head, size) || beginsTiles(head);
}

/** The document or a picture: other numbers begin other files too. */
function beginsTiles(head: Buffer): boolean {
  const first = head.length < HEADER ? 0 : head.readUInt16LE(2);
  return first === DOCUMENT || (first >= EMF && first <= LAST_PICTURE);
}

/** Whether records stand one behind the other from the first byte to the last; behind them there may be zeros. */
function isTiled(content: Blob): boolean {
  if (!beginsTiles(content.bytes(0, HEADER))) return false;
  let at = 0;
  while (at + HEADER <= content.size) {
    const header = content.bytes(at, HEADER);
    const next = at + HEADER + header.readUInt32LE(4);
    if (next > content.size || (header.readUInt32LE(0) === 0 && next === at + HEADER)) break;
    at = next;
  }
  return content.bytes(at, WINDOW_BYTES).every((byte) => byte === 0);
}

const ZIP = Buffer.from("PK\x03\x04", "latin1");
const CONTAINER = 0xf;
/** What the look at a record costs, where they stand every few bytes. */
const RECORD_WORK = 64;

/** The zips in records, wherever in the tree of records these stand. */
function takeZips(container: Blob, { sink, budget }: Tools): void {
  const limit = budget.limits.memberInMemoryBytes;
  /** Where the records around this one end. */
  const ends = [container.size];
  for (let at = 0; at + HEADER <= container.size; ) {
    while (ends.length > 1 && at >= (ends.at(-1) as number)) ends.pop();
    const header = container.bytes(at, HEADER);
    const start = at + HEADER;
    const end = Math.min(ends.at(-1) as number, start + header.readUInt32LE(4));
    budget.addWork(RECORD_WORK);
    at = start;
    if ((header.readUInt16LE(0) & 0xf) === CONTAINER && holdsRecords(container.slice(start, end))) {
      ends.push(end);
      continue;
    }
    for (const hit of findAll(container.slice(start, end), ZIP, budget)) {
      const zip = start + hit;
      emit(sink, { name: `record-${start - HEADER}`, content: container.bytes(zip, Math.min(limit, end - zip)) });
      break;
    }
    at = Math.max(start, end);
  }
}

function hasRecord(content: Blob, types: readonly number[]): boolean {
  return !recordsIn(content, types, () => {}).next().done;
}

/** Of an object the byte before its type is zero: these three bytes are searched for with all other marks. */
function hasObject(content: Blob): boolean {
  const marks = marksIn(content, "powerPointObject");
  if (marks.length > MARKS_AT_MOST) return hasRecord(content, OBJECTS_ONLY);
  return marks.some((mark) => {
    const at = mark + 1 - TYPE_OFFSET;
    const record = at < 0 ? undefined : recordAt(content.bytes(at, HEADER + REACH), 0);
    return record !== undefined && at + record.start < content.size;
  });
}

/** More are searched for again, in one pass. */
const MARKS_AT_MOST = 256;

/** Some records that hold no others are marked as if they did. */
function holdsRecords(content: Blob): boolean {
  const first = content.bytes(0, HEADER);
  return first.length === HEADER && !first.subarray(0, 4).equals(ZIP) && HEADER + first.readUInt32LE(4) <= content.size;
}

/** One pass for each type; a record's type stands two bytes behind its beginning. */
function* recordsIn(content: Blob, types: readonly number[], charge: (bytes: number) => void): Generator<FoundRecord> {
  const needles = types.map((type) => Buffer.of(type & 0xff, type >> 8));
  for (const { at: offset, bytes: window } of piecesOf(content, WINDOW_BYTES, REACH)) {
    const found: FoundRecord[] = [];
    for (const needle of needles) {
      charge(window.length);
      const next = (from: number): number => window.indexOf(needle, from);
      // The window is good until somebody else reads; what stands at its very end is the next one's.
      for (let hit = next(TYPE_OFFSET); hit >= 0 && hit < WINDOW_BYTES + TYPE_OFFSET; hit = next(hit + 1)) {
        const record = recordAt(window, hit - TYPE_OFFSET);
        if (!record || offset + record.start >= content.size) continue;
        found.push({ ...record, at: offset + record.at, start: offset + record.start, end: offset + record.end });
      }
    }
    yield* found;
  }
}

/** A record in a window of the stream, if one begins at this place. */
function recordAt(window: Buffer, at: number): FoundRecord | undefined {
  if (at < 0 || at + HEADER + 6 > window.length) return undefined;
  const instance = window.readUInt16LE(at) >> 4;
  const type = window.readUInt16LE(at + 2);
  const end = at + HEADER + window.readUInt32LE(at + 4);
  if (type === OBJECT) {
    // Four bytes say how long it is without compression.
    if (instance === 1 && isCompressed(window, at + HEADER + 4))
      return { kind: "compressed", at, start: at + HEADER + 4, end };
    if (instance === 0 && window.readUInt32BE(at + HEADER) === COMPOUND)
      return { kind: "plain", at, start: at + HEADER, end };
    return undefined;
  }
  // One or two identifiers of sixteen bytes, then sizes, and whether it is compressed.
  for (const header of [16 + 34, 32 + 34]) {
    const start = at + HEADER + header;
    if (window[start - 2] === 0 && isCompressed(window, start)) return { kind: "compressed", at, start, end };
  }
  return undefined;
}

const COMPOUND = 0xd0cf11e0;

/** The header of zlib, as every writer writes it. */
function isCompressed(window: Buffer, at: number): boolean {
  if (at + 2 > window.length) return false;
  return (window.readUInt8(at) & 0x0f) === 8 && window.readUInt16BE(at) % 31 === 0;
}

/** False if it does not fit in memory. */
function takeRecord(container: Blob, { kind, at, start, end }: FoundRecord, { sink, budget }: Tools): boolean {
  const limit = budget.limits.memberInMemoryBytes;
  const name = `object-${at}`;
  if (kind === "plain") {
    if (end - start > limit) return false;
    emit(sink, { name, content: container.bytes(start, end - start) });
    return true;
  }
  const likelyEnd = Math.min(container.size, Math.max(start, end));
  const result = inflateLeniently(container, { start, likelyEnd }, { limit, charge: (bytes) => budget.addWork(bytes) });
  if (result.bytes.length > 0) emit(sink, { name, content: result.bytes });
  return !result.tooLarge;
}
