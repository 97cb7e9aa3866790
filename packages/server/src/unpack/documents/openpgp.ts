import { isUtf8 } from "node:buffer";
import { constants, inflateRawSync } from "node:zlib";
import type { Blob, Range } from "../blob.ts";
import { memberWriter, type Text, textOf } from "../encodings/text.ts";
import { inflateRaw, inflateStart } from "../inflate.ts";
import { emit, type Opener, type Outcome, type Place, type Tools } from "../opener.ts";
import { writePiece } from "./signed-message.ts";

const TAG = {
  publicKeySession: 1,
  signature: 2,
  passphraseSession: 3,
  onePassSignature: 4,
  compressed: 8,
  encrypted: 9,
  marker: 10,
  literal: 11,
  protectedData: 18,
  authenticatedData: 20,
  padding: 21,
} as const;
/** Those that may stand in front of the content or behind it, and have nothing in them. */
const PASSED: readonly number[] = [TAG.signature, TAG.onePassSignature, TAG.marker, TAG.padding];
const SESSION_KEYS: readonly number[] = [TAG.publicKeySession, TAG.passphraseSession];
const ENCRYPTED: readonly number[] = [TAG.encrypted, TAG.protectedData, TAG.authenticatedData];
const MESSAGE: readonly number[] = [...PASSED, ...SESSION_KEYS, ...ENCRYPTED, TAG.compressed, TAG.literal];

/** The bytes that packets of a message begin with, in the old form and in the new one. */
const BEGINNINGS = Uint8Array.from({ length: 256 }, (_, first) => {
  const tag = first >= 0xc0 ? first & 0x3f : (first >> 2) & 0x0f;
  return first >= 0x80 && MESSAGE.includes(tag) ? 1 : 0;
});
const BEGINS = { offset: 0, bytes: BEGINNINGS };

/**
 * Messages of OpenPGP, signed or not, that are not encrypted: packets one behind the other, of which one has the content, or
 * compressed packets. In letters they are base64, which somebody else undoes. Keys and signatures alone hold nothing.
 */
export const openPgp: Opener = { kind: "openpgp", archive: true, knownBy: [BEGINS], find, open };

type Bytes = Pick<Text, "byte" | "size">;

/** A packet, or the first piece of its body: those who write without knowing how much it becomes write pieces. */
interface Packet extends Range {
  tag: number;
  /** Another length and another piece follow. */
  more: boolean;
  /** It has no length, and goes to the end. */
  toEnd?: true;
}

function packetAt(bytes: Bytes, at: number): Packet | undefined {
  const first = bytes.byte(at);
  if (first < 0x80) return undefined;
  if (first >= 0xc0) return { tag: first & 0x3f, ...newLength(bytes, at + 1) };
  const tag = (first >> 2) & 0x0f;
  const lengthBytes = [1, 2, 4, 0][first & 3] as number;
  const start = at + 1 + lengthBytes;
  if (lengthBytes === 0) return { tag, start, end: bytes.size, more: false, toEnd: true };
  return { tag, start, end: start + number(bytes, at + 1, lengthBytes), more: false };
}

function newLength(bytes: Bytes, at: number): Range & { more: boolean } {
  const first = Math.max(0, bytes.byte(at));
  const stretch = (lengthBytes: number, length: number, more = false): Range & { more: boolean } => ({
    start: at + lengthBytes,
    end: at + lengthBytes + length,
    more,
  });
  if (first < 192) return stretch(1, first);
  if (first < 224) return stretch(2, (first - 192) * 256 + number(bytes, at + 1, 1) + 192);
  return first === 255 ? stretch(5, number(bytes, at + 1, 4)) : stretch(1, 2 ** (first & 31), true);
}

function number(bytes: Bytes, at: number, length: number): number {
  let value = 0;
  for (let position = at; position < at + length; position += 1)
    value = value * 256 + Math.max(0, bytes.byte(position));
  return value;
}

/** The pieces of a packet's body; the last one may reach beyond the end of the content. */
function* piecesOf(bytes: Bytes, packet: Packet): Generator<Range> {
  let piece: Range & { more: boolean } = packet;
  for (;;) {
    yield { start: piece.start, end: piece.end };
    if (!piece.more || piece.end >= bytes.size) return;
    piece = newLength(bytes, piece.end);
  }
}

/** Visits the pieces as far as they are there; says where the packet ends, or nothing if it is cut. */
function readBody(bytes: Bytes, packet: Packet, visit: (piece: Range) => void): number | undefined {
  let end = packet.start;
  for (const piece of piecesOf(bytes, packet)) {
    end = piece.end;
    visit({ start: piece.start, end: Math.min(end, bytes.size) });
  }
  return end > bytes.size ? undefined : end;
}

