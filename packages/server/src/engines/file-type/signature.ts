import { type ByteAt, byteAt, bytePattern } from "../../unpack/byte-pattern.ts";
import { bytesAt, type Sample } from "./sample.ts";

/** Fits a sample that has the look of a kind, where bytes at fixed places do not suffice. */
export type Check = (sample: Sample) => boolean;

/**
 * A kind's name, and what gives it away, any of these: bytes (see `signatures`), a pattern of how a text begins, a check.
 * Tables are tried from top to bottom: bytes first, then text, then checks.
 */
export type KindTable = Readonly<Record<string, readonly [name: string, ...marks: (string | RegExp | Check)[]]>>;

export interface Signature {
  fits: Check;
  knownBy: readonly [ByteAt];
  /** A few letters and nothing else: a text may begin so. */
  readable: boolean;
}

/** Letters in that number are no accident. */
const MANY_LETTERS = 7;

/**
 * Bytes as `bytePattern` spells them, at the beginning or behind `@offset` (from the end if negative); ` & ` between what
 * must be there together, ` | ` between ways: `'!<arch>' 0a & @8 'debian' | @-512 'koly'`. One signature for each way.
 */
export function signatures(spelled: string): Signature[] {
  return spelled.split(" | ").map((way) => {
    const conditions = way.split(" & ");
    const parts = conditions.map(offsetAndPattern);
    const [{ offset, pattern } = { offset: 0, pattern: ".." }] = parts;
    const tests = parts.map(condition);
    const letters = [...way.matchAll(/'([^']*)'/g)].map(([, text]) => text).join("");
    const numbers = way.replaceAll(/@-?\d+|'[^']*'|\*\d+|\.\./g, "").match(/[0-9a-f]{2}/g) ?? [];
    return {
      fits: (sample) => tests.every((fits) => fits(sample)),
      knownBy: [byteAt(offset, pattern)],
      readable: letters.length < MANY_LETTERS && numbers.every(isLetter),
    };
  });
}

function offsetAndPattern(spelled: string): { offset: number; pattern: string } {
  const [, offset = "0", pattern = ""] = /^(?:@(-?\d+) )?(.*)$/.exec(spelled) ?? [];
  return { offset: Number(offset), pattern };
}

function condition({ offset, pattern }: { offset: number; pattern: string }): Check {
  const fits = bytePattern(pattern);
  if (offset >= 0) return ({ head }) => fits(head, offset);
  return (sample) => fits(bytesAt(sample, sample.sizeBytes + offset, -offset));
}

function isLetter(hex: string): boolean {
  return hex === "0a" || (hex >= "20" && hex < "7f");
}
