import type { Blob } from "../blob.ts";
import type { Budget } from "../budget.ts";
import { byteAt } from "../byte-pattern.ts";
import { emit, type Opener, type Outcome, type Tools } from "../opener.ts";

/** `winmail.dat`: how Outlook sends attachments to those who it believes to use Outlook too. */
export const tnef: Opener = {
  kind: "tnef",
  archive: true,
  knownBy: [byteAt(0, "78")],
  find(content) {
    const head = content.bytes(0, 4);
    return head.length === 4 && head.readUInt32LE(0) === SIGNATURE ? [{ start: 0, end: content.size, sure: true }] : [];
  },
  open: openTnef,
};

const SIGNATURE = 0x223e9f78;
/** The signature and a key. */
const HEADER = 6;
/** To what it belongs, a number and a length; behind the value a checksum of two bytes. */
const ATTRIBUTE = 9;
const CHECKSUM = 2;

const ATTACHMENT_DATA = 0x0006800f;
const ATTACHMENT_TITLE = 0x00018010;
const ATTACHMENT_PROPERTIES = 0x00069005;
const MESSAGE_PROPERTIES = 0x00069003;
/** Shorter values are names, dates and numbers. */
const STRUCTURE_BYTES = 64;
const PIECE_BYTES = 1024 * 1024;

function openTnef(container: Blob, tools: Tools): Outcome {
  const { budget } = tools;
  const limit = budget.limits.memberInMemoryBytes;
  let at = HEADER;
  let isCut = false;
  let isTooLarge = false;
  let name = "attachment";
  while (at + ATTRIBUTE <= container.size) {
    const head = container.bytes(at, ATTRIBUTE);
    const level = head.readUInt8(0);
    if (level !== 1 && level !== 2) break;
    const id = head.readUInt32LE(1);
    const start = at + ATTRIBUTE;
    const end = start + head.readUInt32LE(5);
    const length = Math.min(end, container.size) - start;
    if (end > container.size) isCut = true;
    budget.addWork(length);
    if (id === ATTACHMENT_TITLE)
      name = container.bytes(start, Math.min(length, 256)).toString("latin1").replace(/\0.*$/s, "");
    else if (id === ATTACHMENT_PROPERTIES || id === MESSAGE_PROPERTIES) {
      if (length <= limit) takeProperties(container.bytes(start, length), tools);
      else isTooLarge = true;
    } else if (id === ATTACHMENT_DATA || length > STRUCTURE_BYTES) {
      give(container, { name: id === ATTACHMENT_DATA ? name : "attribute", start, end: start + length }, tools);
    }
    at = Math.min(container.size, end + CHECKSUM);
  }
  if (isTooLarge) return { kind: "too-large" };
  return isCut ? { kind: "unreadable" } : { kind: "opened", covered: [{ start: 0, end: at }] };
}

function give(container: Blob, value: { name: string; start: number; end: number }, { sink }: Tools): void {
  sink.begin(value.name);
  for (let at = value.start; at < value.end; at += PIECE_BYTES) {
    sink.write(container.bytes(at, Math.min(PIECE_BYTES, value.end - at)));
  }
  sink.end();
}

const ATTACHED = 0x3701;
const COMPRESSED_RTF = 0x1009;
/** Sizes of values by their type; those that are not here say their own. */
const FIXED = new Map([
  ...[0x02, 0x03, 0x04, 0x0a, 0x0b].map((type) => [type, 4] as const),
  ...[0x05, 0x06, 0x07, 0x14, 0x40].map((type) => [type, 8] as const),
  [0x48, 16] as const,
  [0x01, 0] as const,
]);
const OBJECT = 0x0d;
const OF_ANY_LENGTH = new Set([OBJECT, 0x1e, 0x1f, 0x102]);
const SEVERAL = 0x1000;
/** In front of an object stands what kind of object it is. */
const OBJECT_KIND = 16;

/**
 * A list of properties: a number of them, and each with its type, its number, sometimes a name, and its values. Where the list
 * makes no sense any more, the rest comes out as it is.
 */
