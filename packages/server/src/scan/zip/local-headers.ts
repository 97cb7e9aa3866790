import { LOCAL_HEADER_BYTES, type LocalHeader } from "./zip-headers.ts";

/**
 * Remembers the header in front of every member, until the directory at the end of the file tells which of them count.
 * The one part of the look that grows with the file: 40 bytes for each header, at most 2.6 MB.
 */
export interface LocalHeaders {
  add(at: number, bytes: Buffer, index: number): void;
  /** The number of the header at this place, or -1. Headers are numbered in the order of the file. */
  indexAt(place: number): number;
  get(index: number): LocalHeader | undefined;
  count(): number;
  /** Some headers were not remembered: a missing one says nothing. */
  overflowed(): boolean;
}

/** Six times the number of entries we accept; the rest is room for members that are themselves stored archives. */
const MAX_HEADERS = 65_536;
/** Where it is, flags and method, packed size, unpacked size, length of name and extra field. */
const WORDS = 5;

export function localHeaders(): LocalHeaders {
  /** Plain numbers: most files have few members or none, and typed arrays are dear to make. */
  const words: number[] = [];
  let count = 0;
  let overflowed = false;

  return {
    add(at, bytes, index) {
      if (count === MAX_HEADERS) {
        overflowed = true;
        return;
      }
      words.push(
        at,
        bytes.readUInt32LE(index + 6),
        bytes.readUInt32LE(index + 18),
        bytes.readUInt32LE(index + 22),
        bytes.readUInt16LE(index + 26) + bytes.readUInt16LE(index + 28),
      );
      count += 1;
    },
    indexAt(place) {
      let low = 0;
      let high = count;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (word(middle, 0) < place) low = middle + 1;
        else high = middle;
      }
      return low < count && word(low, 0) === place ? low : -1;
    },
    get(index) {
      if (index < 0 || index >= count) return undefined;
      const at = word(index, 0);
      return {
        at,
        flags: word(index, 1) & 0xffff,
        method: word(index, 1) >>> 16,
        packedBytes: word(index, 2),
        unpackedBytes: word(index, 3),
        contentAt: at + LOCAL_HEADER_BYTES + word(index, 4),
      };
    },
    count: () => count,
    overflowed: () => overflowed,
  };

  function word(header: number, index: number): number {
    return words[header * WORDS + index] ?? 0;
  }
}
