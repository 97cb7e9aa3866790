/** How much of each end of a file the detectors see. */
const SAMPLE_BYTES = 64 * 1024;

/** Both ends of one file. For files of at most SAMPLE_BYTES, head and tail are the same, whole file. */
export interface Sample {
  head: Uint8Array;
  tail: Uint8Array;
  sizeBytes: number;
  /** What lies where the head points to, if that is between the two. */
  middle?: { at: number; bytes: Uint8Array };
}

const MIDDLE_BYTES = 4096;

/** Where the directory of a compound file, the sound behind a tag, or the first directory of a TIFF is. */
export function pointsTo(head: Uint8Array): number {
  if (u32be(head, 0) === 0xd0cf11e0) return (u32le(head, 48) + 1) * 2 ** Math.min(u16le(head, 30), 16);
  if (u32be(head, 0) >>> 8 === 0x494433) return id3End(head);
  if (u32be(head, 0) === 0x49492a00) return u32le(head, 4);
  return u32be(head, 0) === 0x4d4d002a ? u32be(head, 4) : 0;
}

/** Where an ID3 tag ends: its size is in four bytes of seven bits. */
export function id3End(head: Uint8Array): number {
  const sizes = head.subarray(6, 10);
  return 10 + sizes.reduce((sum, size) => sum * 128 + (size & 0x7f), 0) + ((head[5] ?? 0) & 0x10 ? 10 : 0);
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
  let middle: { at: number; bytes: Uint8Array } | undefined;

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

  /** Filled as the bytes pass by; what does not come stays out. */
  function keepMiddle(chunk: Uint8Array, at: number): void {
    middle ??= { at: pointsTo(first), bytes: new Uint8Array(0) };
    const next = middle.at + middle.bytes.length;
    if (middle.at < SAMPLE_BYTES || middle.bytes.length === MIDDLE_BYTES || next >= at + chunk.length) return;
    const piece = chunk.subarray(next - at, middle.at + MIDDLE_BYTES - at);
    middle = { at: middle.at, bytes: Buffer.concat([middle.bytes, piece]) };
  }

  function see(chunk: Uint8Array): void {
    if (headBytes < SAMPLE_BYTES) keepFirst(chunk);
    if (sizeBytes + chunk.length > SAMPLE_BYTES) {
      if (!ring) keepLast(first.subarray(0, headBytes), 0);
      keepLast(chunk, sizeBytes);
      keepMiddle(chunk, sizeBytes);
    }
    sizeBytes += chunk.length;
  }

  return {
    see,
    sample() {
      const head = first.subarray(0, headBytes);
      if (!ring) return { head, tail: head, sizeBytes };
      const start = sizeBytes % SAMPLE_BYTES;
      const tail = Buffer.concat([ring.subarray(start), ring.subarray(0, start)]);
      return { head, tail, sizeBytes, ...(middle && middle.bytes.length > 0 && { middle }) };
    },
  };
}

const NOTHING = new Uint8Array(0);

/** The sample of bytes that are all in memory, which are not copied. */
export function sampleOf(bytes: Uint8Array): Sample {
  const sizeBytes = bytes.length;
  if (sizeBytes <= SAMPLE_BYTES) return { head: bytes, tail: bytes, sizeBytes };
  const head = bytes.subarray(0, SAMPLE_BYTES);
  const tail = bytes.subarray(sizeBytes - SAMPLE_BYTES);
  const at = pointsTo(head);
  const middle = at < SAMPLE_BYTES ? NOTHING : bytes.subarray(at, at + MIDDLE_BYTES);
  return { head, tail, sizeBytes, ...(middle.length > 0 && { middle: { at, bytes: middle } }) };
}

/** The bytes from an offset of the file on, as far as the sample holds them: up to `length`, possibly none. */
export function bytesAt(sample: Sample, offset: number, length: number): Uint8Array {
  if (offset < 0) return new Uint8Array(0);
  if (offset < sample.head.length) return sample.head.subarray(offset, offset + length);
  const { middle } = sample;
  const inTail = offset - (sample.sizeBytes - sample.tail.length);
  if (inTail >= 0) return sample.tail.subarray(inTail, inTail + length);
  const inMiddle = middle ? offset - middle.at : -1;
  return inMiddle < 0 ? new Uint8Array(0) : (middle?.bytes.subarray(inMiddle, inMiddle + length) ?? new Uint8Array(0));
}

/** Numbers and letters at an offset; what is not there is zero, or missing. */
export function u16le(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
}

export function u16be(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}

export function u32le(bytes: Uint8Array, at: number): number {
  return u16le(bytes, at) + u16le(bytes, at + 2) * 0x10000;
}

export function u32be(bytes: Uint8Array, at: number): number {
  return u16be(bytes, at) * 0x10000 + u16be(bytes, at + 2);
}

export function textOf(bytes: Uint8Array, at: number, length: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1", at, at + length);
}
