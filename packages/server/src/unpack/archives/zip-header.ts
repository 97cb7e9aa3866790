import type { Blob } from "../blob.ts";
import { FLAG, NAME_BYTES, zip64Sizes } from "./zip-directory.ts";

/** What stands in front of a member of a zip archive. */
export interface LocalHeader {
  flags: number;
  method: number;
  encrypted: boolean;
  /** The sizes stand behind the member as well, or only there. */
  sizesFollow: boolean;
  crc: number;
  /** Where the packed bytes begin. */
  start: number;
  /** Unknown when the sizes follow the member. */
  packedBytes: number | undefined;
  unpackedBytes: number;
  zip64: boolean;
  /** As bytes, one character each; of a long one the beginning. */
  name: string;
  version: number;
}

export const LOCAL_HEADER: Buffer = Buffer.from("PK\x03\x04", "latin1");
const LOCAL_BYTES = 30;

/** Nothing, if no whole header is there. */
export function readLocalHeader(container: Blob, at: number): LocalHeader | undefined {
  const fixed = container.bytes(at, LOCAL_BYTES);
  if (at < 0 || fixed.length < LOCAL_BYTES || !fixed.subarray(0, 4).equals(LOCAL_HEADER)) return undefined;
  const [nameBytes, extraBytes] = [fixed.readUInt16LE(26), fixed.readUInt16LE(28)];
  const name = container.bytes(at + LOCAL_BYTES, Math.min(nameBytes, NAME_BYTES));
  const extra = container.bytes(at + LOCAL_BYTES + nameBytes, extraBytes);
  const flags = fixed.readUInt16LE(6);
  const sizes = zip64Sizes(extra, {
    unpackedBytes: fixed.readUInt32LE(22),
    packedBytes: fixed.readUInt32LE(18),
    offset: 0,
  });
  const sizesFollow = (flags & FLAG.sizesFollow) !== 0;
  const unknown = sizes.packedBytes === 0xffffffff || (sizes.packedBytes === 0 && sizesFollow);
  return {
    flags,
    method: fixed.readUInt16LE(8),
    encrypted: (flags & FLAG.encrypted) !== 0,
    sizesFollow,
    crc: fixed.readUInt32LE(14),
    start: at + LOCAL_BYTES + nameBytes + extraBytes,
    packedBytes: unknown ? undefined : sizes.packedBytes,
    unpackedBytes: sizes.unpackedBytes,
    zip64: sizes.zip64,
    name: name.toString("latin1"),
    version: fixed.readUInt16LE(4),
  };
}

/** Whether it makes sense: the four bytes of the signature alone stand in many programs. */
export function isLikelyHeader(header: LocalHeader | undefined): boolean {
  if (!header || (header.version & 0xff) > HIGHEST_VERSION) return false;
  return (header.method <= OLD_METHODS || header.method >= NEW_METHODS) && header.method < METHODS_END;
}

/** The highest that was ever given out is 63. */
const HIGHEST_VERSION = 100;
const OLD_METHODS = 20;
const NEW_METHODS = 92;
const METHODS_END = 100;
