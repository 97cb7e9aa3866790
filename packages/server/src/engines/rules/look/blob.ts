import { readSync } from "node:fs";

/** Bytes that can be read anywhere, in memory or in an open file. Whoever opened the file closes it. */
export interface Blob {
  readonly size: number;
  readonly inMemory: boolean;
  /** Copies bytes from `position` on into `target`, and says how many: fewer than asked only at the end. */
  read(target: Uint8Array, position: number): number;
  /** The bytes themselves, without a copy if they are in memory; fewer than asked only at the end. */
  bytes(position: number, length: number): Buffer;
  slice(start: number, end: number): Blob;
}

export function memoryBlob(content: Uint8Array): Blob {
  const buffer = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  return {
    size: buffer.length,
    inMemory: true,
    read: (target, position) => buffer.copy(target, 0, position, position + target.length),
    bytes: (position, length) => buffer.subarray(Math.max(0, position), Math.max(0, position + length)),
    slice: (start, end) => memoryBlob(buffer.subarray(start, Math.max(start, end))),
  };
}

/** A stretch of an open file. */
export function fileBlob(descriptor: number, start: number, size: number): Blob {
  function read(target: Uint8Array, position: number): number {
    const wanted = Math.min(target.length, Math.max(0, size - position));
    let done = 0;
    while (done < wanted) {
      const count = readSync(descriptor, target, done, wanted - done, start + position + done);
      if (count === 0) throw new Error("cannot read the spooled file: it is shorter than what was written");
      done += count;
    }
    return done;
  }
  return {
    size,
    inMemory: false,
    read,
    bytes(position, length) {
      const target = Buffer.allocUnsafeSlow(Math.max(0, Math.min(length, size - position)));
      read(target, position);
      return target;
    },
    slice: (from, to) => fileBlob(descriptor, start + from, Math.max(0, Math.min(to, size) - from)),
  };
}
