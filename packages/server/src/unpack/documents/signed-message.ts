import type { Blob, Range } from "../blob.ts";
import type { Budget } from "../budget.ts";
import { byteAt } from "../byte-pattern.ts";
import { copyRange, type MemberWriter, memberWriter, type Text, textOf } from "../encodings/text.ts";
import { inflateRaw } from "../inflate.ts";
import { emit, type MemberSink, type Opener, type Outcome, type Tools } from "../opener.ts";
import { headOf } from "../signature-search.ts";

/**
 * CMS, also called PKCS #7: what signed mails (`smime.p7m`) and signed documents (`.p7m`, `.tsd`) are. The content stands in it
 * in one piece or in many, as DER or as BER without lengths. What is behind the content, certificates and signatures, is left over.
 */
export const signedMessage: Opener = {
  kind: "cms",
  archive: true,
  knownBy: [byteAt(0, "30")],
  find(content) {
    const head = headOf(content);
    // Nearly all contents are none: no more than a look at two bytes for these.
    if (head[0] !== SEQUENCE || !head.subarray(2, OBJECT_BY).includes(OBJECT)) return [];
    const message = messageIn(textOf(content.slice(0, HEAD_BYTES)));
    return message ? [{ start: 0, end: content.size, sure: true }] : [];
  },
  open(container, tools) {
    const text = textOf(container, tools.budget);
    const message = messageIn(text);
    if (!message) return { kind: "unreadable" };
    if (message.holds === "encrypted") return { kind: "encrypted" };
    const octets = message.holds === "data" ? message.inner : contentIn(text, message.inner);
    if (octets === "damaged") return { kind: "unreadable" };
    // Signatures alone: what they are for is somewhere else.
    if (octets === undefined || octets.tag === SEQUENCE) {
      return { kind: "opened", covered: [{ start: 0, end: (octets ?? message.inner).start }] };
    }
    return message.holds === "packed" ? unpacked(container, octets, tools) : taken(container, octets, tools);
  },
};

const INTEGER = 0x02;
const OCTETS = 0x04;
const OBJECT = 0x06;
const SEQUENCE = 0x30;
const CONSTRUCTED = 0x20;
const EXPLICIT = 0xa0;
/** The first length has at most so many bytes. */
const OBJECT_BY = 20;
/** All that stands in front of the message proper. */
const HEAD_BYTES = 128;
/** Nobody needs more, and lengths may begin with zeros. */
const LENGTH_BYTES = 16;
/** Other programs stop at five, or where their stack ends. */
const NESTED_AT_MOST = 1000;

type Holds = "data" | "content" | "packed" | "encrypted";

/** 1.2.840.113549.1.7, 1.2.840.113549.1.9.16.1, and the Chinese ones, 1.2.156.10197.6.1.4.2. */
const PKCS7 = "2a864886f70d0107";
const SMIME = "2a864886f70d01091001";
const SM2 = "2a811ccf5506010402";
const TYPES: Readonly<Record<string, Holds>> = {
  [`${PKCS7}01`]: "data",
  [`${PKCS7}02`]: "content",
  [`${PKCS7}03`]: "encrypted",
  [`${PKCS7}04`]: "encrypted",
  [`${PKCS7}05`]: "content",
  [`${PKCS7}06`]: "encrypted",
  [`${SMIME}02`]: "content",
  [`${SMIME}09`]: "packed",
  [`${SMIME}17`]: "encrypted",
  [`${SMIME}1f`]: "content",
  [`${SM2}01`]: "data",
  [`${SM2}02`]: "content",
  [`${SM2}03`]: "encrypted",
  [`${SM2}04`]: "encrypted",
  [`${SM2}05`]: "encrypted",
};

/** A value of ASN.1: where what is in it begins, and where it ends, unless only a mark at its end says so. */
interface Value {
  tag: number;
  start: number;
  end: number | undefined;
}

function valueAt(text: Text, at: number): Value | undefined {
  const tag = text.byte(at);
  const first = text.byte(at + 1);
  // Tags of several bytes stand nowhere in front of a content.
  if (tag < 0 || first < 0 || (tag & 0x1f) === 0x1f) return undefined;
  if (first === 0x80) return (tag & CONSTRUCTED) === 0 ? undefined : { tag, start: at + 2, end: undefined };
  const start = at + 2 + (first > 0x80 ? first & 0x7f : 0);
  if (start - at - 2 > LENGTH_BYTES || start > text.size) return undefined;
  let length = first > 0x80 ? 0 : first;
  for (let position = at + 2; position < start; position += 1) length = length * 256 + text.byte(position);
  return length > Number.MAX_SAFE_INTEGER - start ? undefined : { tag, start, end: start + length };
}

const isEndMark = (text: Text, at: number): boolean => text.byte(at) === 0 && text.byte(at + 1) === 0;

/** The position behind a value. */
function behind(text: Text, value: Value): number | undefined {
  if (value.end !== undefined) return value.end;
  let at = value.start;
  for (let open = 1; open > 0; ) {
    if (isEndMark(text, at)) {
      at += 2;
      open -= 1;
      continue;
    }
    const inner = valueAt(text, at);
    if (!inner) return undefined;
    if (inner.end === undefined) open += 1;
    at = inner.end ?? inner.start;
  }
  return at;
}