function beginning(bytes: Bytes, packet: Packet, length: number): Buffer {
  const begun: number[] = [];
  for (const piece of piecesOf(bytes, packet)) {
    for (let at = piece.start; at < Math.min(piece.end, bytes.size) && begun.length < length; at += 1) {
      begun.push(bytes.byte(at));
    }
    if (begun.length >= length) break;
  }
  return Buffer.from(begun);
}

/** So many packets and pieces are looked at before we say whether it is one. */
const TRIED_STEPS = 64;

function find(content: Blob): readonly Place[] {
  const bytes = glimpse(content);
  let at = 0;
  for (let step = 0; step < TRIED_STEPS && at < content.size; step += 1) {
    const packet = packetAt(bytes, at);
    const likely = packet && MESSAGE.includes(packet.tag) ? likelihood(bytes, packet) : "none";
    if (likely === "none" || !packet) return [];
    if (!PASSED.includes(packet.tag)) {
      const isCut = !packet.toEnd && packet.end > content.size;
      const sure = isProven(bytes, packet) || (!isCut && (likely === "sure" || endsWithContent(bytes, at)));
      return [{ start: 0, end: content.size, sure }];
    }
    if (packet.more || packet.end >= content.size) return [];
    at = packet.end;
  }
  return [];
}

/**
 * Whether it is one even if it breaks off: what is compressed inflates for longer than noise does, and what is not has a name and a time that
 * make sense, in bytes that are no text.
 */
function isProven(bytes: Bytes, packet: Packet): boolean {
  if (packet.tag === TAG.compressed) {
    const [method, ...packed] = beginning(bytes, packet, TRIAL_BYTES);
    if (method === PACKED.bzip2) return Buffer.from(packed).toString("latin1", 4, 10) === "1AY&SY";
    if (method !== PACKED.zip && method !== PACKED.zlib) return false;
    const begun = inflateStart(
      Buffer.from(packed).subarray(method === PACKED.zlib ? ZLIB_HEADER : 0),
      TRIAL_OUTPUT_BYTES,
    );
    return typeof begun === "object" && begun.taken >= PROOF_BYTES && isPacket(begun.content);
  }
  if (packet.tag !== TAG.literal) return false;
  const head = beginning(bytes, packet, LITERAL_BYTES + 255);
  const nameEnd = 2 + (head[1] ?? 0);
  if (
    nameEnd + 4 > head.length ||
    !isUtf8(head.subarray(2, nameEnd)) ||
    CONTROL.test(head.toString("latin1", 2, nameEnd))
  )
    return false;
  const time = head.readUInt32BE(nameEnd);
  const isText = isUtf8(Buffer.from(Array.from({ length: Math.min(4, bytes.size) }, (_, at) => bytes.byte(at))));
  return !isText && (time === 0 || (time >= FIRST_TIME && time < LAST_TIME));
}

const PROOF_BYTES = 64;
const CONTROL = /\p{Cc}/u;
/** From the year 1990, when there was none yet, to 2040. */
const [FIRST_TIME, LAST_TIME] = [631_152_000, 2_208_988_800];

/** A few bytes at a time: headers are far from each other. */
function glimpse(content: Blob): Bytes {
  let start = 0;
  let seen = Buffer.alloc(0);
  return {
    size: content.size,
    byte(position) {
      if (position < start || position >= start + seen.length) {
        if (position < 0 || position >= content.size) return -1;
        start = position;
        seen = Buffer.from(content.bytes(position, GLIMPSE_BYTES));
      }
      return seen[position - start] as number;
    },
  };
}

const GLIMPSE_BYTES = 64;

/** Whether all from here on is packets, up to the last byte, as far as that can be told in a few steps. */
function endsWithContent(bytes: Bytes, from: number): boolean {
  let at = from;
  for (let step = 0; step < TRIED_STEPS; step += 1) {
    const packet = packetAt(bytes, at);
    if (!packet || !MESSAGE.includes(packet.tag) || likelihood(bytes, packet) === "none") return false;
    for (const piece of piecesOf(bytes, packet)) {
      at = piece.end;
      step += 1;
      if (step >= TRIED_STEPS) return false;
    }
    if (at === bytes.size) return true;
    if (at > bytes.size) return false;
  }
  return false;
}

