import { hash } from "node:crypto";

/** Which versions of which objects were seen, in eight bytes for each: there may be millions. */
export interface ObjectMarks {
  has(mark: number): boolean;
}

export interface GrowingMarks {
  add(mark: number): void;
  /** All that were added. Nothing is added after that. */
  done(): ObjectMarks;
}

/** 53 bits of a hash: that a new object among millions looks like another is less likely than one in a billion. */
export function markOf(key: string, version: string): number {
  const digest = hash("sha256", `${version} ${key}`, "buffer");
  return digest.readUIntBE(0, 6) * 32 + (digest.readUInt8(6) >> 3);
}

export function growingMarks(): GrowingMarks {
  let marks = new Float64Array(1024);
  let count = 0;
  return {
    add(mark) {
      if (count === marks.length) {
        const more = new Float64Array(count * 2);
        more.set(marks);
        marks = more;
      }
      marks[count] = mark;
      count += 1;
    },
    done() {
      const sorted = marks.slice(0, count).sort();
      return { has: (mark) => sorted[indexOf(sorted, mark)] === mark };
    },
  };
}

/** Where it is in sorted numbers, or where it would be. */
function indexOf(sorted: Float64Array, mark: number): number {
  let from = 0;
  let to = sorted.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((sorted[middle] ?? 0) < mark) from = middle + 1;
    else to = middle;
  }
  return from;
}
