import { CENTRAL_HEADER_BYTES } from "./zip-headers.ts";

/**
 * Finds everything in a stream of bytes that may be a record of a zip file: each place where "PK" stands. Nothing is
 * kept but the last few bytes, for the records that lie across two chunks.
 */
export interface ZipRecords {
  see(chunk: Buffer): void;
  /** Visits what stands in the last bytes. Answers how many bytes there were. */
  finish(): number;
}

/**
 * Called in the order of the stream, once for each place, whatever the chunks were. `bytes` from `index` on holds the
 * longest record, or all that is left of the stream.
 */
export type VisitRecord = (at: number, bytes: Buffer, index: number) => void;

const P = 0x50;
const K = 0x4b;
const PK = Buffer.of(P, K);
const NOTHING = Buffer.alloc(0);
/** What must be known behind a place before it can be visited: a header of a directory is the longest record. */
const BEHIND = CENTRAL_HEADER_BYTES - 1;
/** A native search costs about 200 ns for each hit. Chunks with more hits than one in so many bytes are a flood. */
const FLOOD_SPACING_BYTES = 64;

export function zipRecords(visit: VisitRecord): ZipRecords {
  /** The last bytes of the stream so far, whose places were not visited yet. */
  let pending = NOTHING;
  let pendingAt = 0;

  return {
    see(chunk) {
      let start = 0;
      if (pending.length > 0) {
        const joint = Buffer.concat([pending, chunk.subarray(0, BEHIND)]);
        const visited = Math.min(pending.length, Math.max(0, joint.length - BEHIND));
        search(joint, { at: pendingAt, from: 0, to: visited }, visit);
        if (visited < pending.length) {
          // The chunk was shorter than a record: it is all in `joint`, and waits with the rest.
          pending = joint.subarray(visited);
          pendingAt += visited;
          return;
        }
        start = pendingAt + pending.length;
      }
      const to = Math.max(0, chunk.length - BEHIND);
      search(chunk, { at: start, from: 0, to }, visit);
      pending = Buffer.from(chunk.subarray(to));
      pendingAt = start + to;
    },
    finish() {
      search(pending, { at: pendingAt, from: 0, to: pending.length }, visit);
      return pendingAt + pending.length;
    },
  };
}

/** Visits the places in `bytes` from `from` to before `to`. `at` is where in the stream `bytes` begins. */
function search(bytes: Buffer, { at, from, to }: { at: number; from: number; to: number }, visit: VisitRecord): void {
  let hits = 0;
  let index = bytes.indexOf(PK, from);
  while (index !== -1 && index < to) {
    visit(at + index, bytes, index);
    hits += 1;
    if (hits > 16 && hits > (index - from) / FLOOD_SPACING_BYTES) {
      searchFlood(bytes, { at, from: index + 2, to }, visit);
      return;
    }
    index = bytes.indexOf(PK, index + 2);
  }
}

/** The same, byte by byte: slower on ordinary bytes, faster where hostile ones hold little else than "PK". */
function searchFlood(
  bytes: Buffer,
  { at, from, to }: { at: number; from: number; to: number },
  visit: VisitRecord,
): void {
  for (let index = from; index < to; index += 1) {
    if (bytes[index] === P && bytes[index + 1] === K) visit(at + index, bytes, index);
  }
}
