/** Bytes that come in chunks of any size, kept in one buffer: a list of single bytes would take a hundred times their memory. */
export interface GatheredBytes {
  readonly size: number;
  /** Copies: a source may use its buffer again. */
  add(chunk: Uint8Array): void;
  /** Takes memory for so many at once, where their number is known. */
  reserve(bytes: number): void;
  /** All of them, in memory of their own, which may be larger, but not twice as large. */
  bytes(): Uint8Array<ArrayBuffer>;
}

export function gatheredBytes(): GatheredBytes {
  return new Gathered();
}

class Gathered implements GatheredBytes {
  size = 0;
  #buffer = new Uint8Array();

  add(chunk: Uint8Array): void {
    const needed = this.size + chunk.byteLength;
    if (needed > this.#buffer.length) this.#grow(this.size === 0 ? needed : Math.max(needed, this.size * 2));
    this.#buffer.set(chunk, this.size);
    this.size = needed;
  }

  reserve(bytes: number): void {
    if (bytes > this.#buffer.length) this.#grow(bytes);
  }

  bytes(): Uint8Array<ArrayBuffer> {
    const gathered = this.#buffer.subarray(0, this.size);
    return this.size * 2 > this.#buffer.length ? gathered : new Uint8Array(gathered);
  }

  #grow(bytes: number): void {
    // Not filled with zeros, and no part of a pool.
    const larger = new Uint8Array(Buffer.allocUnsafeSlow(bytes).buffer);
    larger.set(this.#buffer.subarray(0, this.size));
    this.#buffer = larger;
  }
}
