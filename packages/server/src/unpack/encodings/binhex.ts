import { type Blob, piecesOf } from "../blob.ts";
import { emit, type Opener, type Tools } from "../opener.ts";

/**
 * BinHex 4.0: a Macintosh file in letters, as old mails and collections of fonts and programs have it. Six bits a letter
 * between two colons, runs of a byte marked by 0x90; what comes out is a header, the data, and the resources.
 */
export const binHex: Opener = {
  kind: "binhex",
  archive: true,
  find(content) {
    const starts = marksIn(content);
    return starts.map((start, index) => {
      const sure = start === 0 || FIRST_LINE.test(content.bytes(start, LEAD_BYTES).toString("latin1"));
      return { start, end: starts[index + 1] ?? content.size, sure };
    });
  },
  open(container, tools) {
    const lead = container
      .bytes(0, LEAD_BYTES)
      .toString("latin1")
      .search(/[\r\n]:/);
    if (lead < 0) return { kind: "unreadable" };
    const decoded = decode(container, lead + 2, tools);
    if (decoded === "too-large") return { kind: "too-large" };
    const covered = [{ start: 0, end: decoded.end }];
    return emitForks(decoded.bytes, tools) && decoded.closed ? { kind: "opened", covered } : { kind: "unreadable" };
  },
};

const MARK = Buffer.from("(This file must be converted with BinHex");
const LETTERS = "!\"#$%&'()*+,-012345689@ABCDEFGHIJKLMNPQRSTUVXYZ[`abcdefhijklmpqr";
/** A text about BinHex has the mark and no letters. */
const FIRST_LINE = /[\r\n]:[!-,\-0-9@A-Z[`a-r]{20}/;
/** From the mark to the first colon there is the rest of a line, and perhaps a note or two. */
const LEAD_BYTES = 1024;
const PIECE_BYTES = 1024 * 1024;
const SEARCHED_BYTES = 8 * 1024 * 1024;
const MARKS_AT_MOST = 32;

const RUN = 0x90;
const SKIPPED = 0xfe;
const UNKNOWN = 0xff;
const COLON = 0x3a;
const VALUES = new Uint8Array(256).fill(UNKNOWN);
for (const [value, letter] of [...LETTERS].entries()) VALUES[letter.charCodeAt(0)] = value;
for (const space of "\r\n\t ") VALUES[space.charCodeAt(0)] = SKIPPED;

function marksIn(content: Blob): number[] {
  const starts: number[] = [];
  const searched = content.slice(0, Math.min(content.size, SEARCHED_BYTES));
  for (const { at, bytes } of piecesOf(searched, PIECE_BYTES, MARK.length - 1)) {
    for (let hit = bytes.indexOf(MARK); hit >= 0 && hit < PIECE_BYTES; hit = bytes.indexOf(MARK, hit + 1)) {
      if (starts.length < MARKS_AT_MOST) starts.push(at + hit);
    }
  }
  return starts;
}

/** Up to the second colon; what is neither letter nor white space before it has no meaning, and ends it too. */
function decode(
  container: Blob,
  start: number,
  { budget }: Tools,
): { bytes: Buffer; end: number; closed: boolean } | "too-large" {
  const limit = budget.limits.memberInMemoryBytes;
  let [bytes, length] = [Buffer.alloc(Math.min(limit, Math.max(64, container.size - start))), 0];
  let [bits, held, last, inRun] = [0, 0, 0, false];

  /** False if there is no more room. */
  function put(byte: number, count: number): boolean {
    if (length + count > limit) return false;
    if (length + count > bytes.length) {
      const larger = Buffer.alloc(Math.min(limit, 2 * bytes.length + count));
      bytes.copy(larger, 0, 0, length);
      bytes = larger;
    }
    bytes.fill(byte, length, length + count);
    length += count;
    return true;
  }

  /** A run repeats the byte before it, which is there already; one of length nothing is the mark itself. */
  function take(byte: number): boolean {
    if (inRun) {
      inRun = false;
      if (byte > 0) return put(last, byte - 1);
      last = RUN;
      return put(RUN, 1);
    }
    if (byte === RUN) {
      inRun = true;
      return true;
    }
    last = byte;
    return put(byte, 1);
  }

  for (const piece of piecesOf(container.slice(start, container.size), PIECE_BYTES)) {
    budget.addWork(piece.bytes.length);
    for (let index = 0; index < piece.bytes.length; index += 1) {
      const value = VALUES[piece.bytes[index] as number] as number;
      if (value === SKIPPED) continue;
      if (value === UNKNOWN) {
        const closed = piece.bytes[index] === COLON;
        return { bytes: bytes.subarray(0, length), end: start + piece.at + index + (closed ? 1 : 0), closed };
      }
      held = ((held << 6) | value) & 0xffff;
      bits += 6;
      if (bits < 8) continue;
      bits -= 8;
      if (!take((held >> bits) & 0xff)) return "too-large";
    }
  }
  return { bytes: bytes.subarray(0, length), end: container.size, closed: false };
}

/** Whether both forks are there as the header says. What is behind them comes out as well. */
function emitForks(bytes: Buffer, { sink }: Tools): boolean {
  const nameLength = bytes[0] ?? 0;
  const sizesAt = nameLength + SIZES_FROM_NAME;
  if (bytes.length < sizesAt + 10) {
    emit(sink, { name: "binhex", content: bytes });
    return false;
  }
  const name = bytes.toString("latin1", 1, 1 + nameLength);
  const dataAt = sizesAt + 8 + CRC_BYTES;
  const dataEnd = dataAt + bytes.readUInt32BE(sizesAt);
  const resourcesEnd = dataEnd + CRC_BYTES + bytes.readUInt32BE(sizesAt + 4);
  emit(sink, { name, content: bytes.subarray(dataAt, dataEnd) });
  emit(sink, { name: `${name}/resources`, content: bytes.subarray(dataEnd + CRC_BYTES, resourcesEnd) });
  emit(sink, { name: `${name}/rest`, content: bytes.subarray(resourcesEnd + CRC_BYTES) });
  // Some writers leave the last sum out.
  return resourcesEnd <= bytes.length;
}

/** The length of the name, a zero, type and creator, flags. */
const SIZES_FROM_NAME = 12;
const CRC_BYTES = 2;