const TEXT_MODES: readonly string[] = ["t", "u"];
const MODES: readonly string[] = ["b", "l", "m", "1", ...TEXT_MODES];
const SIGNATURE_BYTES = 1024 * 1024;
const SESSION_KEY_BYTES = 16 * 1024;
/** A length of one byte is right by chance too often, where there is nothing else to go by. */
const ENCRYPTED_BYTES = 256;

/** By the first bytes of the body: nearly all files whose first byte looks like a packet are something else. */
function likelihood(bytes: Bytes, packet: Packet): "sure" | "likely" | "none" {
  const { tag, more } = packet;
  const size = more ? Number.POSITIVE_INFINITY : packet.end - packet.start;
  const body = beginning(bytes, packet, 12);
  const [version = -1, second = -1] = body;
  const likely = (fits: boolean): "likely" | "none" => (fits ? "likely" : "none");
  switch (tag) {
    case TAG.literal:
      return likely(MODES.includes(String.fromCharCode(version)) && second >= 0 && size >= second + LITERAL_BYTES);
    case TAG.compressed:
      return isPacked(beginning(bytes, packet, TRIAL_BYTES)) ? "sure" : "none";
    case TAG.signature:
      return likely(version >= 2 && version <= 6 && size >= 10 && size <= SIGNATURE_BYTES);
    case TAG.onePassSignature:
      return likely((version === 3 && size === 13) || (version === 6 && size >= 38 && size <= 300));
    case TAG.marker:
      return likely(size === 3 && body.toString("latin1") === "PGP");
    case TAG.publicKeySession:
      return likely(
        size <= SESSION_KEY_BYTES &&
          ((version === 3 && KEY_KINDS.includes(body[9] ?? 0)) || (version === 6 && FINGERPRINTS.includes(second))),
      );
    case TAG.passphraseSession:
      return likely(size <= SESSION_KEY_BYTES && isPassphrase(body));
    case TAG.protectedData:
      return likely((version === 1 || version === 2) && size > 20);
    case TAG.authenticatedData:
      return likely(version === 1 && size > 20);
    default:
      return likely(size >= ENCRYPTED_BYTES && !packet.toEnd);
  }
}

/** RSA, Elgamal, and those on curves. */
const KEY_KINDS: readonly number[] = [1, 2, 16, 18, 20, 25, 26];
/** Mode, length of the name, time. */
const LITERAL_BYTES = 6;

/** How long the version and the fingerprint of a key are, if it is named. */
const FINGERPRINTS: readonly number[] = [0, 21, 33];

/** A cipher, later also how it is used, and how the passphrase becomes its key. Version 6 says the lengths of these. */
function isPassphrase(body: Buffer): boolean {
  const [version = 0, ...fields] = body;
  const [cipher = 0, mode = 0, ...rest] = version === 6 ? fields.slice(1) : fields;
  const isCipher = cipher >= 1 && cipher <= 13;
  if (version === 4) return isCipher && SPECIFIERS.includes(mode);
  const specifier = version === 6 ? rest[1] : rest[0];
  return (version === 5 || version === 6) && isCipher && mode >= 1 && mode <= 3 && SPECIFIERS.includes(specifier ?? -1);
}

const SPECIFIERS: readonly number[] = [0, 1, 3, 4];

const PACKED = { plain: 0, zip: 1, zlib: 2, bzip2: 3 } as const;
const ZLIB_HEADER = 2;
const TRIAL_BYTES = 512;
const TRIAL_OUTPUT_BYTES = 1024 * 1024;

/** Whether it begins like what is compressed, with packets in it. */
function isPacked(body: Buffer): boolean {
  const packed = body.subarray(1);
  if (body[0] === PACKED.bzip2) return /^BZh[1-9]/.test(packed.toString("latin1", 0, 4));
  if (body[0] === PACKED.plain) return isPacket(packed);
  if (body[0] !== PACKED.zip && body[0] !== PACKED.zlib) return false;
  try {
    const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: TRIAL_OUTPUT_BYTES };
    return isPacket(inflateRawSync(packed.subarray(body[0] === PACKED.zlib ? ZLIB_HEADER : 0), options));
  } catch {
    return false;
  }
}

function isPacket(inside: Buffer): boolean {
  const packet = packetAt({ size: inside.length, byte: (at) => inside[at] ?? -1 }, 0);
  return packet !== undefined && MESSAGE.includes(packet.tag);
}

