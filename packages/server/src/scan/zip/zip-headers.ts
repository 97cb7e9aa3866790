/** The records of a zip file, as far as we look at them: fixed fields at fixed places, no names, no extra fields. */

export const LOCAL_HEADER_BYTES = 30;
export const CENTRAL_HEADER_BYTES = 46;
export const END_RECORD_BYTES = 22;
export const ZIP64_LOCATOR_BYTES = 20;

export const signatures = {
  central: 0x02014b50,
  local: 0x04034b50,
  digitalSignature: 0x05054b50,
  end: 0x06054b50,
  zip64End: 0x06064b50,
  zip64Locator: 0x07064b50,
} as const;

/** The records we know, and how many bytes of each we read. */
export const recordBytes: ReadonlyMap<number, number> = new Map<number, number>([
  [signatures.central, CENTRAL_HEADER_BYTES],
  [signatures.local, LOCAL_HEADER_BYTES],
  [signatures.digitalSignature, 6],
  [signatures.end, END_RECORD_BYTES],
  [signatures.zip64End, 4],
  [signatures.zip64Locator, 4],
]);

/** The real value is in the zip64 extra field. */
export const IN_ZIP64_FIELD = 0xffffffff;

export const FLAG_ENCRYPTED = 0x0001;
/** Sizes follow the member; those in the local header mean nothing. */
const FLAG_DESCRIPTOR = 0x0008;
export const FLAG_STRONGLY_ENCRYPTED = 0x0040;
/** The local header hides its values, as in archives with an encrypted directory. */
export const FLAG_MASKED = 0x2000;

export const METHOD_STORED = 0;

/** What the two headers of a member have in common. */
interface MemberHeader {
  at: number;
  flags: number;
  method: number;
  packedBytes: number;
  unpackedBytes: number;
}

export interface LocalHeader extends MemberHeader {
  /** Where the packed bytes begin. */
  contentAt: number;
}

export interface CentralHeader extends MemberHeader {
  /** Where the local header should be, as far as the archive itself knows where it begins. */
  localOffset: number;
  /** Where the next record must begin. */
  endAt: number;
}

export interface EndRecord {
  at: number;
  /** Number of this disk, and of the one the directory begins on. 0 in all archives of one piece. */
  disks: number;
  entriesHere: number;
  entries: number;
  directoryBytes: number;
  directoryOffset: number;
  commentBytes: number;
}

export function centralHeader(at: number, bytes: Buffer, index: number): CentralHeader {
  const variable = bytes.readUInt16LE(index + 28) + bytes.readUInt16LE(index + 30) + bytes.readUInt16LE(index + 32);
  return {
    at,
    flags: bytes.readUInt16LE(index + 8),
    method: bytes.readUInt16LE(index + 10),
    packedBytes: bytes.readUInt32LE(index + 20),
    unpackedBytes: bytes.readUInt32LE(index + 24),
    localOffset: bytes.readUInt32LE(index + 42),
    endAt: at + CENTRAL_HEADER_BYTES + variable,
  };
}

export function endRecord(at: number, bytes: Buffer, index: number): EndRecord {
  return {
    at,
    disks: bytes.readUInt32LE(index + 4),
    entriesHere: bytes.readUInt16LE(index + 8),
    entries: bytes.readUInt16LE(index + 10),
    directoryBytes: bytes.readUInt32LE(index + 12),
    directoryOffset: bytes.readUInt32LE(index + 16),
    commentBytes: bytes.readUInt16LE(index + 20),
  };
}

/** Whether a member's sizes stand in its local header, and not behind it. */
export function isSized(local: LocalHeader): boolean {
  return (local.flags & FLAG_DESCRIPTOR) === 0;
}