function takeProperties(list: Buffer, tools: Tools): void {
  const { sink } = tools;
  let at = 4;
  const has = (bytes: number): boolean => at + bytes <= list.length;
  for (let left = list.length >= 4 ? list.readUInt32LE(0) : 0; left > 0 && has(4); left -= 1) {
    const type = list.readUInt16LE(at);
    const id = list.readUInt16LE(at + 2);
    const base = type & ~SEVERAL;
    const fixed = FIXED.get(base);
    at += 4;
    if (id >= 0x8000) {
      if (!has(24)) break;
      const isNamed = list.readUInt32LE(at + 16) === 1;
      const length = list.readUInt32LE(at + 20);
      at += 24 + (isNamed ? padded(length) : 0);
    }
    let values = 1;
    if (OF_ANY_LENGTH.has(base) || (type & SEVERAL) !== 0) {
      if (!has(4)) break;
      values = list.readUInt32LE(at);
      at += 4;
    }
    if (fixed !== undefined) {
      // As many as the list has room for: the number may be any.
      at += fixed * values;
      continue;
    }
    if (!OF_ANY_LENGTH.has(base)) {
      at -= 4;
      break;
    }
    for (; values > 0 && has(4); values -= 1) {
      const length = list.readUInt32LE(at);
      takeValue(list.subarray(at + 4, at + 4 + length), { id, isObject: base === OBJECT }, tools);
      at += 4 + padded(length);
    }
  }
  if (list.length - at > STRUCTURE_BYTES) emit(sink, { name: "properties", content: list.subarray(at) });
}

function takeValue(value: Buffer, { id, isObject }: { id: number; isObject: boolean }, { sink, budget }: Tools): void {
  if (value.length <= STRUCTURE_BYTES && id !== ATTACHED) return;
  const name = id === ATTACHED ? "attachment" : "property";
  const content = isObject ? value.subarray(OBJECT_KIND) : value;
  if (content.length > 0) emit(sink, { name, content });
  if (id !== COMPRESSED_RTF) return;
  const text = rtfFromMail(content, budget);
  if (text) emit(sink, { name: "body.rtf", content: text });
}

function padded(length: number): number {
  return Math.ceil(length / 4) * 4;
}

/** What every text of a mail begins with, as far as the decoder is concerned. */
const PRELUDE = Buffer.from(
  "{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx",
  "latin1",
);
const RTF_HEADER = 16;
const COMPRESSED = 0x75465a4c;
const WINDOW = 4096;

/** The text of a mail as Outlook keeps it: MS-OXRTFCP. As far as it goes; undefined if it is not compressed. */
function rtfFromMail(packed: Buffer, budget: Budget): Buffer | undefined {
  if (packed.length <= RTF_HEADER || packed.readUInt32LE(8) !== COMPRESSED) return undefined;
  budget.addWork(packed.length);
  // A reference of two bytes gives 17 bytes at most.
  const out = Buffer.alloc(Math.min(budget.limits.memberInMemoryBytes, packed.length * 9));
  const window = Buffer.alloc(WINDOW);
  PRELUDE.copy(window);
  let to = PRELUDE.length;
  let length = 0;
  let at = RTF_HEADER;
  const put = (byte: number): void => {
    window[to] = byte;
    to = (to + 1) % WINDOW;
    out[length] = byte;
    length += 1;
  };
  while (at < packed.length) {
    const flags = packed.readUInt8(at);
    at += 1;
    for (let bit = 0; bit < 8 && at < packed.length && length < out.length; bit += 1) {
      if ((flags & (1 << bit)) === 0) {
        put(packed.readUInt8(at));
        at += 1;
        continue;
      }
      if (at + 2 > packed.length) return out.subarray(0, length);
      const reference = packed.readUInt16BE(at);
      at += 2;
      const from = reference >> 4;
      if (from === to) return out.subarray(0, length);
      for (let i = 0; i < (reference & 0xf) + 2 && length < out.length; i += 1) put(window[(from + i) % WINDOW] ?? 0);
    }
    if (length >= out.length) break;
  }
  return out.subarray(0, length);
}
