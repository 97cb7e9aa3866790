import { type Blob, piecesOf } from "../blob.ts";
import { emit, type Opener, type Tools, whole } from "../opener.ts";
import { inflateLeniently } from "./pdf-inflate.ts";

/**
 * Embedded objects and macros in the stream `PowerPoint Document`, and vector pictures in `Pictures`, which are compressed
 * one by one. 7-Zip takes the compound file apart, so that a stream comes as a content without its name.
 *
 * PowerPoint finds its records by a table of offsets and not one behind the other; so we look for them anywhere.
 */
export const powerPoint: Opener = {
  kind: "powerpoint",
  find(content) {
    const types = isRecordStream(content) ? WITH_PICTURES : OBJECTS_ONLY;
    const { done } = recordsIn(content, types, () => {}).next();
    return done ? [] : [{ start: 0, end: content.size, sure: false }];
  },
  open(container, tools) {
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
const EMF = 0xf01a;
const PICT = 0xf01c;
const OBJECTS_ONLY: readonly number[] = [OBJECT];
const WITH_PICTURES: readonly number[] = [OBJECT, EMF, 0xf01b, PICT];

/** Whether a stream begins with a record of PowerPoint's or one of a picture's. */
function isRecordStream(content: Blob): boolean {
  const head = content.bytes(0, HEADER);
  if (head.length < HEADER) return false;
  const type = head.readUInt16LE(2);
  return (
    ((type >= 0x3e8 && type < 0x3000) || (type >= 0xf000 && type <= 0xf200)) && head.readUInt32LE(4) <= content.size
  );
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
