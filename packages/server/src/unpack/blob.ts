import { readSync } from "node:fs";

/** A stretch of bytes, without the one at `end`. */
export interface Range {
  start: number;
  end: number;
}

/** Bytes that can be read anywhere, in memory or in an open file. Whoever opened the file closes it. */
export interface Blob {
  readonly size: number;
  readonly inMemory: boolean;
  /** Copies bytes from `position` on into `target`, and says how many: fewer than asked only at the end. */
  read(target: Uint8Array, position: number): number;
  /** The bytes themselves, without a copy if they are in memory; fewer than asked only at the end. */
  bytes(position: number, length: number): Buffer;
  slice(start: number, end: number): Blob;
  /** Where the bytes are, for whoever reads the file in another thread. */
  readonly file?: { descriptor: number; start: number };
}

export function memoryBlob(content: Uint8Array): Blob {
  const buffer = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  // Everybody who asks what it is wants its beginning, the same as the one before.
  let head = buffer;
  function bytes(position: number, length: number): Buffer {
    if (position !== 0) return buffer.subarray(Math.max(0, position), Math.max(0, position + length));
    const wanted = Math.max(0, Math.min(length, buffer.length));
    if (head.length !== wanted) head = buffer.subarray(0, wanted);
    return head;
  }
  return {
    size: buffer.length,
    inMemory: true,
    // Behind the end there is nothing, which is no mistake: 7-Zip looks there in archives that are cut.
    read: (target, position) =>
      position < buffer.length
        ? buffer.copy(target, 0, Math.max(0, position), Math.max(0, position + target.length))
        : 0,
    bytes,
    slice: (start, end) => memoryBlob(buffer.subarray(start, Math.max(start, end))),
  };
}

/** A stretch of an open file. */
export function fileBlob(descriptor: number, start: number, size: number): Blob {
  /** Before its first byte there is nothing, nor behind its last, as in memory. */
  function read(target: Uint8Array, position: number): number {
    const from = Math.max(0, position);
    const wanted = Math.max(0, Math.min(position + target.length, size) - from);
    let done = 0;
    while (done < wanted) {
      const count = readSync(descriptor, target, done, wanted - done, start + from + done);
      if (count === 0) throw new Error("cannot read the spooled file: it is shorter than what was written");
      done += count;
    }
    return done;
  }
  return {
    size,
    inMemory: false,
    file: { descriptor, start },
    read,
    bytes(position, length) {
      const from = Math.max(0, position);
      const target = Buffer.allocUnsafeSlow(Math.max(0, Math.min(position + length, size) - from));
      read(target, from);
      return target;
    },
    slice: (from, to) => fileBlob(descriptor, start + from, Math.max(0, Math.min(to, size) - from)),
  };
}

/** Several one behind the other, for a reader that wants one file. */
export function joinedBlob(parts: readonly Blob[]): Blob {
  const placed: { start: number; part: Blob }[] = [];
  let size = 0;
  for (const part of parts) {
    placed.push({ start: size, part });
    size += part.size;
  }
  /** The first part that ends behind a position: there may be thousands, and thousands of reads. */
  function partAt(position: number): number {
    let [low, high] = [0, placed.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const { start, part } = placed[middle] as (typeof placed)[number];
      if (start + part.size > position) high = middle;
      else low = middle + 1;
    }
    return low;
  }
  function read(target: Uint8Array, position: number): number {
    let done = 0;
    for (let index = partAt(position); index < placed.length && done < target.length; index += 1) {
      const { start, part } = placed[index] as (typeof placed)[number];
      if (part.size > 0) done += part.read(target.subarray(done), position + done - start);
    }
    return done;
  }
  const bytes = (position: number, length: number): Buffer => {
    const target = Buffer.alloc(Math.max(0, Math.min(length, size - position)));
    read(target, position);
    return target;
  };
  return {
    size,
    inMemory: parts.every((part) => part.inMemory),
    read,
    bytes,
    slice: (start, end) => memoryBlob(bytes(start, end - start)),
  };
}

/** The same bytes, and which of them were read. */
export function watchedBlob(content: Blob): { blob: Blob; read(): Range[] } {
  const recorder = rangeRecorder();
  const blob: Blob = {
    ...content,
    read(target, position) {
      const count = content.read(target, position);
      recorder.add(position, position + count);
      return count;
    },
  };
  return { blob, read: recorder.ranges };
}

/**
 * Piece by piece, each of which repeats `overlap` bytes of the one before. A piece is good until the next is asked for: a
 * buffer for each would leave garbage of the size of the file, outside the heap that is watched.
 */
export function* piecesOf(content: Blob, pieceBytes: number, overlap = 0): Generator<{ at: number; bytes: Buffer }> {
  let buffer: Buffer | undefined;
  for (let at = 0; at < content.size; at += pieceBytes) {
    const length = Math.min(pieceBytes + overlap, content.size - at);
    if (content.inMemory) yield { at, bytes: content.bytes(at, length) };
    else {
      buffer ??= Buffer.allocUnsafeSlow(length);
      yield { at, bytes: readInto(content, buffer.subarray(0, length), at) };
    }
  }
}

/** The bytes from a position on, in memory that is used again; as they are, if they are in memory anyway. */
export function readInto(content: Blob, buffer: Buffer, at: number): Buffer {
  if (content.inMemory) return content.bytes(at, buffer.length);
  return buffer.subarray(0, content.read(buffer, at));
}

/** The stretches of 0 to `size` that none of the ranges covers, in order. */
export function gaps(covered: readonly Range[], size: number): Range[] {
  const found: Range[] = [];
  let at = 0;
  for (const { start, end } of [...covered].sort((a, b) => a.start - b.start)) {
    if (start > at) found.push({ start: at, end: Math.min(start, size) });
    at = Math.max(at, end);
    if (at >= size) return found;
  }
  if (at < size) found.push({ start: at, end: size });
  return found;
}

/** Notes what is read, in few ranges: reading goes on where it stopped, most of the time. */
export function rangeRecorder(): { add(start: number, end: number): void; ranges(): Range[] } {
  let ranges: Range[] = [];
  function merge(): void {
    const sorted = ranges.sort((a, b) => a.start - b.start);
    ranges = [];
    for (const range of sorted) {
      const last = ranges.at(-1);
      if (last && range.start <= last.end) last.end = Math.max(last.end, range.end);
      else ranges.push(range);
    }
  }
  return {
    add(start, end) {
      const last = ranges.at(-1);
      if (last && start >= last.start && start <= last.end) last.end = Math.max(last.end, end);
      else ranges.push({ start, end });
      if (ranges.length > MERGED_FROM) merge();
    },
    ranges() {
      merge();
      return ranges;
    },
  };
}

const MERGED_FROM = 10_000;
