import type { Blob, Range } from "../blob.ts";
import { byteAt, bytePattern } from "../byte-pattern.ts";
import { emit, emitStored, type Opener, type Outcome, type Tools } from "../opener.ts";
import { headOf, openWithin, placesWithin } from "../signature-search.ts";
import { LZH_DECODERS } from "./lzh-decoders.ts";

/** LHA and LHarc: members one behind the other, each with a header of one of four kinds. 7-Zip knows neither all kinds nor all methods. */
export const lzh: Opener = {
  kind: "lzh",
  archive: true,
  knownBy: [byteAt(2, "'-'")],
  find: (content) => (isLzh(headOf(content)) ? [{ start: 0, end: content.size, sure: true }] : []),
  open,
};

/** The same behind something else: programs that unpack themselves, and what `lha` passes over. */
export const embeddedLzh: Opener = {
  kind: "lzh",
  archive: true,
  find: (content) =>
    placesWithin(content, "lzh", (position) => {
      const header = isLzh(content.bytes(position - 2, 8)) && headerAt(content, position - 2);
      if (!header || header.start + header.packedBytes > content.size) return undefined;
      return isSummed(content.bytes(position - 2, HEADER_BYTES)) ? position - 2 : undefined;
    }),
  open: openWithin(open),
};

function open(container: Blob, tools: Tools): Outcome {
  const covered: Range[] = [];
  let outcome: Outcome = { kind: "opened", covered };
  let at = 0;
  while (at < container.size) {
    const header = headerAt(container, at);
    if (!header) break;
    tools.budget.addWork(HEADER_WORK);
    const problem = takeMember(container, header, tools);
    if (problem && outcome.kind === "opened") outcome = problem;
    const end = header.start + header.packedBytes;
    covered.push({ start: at, end: Math.min(end, container.size) });
    at = end;
  }
  // A zero ends it.
  if (at < container.size && container.bytes(at, 1)[0] === 0) covered.push({ start: at, end: at + 1 });
  return covered.length === 0 ? { kind: "unreadable" } : outcome;
}

/** The older headers have a sum of their bytes; the newer ones say how long they are, and that is not long. */
function isSummed(head: Buffer): boolean {
  const level = head[20] ?? 0;
  if (level === 2) return head.readUInt16LE(0) >= 26 && head.readUInt16LE(0) < 4096;
  if (level === 3) return head.readUInt16LE(0) === 4;
  const fields = head.subarray(2, 2 + (head[0] ?? 0));
  return fields.length >= 20 && fields.reduce((sum, byte) => (sum + byte) & 0xff, 0) === head[1];
}

const METHODS = ["'-lh' 30-39 '-'", "'-lhx-'", "'-lhd-'", "'-lz' 30-39 '-'", "'-lzs-'"].map(bytePattern);
const isLzh = (head: Buffer): boolean => METHODS.some((fits) => fits(head, 2));
const HEADER_WORK = 256;
const STORED = ["lh0", "lz4"];

interface Header {
  method: string;
  name: string;
  /** Where the packed bytes begin. */
  start: number;
  packedBytes: number;
  bytes: number;
  /** The oldest programs wrote none. */
  crc: number | undefined;
}

function takeMember(container: Blob, header: Header, { sink, budget }: Tools): Outcome | undefined {
  const { method, name, start, packedBytes, bytes, crc } = header;
  if (STORED.includes(method)) {
    // Programs go by the one size or by the other.
    for (const size of new Set([packedBytes, bytes]))
      emitStored(sink, { name, content: container.slice(start, Math.min(start + size, container.size)) });
    return start + packedBytes > container.size ? { kind: "unreadable" } : undefined;
  }
  const most = budget.limits.memberInMemoryBytes;
  if (packedBytes > most || bytes > most) return { kind: "too-large" };
  const unpacked = LZH_DECODERS[method]?.(container.bytes(start, packedBytes), bytes);
  if (!unpacked) return { kind: "unreadable" };
  budget.addWork(packedBytes + unpacked.content.length);
  if (unpacked.content.length > 0) emit(sink, { name, content: unpacked.content });
  const isRight = bytes === 0 || crc === undefined || crc16(unpacked.content) === crc;
  return unpacked.isWhole && isRight ? undefined : { kind: "unreadable" };
}

/** The oldest kind and the next differ from the newer ones in where the name and the size of the header are. */
function headerAt(container: Blob, at: number): Header | undefined {
  const head = container.bytes(at, HEADER_BYTES);
  if (head.length < 22 || !METHOD.test(head.toString("latin1", 2, 7))) return undefined;
  const shared = {
    method: head.toString("latin1", 3, 6),
    packedBytes: head.readUInt32LE(7),
    bytes: head.readUInt32LE(11),
  };
  const level = head.readUInt8(20);
  if (level > 3) return undefined;
  if (level < 2) {
    const base = at + 2 + head.readUInt8(0);
    const nameEnd = 22 + head.readUInt8(21);
    const hasCrc = nameEnd + 2 <= Math.min(head.length, 2 + head.readUInt8(0));
    const crc = hasCrc ? head.readUInt16LE(nameEnd) : undefined;
    const name = head.toString("latin1", 22, nameEnd);
    if (level === 0) return { ...shared, name, start: base, crc };
    // Further headers count as packed bytes.
    const further = furtherHeaders(container, { start: base - 2, end: container.size }, 2);
    const packedBytes = Math.max(0, shared.packedBytes - (further.end - base));
    return { ...shared, name: further.name || name, start: further.end, packedBytes, crc };
  }
  const stated = at + (level === 2 ? head.readUInt16LE(0) : head.length < 32 ? 32 : head.readUInt32LE(24));
  if (stated <= at) return undefined;
  const { name, end } = furtherHeaders(
    container,
    { start: at + (level === 2 ? 24 : 28), end: stated },
    level === 2 ? 2 : 4,
  );
  // Some programs forgot two bytes.
  const start = end - stated === 2 ? end : stated;
  return { ...shared, name, start, crc: head.length < 23 ? undefined : head.readUInt16LE(21) };
}

const METHOD = /^-l[hz].-$/;
const HEADER_BYTES = 300;
const NAME_HEADER = 1;

/** Each ends with the size of the next. None begins behind `end`; the last size may stand there. */
function furtherHeaders(container: Blob, { start, end }: Range, sizeBytes: 2 | 4): { name: string; end: number } {
  let [name, next] = ["", start];
  while (next <= end) {
    const bytes = container.bytes(next, sizeBytes);
    const size = bytes.length < sizeBytes ? 0 : bytes.readUIntLE(0, sizeBytes);
    next += sizeBytes;
    if (size <= sizeBytes || next + size - sizeBytes > container.size) break;
    const header = container.bytes(next, Math.min(size - sizeBytes, HEADER_BYTES));
    if (header[0] === NAME_HEADER) name = header.toString("latin1", 1);
    next += size - sizeBytes;
  }
  return { name, end: next };
}

const CRC_TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >> 1) ^ 0xa001 : crc >> 1;
  return crc;
});

function crc16(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) crc = (crc >> 8) ^ (CRC_TABLE[(crc ^ byte) & 0xff] as number);
  return crc;
}
