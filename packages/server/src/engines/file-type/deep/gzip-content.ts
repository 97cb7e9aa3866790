import { constants, gunzipSync } from "node:zlib";
import type { Kind } from "../kinds.ts";

/** Enough for the names in a gzip header and the first 512 bytes of what is packed. */
const PACKED_BYTES = 2048;
/** Deflate makes at most 1032 bytes of one. */
const MOST_BYTES = PACKED_BYTES * 1032;

/** What kind of gzip it is by the first bytes packed in it: a tar archive or anything else. */
export function gzipKind(head: Uint8Array): Kind {
  try {
    const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MOST_BYTES };
    const start = gunzipSync(head.subarray(0, PACKED_BYTES), options);
    return start.toString("latin1", 257, 262) === "ustar" ? "tar.gz" : "gz";
  } catch {
    return "gz";
  }
}
