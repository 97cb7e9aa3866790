import { randomBytes } from "node:crypto";
import { crc32, deflateRawSync } from "node:zlib";

/**
 * A zip writer that can lie. Honest by default; every field of a header can be written differently from the truth,
 * which is what hostile archives do and no zip library offers.
 */

const METHOD_STORED = 0;
export const METHOD_DEFLATED = 8;
const FLAG_ENCRYPTED = 0x1;
const FLAG_DESCRIPTOR = 0x8;

/** What both headers of a member say. */
interface MemberFields {
  version: number;
  flags: number;
  method: number;
  crc: number;
  packedBytes: number;
  unpackedBytes: number;
  extra: Uint8Array;
}

export interface Member extends MemberFields {
  name: string;
  packed: Iterable<Uint8Array>;
  /** Stands after the packed bytes; empty without FLAG_DESCRIPTOR. */
  descriptor: Uint8Array;
  /** What the header in front of the member says instead. */
  local: Partial<MemberFields>;
  /** What the directory says instead. `offset` is where the member's local header should be. */
  central: Partial<MemberFields & { offset: number; comment: Uint8Array }>;
}

interface EndFields {
  disk: number;
  entriesHere: number;
  entries: number;
  directoryBytes: number;
  directoryOffset: number;
  commentBytes: number;
}

export interface ZipShape {
  prefix?: Uint8Array;
  /** Whether the offsets count the prefix, as those of an ordinary self-extracting archive do. */
  prefixCounted?: boolean;
  /** Between the last member and the directory, like the signature of an Android package. */
  beforeDirectory?: Uint8Array;
  /** Between the directory and its end record. */
  beforeEnd?: Uint8Array;
  comment?: Uint8Array;
  trailing?: Uint8Array;
  end?: Partial<EndFields>;
  /** Writes the zip64 end record and its locator as well. */
  zip64End?: boolean;
}

export function stored(name: string, content: Uint8Array): Member {
  return packedAs(METHOD_STORED, { name, packed: content, content });
}

export function deflated(name: string, content: Uint8Array): Member {
  return packedAs(METHOD_DEFLATED, { name, packed: deflateRawSync(content), content });
}

export function packedAs(
  method: number,
  { name, packed, content }: { name: string; packed: Uint8Array; content: Uint8Array },
): Member {
  return {
    name,
    packed: [packed],
    version: 20,
    flags: 0,
    method,
    crc: crc32(content),
    packedBytes: packed.length,
    unpackedBytes: content.length,
    extra: Buffer.alloc(0),
    descriptor: Buffer.alloc(0),
    local: {},
    central: {},
  };
}

/** As written by whoever cannot seek back: sizes are unknown in the local header and follow the member. */
export function withDescriptor(member: Member): Member {
  const { crc, packedBytes, unpackedBytes } = member;
  return {
    ...member,
    flags: member.flags | FLAG_DESCRIPTOR,
    descriptor: Buffer.concat([u32(0x08074b50), u32(crc), u32(packedBytes), u32(unpackedBytes)]),
    local: { crc: 0, packedBytes: 0, unpackedBytes: 0, ...member.local },
  };
}

/** The sizes in the zip64 extra field, and 0xffffffff in their place, in one of the headers or in both. */
export function withZip64(member: Member, where: "local" | "central" | "both"): Member {
  const sizes = Buffer.concat([u16(1), u16(16), u64(member.unpackedBytes), u64(member.packedBytes)]);
  const moved = { version: 45, packedBytes: 0xffffffff, unpackedBytes: 0xffffffff, extra: sizes };
  return {
    ...member,
    local: where === "central" ? member.local : { ...member.local, ...moved },
    central: where === "local" ? member.central : { ...member.central, ...moved },
  };
}

/** Really encrypted, with the cipher of PKZIP 2 that every unzipper knows. */
export function encrypted(name: string, content: Uint8Array, password: string): Member {
  const member = deflated(name, content);
  const header = randomBytes(12);
  header.writeUInt8(member.crc >>> 24, 11);
  const packed = zipCrypto(Buffer.concat([header, ...member.packed]), password);
  return { ...member, packed: [packed], packedBytes: packed.length, flags: FLAG_ENCRYPTED };
}

export function zip(members: Iterable<Member>, shape: ZipShape = {}): Buffer {
  return Buffer.concat([...zipPieces(members, shape)]);
}

