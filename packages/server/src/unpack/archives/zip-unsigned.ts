import { crc32 } from "node:zlib";
import type { Blob } from "../blob.ts";
import { inflateStart } from "../inflate.ts";

/**
 * Headers of a zip without their signatures: programs that go by the end record do not compare these. Everything else has to show
 * that there is a header.
 */

/** The statement of an end record about a directory. */
interface Stated {
  size: number;
  offset: number;
  entries: number;
}

/** The statement of a directory about one member, as far as it takes to find that. */
interface Entry {
  method: number;
  crc: number;
  packedBytes: number;
  unpackedBytes: number;
  /** As bytes, one character each; of a long one the beginning. */
  name: string;
}

const ENTRY_BYTES = 46;
const LOCAL_BYTES = 30;
const ENTRIES_AT_MOST = 1024;

/** Whether the first entry leads to a member, or the entries are just as long as the directory. */
export function isUnsignedDirectory(
  container: Blob,
  start: number,
  { stated, end }: { stated: Stated; end: number },
): boolean {
  const fixed = container.bytes(start, ENTRY_BYTES);
  if (start + ENTRY_BYTES >= end || fixed.length < ENTRY_BYTES) return false;
  const nameBytes = fixed.readUInt16LE(28);
  if (nameBytes === 0 || start + entryBytes(fixed) > end) return false;
  const entry = {
    method: fixed.readUInt16LE(10),
    crc: fixed.readUInt32LE(16),
    packedBytes: fixed.readUInt32LE(20),
    unpackedBytes: fixed.readUInt32LE(24),
    name: container.bytes(start + ENTRY_BYTES, nameBytes).toString("latin1"),
  };
  const offset = fixed.readUInt32LE(42);
  if ([start - stated.offset + offset, offset].some((at) => leadsToMember(container, at, entry))) return true;
  return stated.entries > 0 && isTiled(container, start, stated);
}

const entryBytes = (fixed: Buffer): number =>
  [28, 30, 32].reduce((sum, at) => sum + fixed.readUInt16LE(at), ENTRY_BYTES);

function isTiled(container: Blob, start: number, { size, entries }: Stated): boolean {
  if (entries > ENTRIES_AT_MOST) return false;
  let length = 0;
  for (let left = entries; left > 0; left -= 1) {
    const fixed = container.bytes(start + length, ENTRY_BYTES);
    if (fixed.length < ENTRY_BYTES) return false;
    length += entryBytes(fixed);
    if (length > size) return false;
  }
  return length === size;
}

/** Whether a member is here that has the same name, or the bytes that its entry speaks of. */
export function leadsToMember(container: Blob, at: number, { method, name, ...entry }: Entry): boolean {
  const fixed = at < 0 ? Buffer.alloc(0) : container.bytes(at, LOCAL_BYTES);
  if (fixed.length < LOCAL_BYTES) return false;
  const nameBytes = fixed.readUInt16LE(26);
  const start = at + LOCAL_BYTES + nameBytes + fixed.readUInt16LE(28);
  if (start > container.size) return false;
  const written = container.bytes(at + LOCAL_BYTES, Math.min(nameBytes, name.length)).toString("latin1");
  if (name.length > 0 && written === name) return true;
  if (method === DEFLATED && entry.packedBytes > 0)
    return inflateStart(container.bytes(start, Math.min(entry.packedBytes, TRIED_BYTES)), INFLATED_BYTES) !== undefined;
  if (method !== STORED || entry.packedBytes !== entry.unpackedBytes || entry.packedBytes > STORED_BYTES) return false;
  return entry.packedBytes > 0 && crc32(container.bytes(start, entry.packedBytes)) === entry.crc;
}

const [STORED, DEFLATED] = [0, 8];
const TRIED_BYTES = 512;
const INFLATED_BYTES = 4096;
const STORED_BYTES = 64 * 1024;