function open(container: Blob, tools: Tools): Outcome {
  const text = textOf(container, tools.budget);
  let [hasSessionKey, hasEncrypted] = [false, false];
  let at = 0;
  let outcome: Outcome["kind"] = "opened";
  while (at < container.size && outcome === "opened") {
    const packet = packetAt(text, at);
    if (!packet || !MESSAGE.includes(packet.tag)) break;
    // By chance an encrypted packet begins anywhere: it is one behind its keys, or if it ends where the message does.
    if (hasSessionKey && ENCRYPTED.includes(packet.tag)) return { kind: "encrypted" };
    if (likelihood(text, packet) === "none") break;
    tools.budget.addWork(PACKET_WORK);
    hasSessionKey ||= SESSION_KEYS.includes(packet.tag);
    hasEncrypted ||= ENCRYPTED.includes(packet.tag);
    let end: number | undefined;
    if (packet.tag === TAG.literal) end = takeLiteral(container, packet, { text, tools });
    else if (packet.tag === TAG.compressed) [end, outcome] = unpack(container, packet, { text, tools });
    else end = readBody(text, packet, () => {});
    if (end === undefined && outcome === "opened") outcome = "unreadable";
    at = end ?? container.size;
  }
  if (hasEncrypted && outcome === "opened" && at === container.size) return { kind: "encrypted" };
  return outcome === "opened" ? { kind: outcome, covered: [{ start: 0, end: at }] } : { kind: outcome };
}

/** What a packet costs even if nothing is in it; a message has few. */
const PACKET_WORK = 1024;

interface Reading {
  text: Text;
  tools: Tools;
}

/** A file, its name and its time. Of a text, programs drop the carriage returns. */
function takeLiteral(container: Blob, packet: Packet, { text, tools }: Reading): number | undefined {
  const { sink, budget } = tools;
  const writer = memberWriter(sink);
  const head = beginning(text, packet, LITERAL_BYTES + 255);
  const header = LITERAL_BYTES + (head[1] ?? 0);
  const name = head.toString("utf8", 2, header - 4);
  const each = (write: (piece: Range) => void): number | undefined => {
    let skipped = 0;
    return readBody(text, packet, ({ start, end }) => {
      const from = Math.min(end, start + header - skipped);
      skipped += from - start;
      if (from < end) write({ start: from, end });
    });
  };
  writer.begin(name);
  const end = each((piece) => writePiece(piece, { container, text, writer, budget }));
  writer.end();
  if (!TEXT_MODES.includes(String.fromCharCode(head[0] ?? 0))) return end;
  writer.begin(name);
  each((piece) => {
    for (let at = piece.start; at < piece.end; at += 1)
      if (text.byte(at) !== CARRIAGE_RETURN) writer.byte(text.byte(at));
  });
  writer.end();
  return end;
}

const CARRIAGE_RETURN = 0x0d;

/** What is in it is packets again, or a bzip2 file of packets: members, and for others to open. */
function unpack(
  container: Blob,
  packet: Packet,
  { text, tools }: Reading,
): [end: number | undefined, outcome: Outcome["kind"]] {
  const { sink, budget } = tools;
  const limit = budget.limits.memberInMemoryBytes;
  const method = beginning(text, packet, 1)[0];
  const pieces: Buffer[] = [];
  let size = 0;
  const isKept = method === PACKED.zip || method === PACKED.zlib;
  const collector = memberWriter({
    ...(isKept ? { folder() {}, begin() {}, end() {} } : sink),
    write(bytes) {
      size += bytes.length;
      if (!isKept) sink.write(bytes);
      else if (size <= limit) pieces.push(Buffer.from(bytes));
    },
  });
  collector.begin("packets");
  let isFirst = true;
  const end = readBody(text, packet, (piece) => {
    const start = isFirst && piece.start < piece.end ? piece.start + 1 : piece.start;
    if (piece.start < piece.end) isFirst = false;
    writePiece({ start, end: piece.end }, { container, text, writer: collector, budget });
  });
  collector.end();
  if (!isKept) return [end, "opened"];
  if (size > limit) return [end, "too-large"];
  const packed = Buffer.concat(pieces).subarray(method === PACKED.zlib ? ZLIB_HEADER : 0);
  const inflated = inflateRaw(packed, budget);
  if (inflated.kind === "too-large") return [end, inflated.kind];
  emit(sink, { name: "packets", content: inflated.content });
  if (inflated.kind === "cut") return [end, "unreadable"];
  const rest = packed.subarray(inflated.taken);
  if (rest.length > CHECKSUM_BYTES) emit(sink, { name: "behind the packets", content: rest });
  return [end, "opened"];
}

/** Of zlib four bytes, and of base64 three more. */
const CHECKSUM_BYTES = 8;