/** The archive piece by piece, for those too large to hold. */
export function* zipPieces(members: Iterable<Member>, shape: ZipShape = {}): Generator<Uint8Array> {
  let written = 0;
  const count = (piece: Uint8Array): Uint8Array => {
    written += piece.length;
    return piece;
  };
  if (shape.prefix) yield shape.prefixCounted ? count(shape.prefix) : shape.prefix;

  const directory: Uint8Array[] = [];
  for (const member of members) {
    directory.push(centralHeader(member, written));
    yield count(localHeader(member));
    for (const piece of member.packed) yield count(piece);
    yield count(member.descriptor);
  }
  yield count(shape.beforeDirectory ?? Buffer.alloc(0));

  const headers = Buffer.concat(directory);
  const honest: EndFields = {
    disk: 0,
    entriesHere: Math.min(directory.length, 0xffff),
    entries: Math.min(directory.length, 0xffff),
    directoryBytes: headers.length,
    directoryOffset: written,
    commentBytes: shape.comment?.length ?? 0,
  };
  yield count(headers);
  yield count(shape.beforeEnd ?? Buffer.alloc(0));
  if (shape.zip64End) yield zip64End(honest, written);
  yield endRecord({ ...honest, ...shape.end });
  yield shape.comment ?? Buffer.alloc(0);
  yield shape.trailing ?? Buffer.alloc(0);
}

function localHeader(member: Member): Buffer {
  const fields = { ...member, ...member.local };
  const name = Buffer.from(member.name);
  const lengths = [u16(name.length), u16(fields.extra.length)];
  return Buffer.concat([u32(0x04034b50), ...sharedFields(fields), ...lengths, name, fields.extra]);
}

function centralHeader(member: Member, offset: number): Buffer {
  const fields = { comment: Buffer.alloc(0), offset, ...member, ...member.central };
  const name = Buffer.from(member.name);
  return Buffer.concat([
    u32(0x02014b50),
    u16(fields.version),
    ...sharedFields(fields),
    u16(name.length),
    u16(fields.extra.length),
    u16(fields.comment.length),
    // Disk number and attributes.
    Buffer.alloc(8),
    u32(fields.offset),
    name,
    fields.extra,
    fields.comment,
  ]);
}

/** The fields that both headers have, in the same order. Date and time are the first ones there are. */
function sharedFields(fields: MemberFields): Buffer[] {
  const { version, flags, method, crc, packedBytes, unpackedBytes } = fields;
  const modified = Buffer.from([0, 0, 0x21, 0]);
  return [u16(version), u16(flags), u16(method), modified, u32(crc), u32(packedBytes), u32(unpackedBytes)];
}

function endRecord(end: EndFields): Buffer {
  return Buffer.concat([
    u32(0x06054b50),
    u16(end.disk),
    u16(end.disk),
    u16(end.entriesHere),
    u16(end.entries),
    u32(end.directoryBytes),
    u32(end.directoryOffset),
    u16(end.commentBytes),
  ]);
}

function zip64End(end: EndFields, offset: number): Buffer {
  const record = Buffer.concat([
    ...[u32(0x06064b50), u64(44), u16(45), u16(45), u32(0), u32(0)],
    ...[u64(end.entries), u64(end.entries), u64(end.directoryBytes), u64(end.directoryOffset)],
  ]);
  const locator = [u32(0x07064b50), u32(0), u64(offset), u32(1)];
  return Buffer.concat([record, ...locator]);
}

function zipCrypto(plain: Uint8Array, password: string): Buffer {
  let [key0, key1, key2] = [0x12345678, 0x23456789, 0x34567890];
  // zlib's crc32 inverts its value before and after; this cipher wants the bare step.
  const step = (key: number, byte: number): number => ~crc32(Buffer.of(byte), ~key >>> 0) >>> 0;
  const update = (byte: number): void => {
    key0 = step(key0, byte);
    key1 = (Math.imul((key1 + (key0 & 0xff)) >>> 0, 134775813) + 1) >>> 0;
    key2 = step(key2, key1 >>> 24);
  };
  for (const byte of Buffer.from(password)) update(byte);
  return Buffer.from(
    plain.map((byte) => {
      const mixed = (key2 | 2) & 0xffff;
      const hidden = byte ^ ((Math.imul(mixed, mixed ^ 1) >>> 8) & 0xff);
      update(byte);
      return hidden;
    }),
  );
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value & 0xffff);
  return bytes;
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}
