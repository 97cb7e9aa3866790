/** Bytes that come in chunks of any size, kept in one buffer: a list of single bytes would take a hundred times their memory. */
export interface GatheredBytes {
  readonly size: number;
  /** Copies: a source may use its buffer again. */
  add(chunk: Uint8Array): void;
  /** For so many bytes in all, so that they are not copied when more come. */
  makeRoom(bytes: number): void;
  /** All of them, in memory of their own, which may be larger, but not twice as large. */
  bytes(): Uint8Array<ArrayBuffer>;
}

export function gatheredBytes(): GatheredBytes {
  let buffer = new Uint8Array();
  let size = 0;

  function grow(bytes: number): void {
    // Not filled with zeros, and no part of a pool.
    const larger = new Uint8Array(Buffer.allocUnsafeSlow(bytes).buffer);
    larger.set(buffer.subarray(0, size));
    buffer = larger;
  }

  return {
    get size() {
      return size;
    },
    makeRoom(bytes) {
      if (bytes > buffer.length) grow(bytes);
    },
    add(chunk) {
      const needed = size + chunk.byteLength;
      if (needed > buffer.length) grow(size === 0 ? needed : Math.max(needed, size * 2));
      buffer.set(chunk, size);
      size = needed;
    },
    bytes: () => (size * 2 > buffer.length ? buffer.subarray(0, size) : new Uint8Array(buffer.subarray(0, size))),
  };
}
