import { type Blob, joinedBlob, memoryBlob } from "../blob.ts";

interface PackedMember {
  /** Its number, where it has none. */
  name?: Buffer;
  method: number;
  flags: number;
  crc: number;
  unpackedBytes: number;
  packed: Blob;
}

const SIZES_FOLLOW = 0x8;
const VERSION = 63;

/** What the fields of a header have room for, by far: members that overlap are together larger than the file they stand in. */
const MEMBERS_AT_MOST = 10_000;
const BYTES_AT_MOST = 2 ** 31;

/**
 * Makes archives of these members and nothing else, for another unpacker: honest headers around packed bytes that are left
 * where they are.
 */
export function* zipsOf(members: readonly PackedMember[]): Generator<Blob> {
  let [from, bytes] = [0, 0];
  for (const [index, { packed }] of members.entries()) {
    if (index - from >= MEMBERS_AT_MOST || (index > from && bytes + packed.size > BYTES_AT_MOST)) {
      yield zipOf(members.slice(from, index));
      [from, bytes] = [index, 0];
    }
    bytes += packed.size;
  }
  if (from < members.length) yield zipOf(members.slice(from));
}

function zipOf(members: readonly PackedMember[]): Blob {
  const pieces: Blob[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const [index, member] of members.entries()) {
    const name = member.name ?? Buffer.from(String(index));
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(VERSION, 0);
    fields.writeUInt16LE(member.flags & ~SIZES_FOLLOW, 2);
    fields.writeUInt16LE(member.method, 4);
    fields.writeUInt32LE(member.crc, 10);
    fields.writeUInt32LE(member.packed.size, 14);
    fields.writeUInt32LE(Math.min(member.unpackedBytes, 0xfffffffe), 18);
    fields.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), fields, name]);
    directory.push(entry(fields, name, at));
    pieces.push(memoryBlob(local), member.packed);
    at += local.length + member.packed.size;
  }
  const listing = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(members.length, 8);
  end.writeUInt16LE(members.length, 10);
  end.writeUInt32LE(listing.length, 12);
  end.writeUInt32LE(at, 16);
  return joinedBlob([...pieces, memoryBlob(listing), memoryBlob(end)]);
}

function entry(fields: Buffer, name: Buffer, offset: number): Buffer {
  const made = Buffer.alloc(46 - 6 - fields.length);
  made.writeUInt32LE(offset, made.length - 4);
  const version = Buffer.from([VERSION, 0]);
  return Buffer.concat([Buffer.from("PK\x01\x02", "latin1"), version, fields, made, name]);
}