function messageIn(text: Text): { holds: Holds; inner: Value } | undefined {
  const info = valueAt(text, 0);
  const type = info?.tag === SEQUENCE ? valueAt(text, info.start) : undefined;
  if (!info || type?.tag !== OBJECT || type.end === undefined || type.end - type.start > LENGTH_BYTES) return undefined;
  const holds = TYPES[Buffer.from(text.string(type.start, type.end), "latin1").toString("hex")];
  const explicit = valueAt(text, type.end);
  const inner = explicit?.tag === EXPLICIT ? valueAt(text, explicit.start) : undefined;
  if (!holds || !inner) return undefined;
  const fits = holds === "data" ? isOctets(inner) : inner.tag === SEQUENCE && text.byte(inner.start) === INTEGER;
  return fits ? { holds, inner } : undefined;
}

const isOctets = ({ tag }: Value): boolean => (tag & ~CONSTRUCTED) === OCTETS;

/**
 * Among the version, the algorithms and the like, the first that is an object number with something explicit behind it; or
 * octets by themselves, as in documents with a time stamp.
 */
function contentIn(text: Text, message: Value): Value | "damaged" | undefined {
  const end = message.end ?? text.size;
  let at: number | undefined = message.start;
  while (at < end && !(message.end === undefined && isEndMark(text, at))) {
    const value: Value | undefined = valueAt(text, at);
    if (!value) return "damaged";
    if (isOctets(value)) return value;
    const type = value.tag === SEQUENCE ? valueAt(text, value.start) : undefined;
    if (type?.tag === OBJECT && type.end !== undefined && (value.end === undefined || type.end < value.end)) {
      const explicit = valueAt(text, type.end);
      if (explicit?.tag === EXPLICIT) return valueAt(text, explicit.start) ?? "damaged";
    }
    at = behind(text, value);
    if (at === undefined) return "damaged";
  }
  return at > text.size ? "damaged" : undefined;
}

function taken(container: Blob, octets: Value, { sink, budget }: Tools): Outcome {
  const text = textOf(container, budget);
  const writer = memberWriter(sink);
  writer.begin("content");
  const end = writeOctets(text, octets, (piece) => writePiece(piece, { container, text, writer, budget }));
  writer.end();
  return end === undefined ? { kind: "unreadable" } : { kind: "opened", covered: [{ start: 0, end }] };
}

interface Copying {
  container: Blob;
  text: Text;
  writer: MemberWriter;
  budget: Budget;
}

/** A content may be in pieces of one byte each: short ones are put together before they are handed on. */
export function writePiece({ start, end }: Range, { container, text, writer, budget }: Copying): void {
  budget.addWork(end - start + PIECE_WORK);
  if (end - start > SHORT_BYTES) copyRange(container, { start, end }, writer.bytes);
  else for (let at = start; at < end; at += 1) writer.byte(text.byte(at));
}

/** What a piece costs even if nothing is in it. */
const PIECE_WORK = 64;
const SHORT_BYTES = 1024;

function unpacked(container: Blob, octets: Value, tools: Tools): Outcome {
  const { sink, budget } = tools;
  const limit = budget.limits.memberInMemoryBytes;
  const pieces: Uint8Array[] = [];
  let size = 0;
  const write = (bytes: Uint8Array): void => {
    size += bytes.length;
    if (size <= limit) pieces.push(Buffer.from(bytes));
  };
  const collector: MemberSink = { folder() {}, begin() {}, write, end() {} };
  const outcome = taken(container, octets, { ...tools, sink: collector });
  if (size > limit) return { kind: "too-large" };
  const inflated = inflateRaw(Buffer.concat(pieces).subarray(ZLIB_HEADER), budget);
  if (inflated.kind === "too-large") return inflated;
  emit(sink, { name: "content", content: inflated.content });
  return inflated.kind === "cut" ? { kind: "unreadable" } : outcome;
}

const ZLIB_HEADER = 2;

/** Gives each piece; says where the octets end, or nothing if they break off. */
function writeOctets(text: Text, octets: Value, write: (piece: Range) => void): number | undefined {
  const ends: (number | undefined)[] = [];
  let value: Value = octets;
  for (;;) {
    let at: number;
    if ((value.tag & CONSTRUCTED) !== 0) {
      ends.push(value.end);
      at = value.start;
    } else {
      at = value.end ?? value.start;
      write({ start: value.start, end: Math.min(at, text.size) });
    }
    for (; ends.length > 0 && isOver(text, at, ends.at(-1)); ) at += ends.pop() === undefined ? 2 : 0;
    if (at > text.size || ends.length > NESTED_AT_MOST) return undefined;
    const next = ends.length > 0 ? valueAt(text, at) : undefined;
    if (!next) return ends.length > 0 ? undefined : at;
    value = next;
  }
}

const isOver = (text: Text, at: number, end: number | undefined): boolean =>
  end === undefined ? isEndMark(text, at) : at >= end;
