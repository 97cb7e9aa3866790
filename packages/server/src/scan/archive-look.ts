import { beyondLimits, type Objection } from "./objection.ts";
import { HEAD_BYTES } from "./zip/file-head.ts";
import { zipLook } from "./zip/zip-look.ts";

export type { Objection } from "./objection.ts";

/**
 * A look at a file's own archive directory while it passes to the engine. Engines say OK about archives that they did
 * not unpack, or not to the end; the directory tells that beforehand. Only fixed fields of headers are read, nothing is
 * unpacked; of the file nothing is kept but its first bytes and 40 bytes for each member. Archives within packed
 * members cannot be seen from here: they stay with the engine.
 */
export interface ArchiveLook {
  see(chunk: Uint8Array): void;
  /** Call once, when the file has passed. Undefined: nothing in the file's structure speaks against an engine's OK. */
  finish(): Objection | undefined;
}

export interface ArchiveLimits {
  maxEntries: number;
  maxMemberBytes: number;
  maxTotalBytes: number;
}

const MIB = 1024 * 1024;

const archiveLimits: ArchiveLimits = {
  /** clamd's time grows with the square of the entries: 20,000 empty ones hold a thread for 45 seconds. MaxFiles is the same. */
  maxEntries: 10_000,
  /** At the 7 MB/s of a full signature set a member of this size fits into the 60 seconds of a synchronous request. */
  maxMemberBytes: 256 * MIB,
  /** clamd handles no more than this in one file. MaxScanSize is the same. */
  maxTotalBytes: 2_000 * MIB,
};

const GZIP_HEAD = "\x1f\x8b\x08";
const GZIP_SIZE_BYTES = 4;

export function archiveLook(limits: ArchiveLimits = archiveLimits): ArchiveLook {
  let head = "";
  let tail = "";
  const zip = zipLook(limits, () => head);

  return {
    see(chunk) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
      if (head.length < HEAD_BYTES) head += bytes.toString("latin1", 0, HEAD_BYTES - head.length);
      tail = (tail + bytes.toString("latin1", Math.max(0, bytes.length - GZIP_SIZE_BYTES))).slice(-GZIP_SIZE_BYTES);
      zip.see(bytes);
    },
    finish() {
      const objection = zip.finish();
      return objection?.hopeless ? objection : (judgeGzip() ?? objection);
    },
  };

  /** A gzip file ends with its unpacked size. One that lies there is left to the engine's own limits. */
  function judgeGzip(): Objection | undefined {
    if (!head.startsWith(GZIP_HEAD) || tail.length < GZIP_SIZE_BYTES) return undefined;
    const unpackedBytes = Buffer.from(tail, "latin1").readUInt32LE(0);
    return unpackedBytes > limits.maxMemberBytes ? beyondLimits(`a gzip of ${unpackedBytes} bytes`) : undefined;
  }
}
