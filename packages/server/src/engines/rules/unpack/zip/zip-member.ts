import { constants, inflateRawSync } from "node:zlib";
import type { Blob } from "../../look/blob.ts";
import type { MemberSink } from "../seven-zip/emscripten-files.ts";

/** What stands in front of a member of a zip archive. */
export interface LocalHeader {
  method: number;
  encrypted: boolean;
  /** Where the packed bytes begin. */
  start: number;
  /** Unknown when the sizes follow the member. */
  packedBytes: number | undefined;
}

export type MemberOutcome =
  | { kind: "emitted"; packedBytes: number }
  | { kind: "encrypted" | "too-large" | "unreadable" };

export const LOCAL_HEADER = 0x04034b50;
const LOCAL_BYTES = 30;
const FLAG = { encrypted: 0x1, sizesFollow: 0x8 } as const;
const METHOD = { stored: 0, deflated: 8 } as const;

/** Nothing, if no whole header is there. */
export function readLocalHeader(archive: Blob, at: number): LocalHeader | undefined {
  const header = archive.bytes(at, LOCAL_BYTES);
  if (header.length < LOCAL_BYTES || header.readUInt32LE(0) !== LOCAL_HEADER) return undefined;
  const flags = header.readUInt16LE(6);
  const packedBytes = header.readUInt32LE(18);
  const unknown = packedBytes === 0xffffffff || (packedBytes === 0 && (flags & FLAG.sizesFollow) !== 0);
  return {
    method: header.readUInt16LE(8),
    encrypted: (flags & FLAG.encrypted) !== 0,
    start: at + LOCAL_BYTES + header.readUInt16LE(26) + header.readUInt16LE(28),
    packedBytes: unknown ? undefined : packedBytes,
  };
}

/** Unpacks one member in memory and gives it to the sink, down to the last byte there is when it has been cut off. */
export function emitMember(
  archive: Blob,
  member: LocalHeader,
  options: { sink: MemberSink; memberBytes: number },
): MemberOutcome {
  if (member.encrypted) return { kind: "encrypted" };
  const end = member.packedBytes === undefined ? archive.size : member.start + member.packedBytes;
  const packed = archive.slice(member.start, Math.min(end, archive.size));
  if (packed.size > options.memberBytes) return { kind: "too-large" };
  const unpacked = unpackBytes(packed.bytes(0, packed.size), member, options.memberBytes);
  if ("kind" in unpacked) return unpacked;
  options.sink.begin("");
  options.sink.write(unpacked.content);
  options.sink.end();
  return { kind: "emitted", packedBytes: unpacked.taken };
}

function unpackBytes(
  packed: Buffer,
  { method, packedBytes }: LocalHeader,
  maxOutputLength: number,
): { content: Buffer; taken: number } | { kind: "too-large" | "unreadable" } {
  // Without sizes there is no telling where a stored member ends.
  if (method === METHOD.stored && packedBytes !== undefined) return { content: packed, taken: packed.length };
  if (method !== METHOD.deflated) return { kind: "unreadable" };
  try {
    // Node's types do not know that `info` changes the answer.
    const answer: unknown = inflateRawSync(packed, {
      finishFlush: constants.Z_SYNC_FLUSH,
      maxOutputLength,
      info: true,
    });
    const { buffer, engine } = answer as { buffer: Buffer; engine: { bytesWritten: number } };
    return { content: buffer, taken: engine.bytesWritten };
  } catch (error) {
    return { kind: error instanceof RangeError ? "too-large" : "unreadable" };
  }
}
