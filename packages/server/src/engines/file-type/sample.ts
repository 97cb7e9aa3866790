/** How much of each end of a file the detectors see. */
export const SAMPLE_BYTES = 64 * 1024;

/** Both ends of one file. For files of at most SAMPLE_BYTES, head and tail are the same, whole file. */
export interface Sample {
  head: Uint8Array;
  tail: Uint8Array;
  sizeBytes: number;
}

/** Collects a sample while the chunks of a file pass by. Copies what it keeps; at most 2 × SAMPLE_BYTES. */
export interface Sampler {
  see(chunk: Uint8Array): void;
  /** The sample of all bytes seen so far. */
  sample(): Sample;
}

export function sampler(): Sampler {
  let first = new Uint8Array(0);
  let headBytes = 0;
  let sizeBytes = 0;
  // A ring that holds the last bytes; byte n of the file is at n % SAMPLE_BYTES. Small files never need it.
  let ring: Uint8Array | undefined;

  function keepLast(chunk: Uint8Array, at: number): void {
    ring ??= new Uint8Array(SAMPLE_BYTES);
    const skipped = Math.max(0, chunk.length - SAMPLE_BYTES);
    const last = chunk.subarray(skipped);
    const start = (at + skipped) % SAMPLE_BYTES;
    const untilEnd = last.subarray(0, SAMPLE_BYTES - start);
    ring.set(untilEnd, start);
    ring.set(last.subarray(untilEnd.length), 0);
  }

  function keepFirst(chunk: Uint8Array): void {
    const piece = chunk.subarray(0, SAMPLE_BYTES - headBytes);
    const needed = headBytes + piece.length;
    if (needed > first.length) {
      // Most small files come in one chunk: exactly its size then, doubled when more chunks follow.
      const larger = new Uint8Array(headBytes === 0 ? needed : Math.min(SAMPLE_BYTES, 2 * needed));
      larger.set(first.subarray(0, headBytes));
      first = larger;
    }
    first.set(piece, headBytes);
    headBytes = needed;
  }

  function see(chunk: Uint8Array): void {
    if (headBytes < SAMPLE_BYTES) keepFirst(chunk);
    if (sizeBytes + chunk.length > SAMPLE_BYTES) {
      if (!ring) keepLast(first.subarray(0, headBytes), 0);
      keepLast(chunk, sizeBytes);
    }
    sizeBytes += chunk.length;
  }

  return {
    see,
    sample() {
      const head = first.subarray(0, headBytes);
      if (!ring) return { head, tail: head, sizeBytes };
      const start = sizeBytes % SAMPLE_BYTES;
      return { head, tail: Buffer.concat([ring.subarray(start), ring.subarray(0, start)]), sizeBytes };
    },
  };
}

/** The sample of bytes that are all in memory. */
export function sampleOf(bytes: Uint8Array): Sample {
  return {
    head: bytes.subarray(0, SAMPLE_BYTES),
    tail: bytes.subarray(Math.max(0, bytes.length - SAMPLE_BYTES)),
    sizeBytes: bytes.length,
  };
}

/** The bytes from an offset of the file on, as far as the sample holds them: up to `length`, possibly none. */
export function bytesAt(sample: Sample, offset: number, length: number): Uint8Array {
  if (offset < 0) return new Uint8Array(0);
  if (offset < sample.head.length) return sample.head.subarray(offset, offset + length);
  const inTail = offset - (sample.sizeBytes - sample.tail.length);
  return inTail < 0 ? new Uint8Array(0) : sample.tail.subarray(inTail, inTail + length);
}
