import {
  byteScanProgram,
  type Halves,
  HITS,
  type LookUp,
  type ScanTables,
  TEXT,
  WINDOW,
  WINDOW_BYTES,
} from "./byte-scan-program.ts";
import { holdsText, KIND_OF_BYTE, TEXT_BYTES } from "./text-stretch.ts";
import { compileWasm, instantiateWasm } from "./web-assembly.ts";

/**
 * Looks over a piece, and calls `mayBegin` wherever a pattern may begin, at its end or shortly behind it as well. With `untilText` it stops
 * where there is text, and answers true.
 */
export type ByteScan = (piece: Uint8Array, mayBegin: (at: number) => void, untilText: boolean) => boolean;

/** Undefined where there is no SIMD, or not the one that is asked for. A piece has WINDOW_BYTES at most. */
export function byteScan(patterns: readonly string[], lookUp: LookUp): ByteScan | undefined {
  const tables: ScanTables = {
    kinds: KIND_OF_BYTE,
    stretch: halvesOfKinds(KIND_OF_BYTE),
    textBytes: TEXT_BYTES,
    groups: halvesOfGroups(groupsOf(patterns)),
  };
  const program = byteScanProgram(tables, lookUp);
  let exported: { memory: { buffer: ArrayBuffer }; look(end: number, untilText: number): number };
  try {
    exported = instantiateWasm(compileWasm(program), {}).exports as typeof exported;
  } catch {
    return undefined;
  }
  const { memory, look } = exported;
  const window = new Uint8Array(memory.buffer, WINDOW);
  const hits = new Int32Array(memory.buffer, HITS, (WINDOW - HITS) / 4);
  return (piece, mayBegin, untilText) => {
    if (piece.length > WINDOW_BYTES) throw new Error("cannot look over more than a piece at once");
    window.set(piece);
    // What was there before must not look like more of it.
    window.fill(0, piece.length, piece.length + 32);
    const end = look(WINDOW + piece.length, untilText ? 1 : 0);
    if (end === TEXT) return true;
    for (let index = 0; index < (end - HITS) / 4; index += 2) {
      const place = hits[index] as number;
      for (let bits = hits[index + 1] as number; bits !== 0; bits &= bits - 1)
        mayBegin(place + 31 - Math.clz32(bits & -bits));
    }
    return false;
  };
}

/** The same where there is none: each place by its first two bytes. */
export function plainScan(patterns: readonly string[]): ByteScan {
  const mayBe = new Uint8Array(65_536);
  for (const pattern of patterns) mayBe[(pattern.charCodeAt(0) << 8) | pattern.charCodeAt(1)] = 1;
  return (piece, mayBegin, untilText) => {
    if (untilText && holdsText(piece)) return true;
    let pair = piece[0] ?? 0;
    for (let at = 1; at < piece.length; at += 1) {
      pair = ((pair & 0xff) << 8) | (piece[at] as number);
      if (mayBe[pair] === 1) mayBegin(at - 1);
    }
    return false;
  };
}

const GROUPS = 8;
/** By so many of its first bytes a pattern is looked for. */
const FRONT = 3;

/** Patterns that have their bytes in common go together, so that little else looks like them. */
function groupsOf(patterns: readonly string[]): string[][] {
  const groups: string[][] = Array.from({ length: GROUPS }, () => []);
  for (const pattern of patterns) {
    const dearer = (group: string[]): number => looksLike([...group, pattern]) - looksLike(group);
    const best = groups.reduce((one, other) => (dearer(other) < dearer(one) ? other : one));
    best.push(pattern);
  }
  return groups;
}

/** How much looks like any of them: of a byte, its halves may be those of different patterns. */
function looksLike(group: readonly string[]): number {
  const places = Array.from({ length: FRONT }, (_, place) => bytesAt(group, place));
  const halves = (bytes: number[]): number =>
    new Set(bytes.map((byte) => byte & 15)).size * new Set(bytes.map((byte) => byte >> 4)).size;
  return places.reduce((product, bytes) => (product * halves(bytes)) / 256, 1);
}

/** Behind the end of a pattern anything may stand. */
function bytesAt(group: readonly string[], place: number): number[] {
  return group.flatMap((pattern) =>
    place < pattern.length ? [pattern.charCodeAt(place)] : Array.from({ length: 256 }, (_, byte) => byte),
  );
}

function halvesOfGroups(groups: readonly string[][]): ScanTables["groups"] {
  const at = (place: number): Halves => {
    const halves = { lower: new Uint8Array(16), upper: new Uint8Array(16) };
    for (const [number, group] of groups.entries()) {
      for (const byte of bytesAt(group, place)) {
        halves.lower[byte & 15] = (halves.lower[byte & 15] as number) | (1 << number);
        halves.upper[byte >> 4] = (halves.upper[byte >> 4] as number) | (1 << number);
      }
    }
    return halves;
  };
  return [at(0), at(1), at(2)];
}

/** One bit for all upper halves that go with the same lower ones. */
function halvesOfKinds(kinds: Uint8Array): Halves {
  const halves = { lower: new Uint8Array(16), upper: new Uint8Array(16) };
  const rows = new Map<string, number>();
  for (let upper = 0; upper < 16; upper += 1) {
    const row = [...kinds.subarray(16 * upper, 16 * upper + 16)].map((kind) => (kind === 0 ? 0 : 1));
    if (!row.includes(1)) continue;
    const bit = rows.get(row.join("")) ?? 1 << rows.size;
    rows.set(row.join(""), bit);
    halves.upper[upper] = bit;
    for (const [lower, isText] of row.entries())
      if (isText) halves.lower[lower] = (halves.lower[lower] as number) | bit;
  }
  if (rows.size > 8) throw new Error("cannot tell so many kinds of bytes apart");
  return halves;
}
