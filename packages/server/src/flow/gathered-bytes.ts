/** Bytes that come in chunks of any size, kept in one buffer: a list of single bytes would take a hundred times their memory. */
export interface GatheredBytes {
  readonly size: number;
  /** Copies: a source may use its buffer again. */
  add(chunk: Uint8Array): void;
  /** All of them, in memory of their own. */
  bytes(): Uint8Array<ArrayBuffer>;
}

/** `expected` are made room for at once. */
export function gatheredBytes(expected = 0): GatheredBytes {
  let buffer = new Uint8Array(expected);
  let size = 0;
  return {
    get size() {
      return size;
    },
    add(chunk) {
      const needed = size + chunk.byteLength;
      if (needed > buffer.length) {
        const larger = new Uint8Array(size === 0 ? needed : Math.max(needed, size * 2));
        larger.set(buffer.subarray(0, size));
        buffer = larger;
      }
      buffer.set(chunk, size);
      size = needed;
    },
    bytes: () => (size === buffer.length ? buffer : buffer.slice(0, size)),
  };
}
