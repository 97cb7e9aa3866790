import {
  and,
  both,
  type Code,
  get,
  isAtLeast,
  leaveIf,
  loop,
  moduleOf,
  number,
  or,
  PAGE_BYTES,
  plus,
  set,
  sixteen,
  sixteenAt,
  store,
  when,
} from "../../unpack/wasm-code.ts";
import { compileWasm, instantiateWasm } from "../../unpack/web-assembly.ts";

/**
 * Looks at three bytes at every other place, eight places at a time: JavaScript takes three times as long. `visit` is called with the first of
 * eight places of which at least one may be known, and says whether to go on.
 */
export type GroupScan = (content: Uint8Array, visit: (first: number) => boolean) => void;

const PLACES_AT_ONCE = 8;
export const BYTES_AT_ONCE: number = 2 * PLACES_AT_ONCE;

/** How the hash of three bytes is made: these bits are set, it is multiplied, and so many of the upper bits are taken. */
export interface GroupHash {
  alwaysSet: number;
  factor: number;
  bits: number;
}

/** A bit for each hash, in whole numbers of 32 bits; at most 2 ** 18 of them. */
export type KnownHashes = Int32Array;

/** The program's memory: the known hashes, numbers of places, and the bytes, with zeros behind them. */
const HITS = 32 * 1024;
const WINDOW_BYTES = 64 * 1024;
const WINDOW: number = HITS + (WINDOW_BYTES / BYTES_AT_ONCE) * Int32Array.BYTES_PER_ELEMENT;
/** So much is read behind a window. */
const BEYOND = 16;

/** Undefined where there is no SIMD. */
export function groupScan(known: KnownHashes, hash: GroupHash): GroupScan | undefined {
  if (known.byteLength > HITS) throw new Error("cannot hold so many hashes");
  let exported: { memory: { buffer: ArrayBuffer }; look(end: number): number };
  try {
    exported = instantiateWasm(compileWasm(program(hash)), {}).exports as typeof exported;
  } catch {
    return undefined;
  }
  const { memory, look } = exported;
  new Int32Array(memory.buffer, 0, known.length).set(known);
  const window = new Uint8Array(memory.buffer, WINDOW);
  const hits = new Int32Array(memory.buffer, HITS, (WINDOW - HITS) / Int32Array.BYTES_PER_ELEMENT);
  return (content, visit) => {
    for (let start = 0; start < content.length; start += WINDOW_BYTES) {
      const piece = content.subarray(start, start + WINDOW_BYTES + BEYOND);
      window.set(piece);
      // What was there before must not look like more of it.
      window.fill(0, piece.length, piece.length + 2 * BEYOND);
      const end = look(WINDOW + Math.min(piece.length, WINDOW_BYTES));
      for (let index = 0; index < (end - HITS) / Int32Array.BYTES_PER_ELEMENT; index += 1) {
        if (!visit(start + (hits[index] as number))) return;
      }
    }
  };
}

/** The program's variables: what it is called with, and its own, numbers before vectors. */
const [end, at, out, hash] = [0, 1, 2, 3];
const [hashes, constants] = [4, 6];
const NUMBERS = 3;

const fours = (value: number): Uint8Array => new Uint8Array(Int32Array.of(value, value, value, value).buffer);
const any = (one: Code, other: Code): Code => [...one, ...other, 0xfd, 0x50];
const product = (one: Code, other: Code): Code => [...one, ...other, 0xfd, 0xb5, 0x01];
const shifted = (value: Code, bits: number): Code => [...value, ...number(bits), 0xfd, 0xad, 0x01];
/** Four bytes at each of the first four even places. */
const OVERLAPPING = Uint8Array.of(0, 1, 2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7, 8, 9);
const arranged = (value: Code, order: Code): Code => [...value, ...order, 0xfd, 0x0e];
const lane = (value: Code, index: number): Code => [...value, 0xfd, 0x1b, index];
/** The lowest bit of what is left: of the word that this hash is in, shifted by the lower five bits of the hash. */
const bitOf = (value: Code): Code => [
  ...[...value, 0x22, hash],
  ...[...number(3), 0x76, ...number(-4), 0x71, 0x28, 2, 0],
  ...[...get(hash), 0x76],
];

/** `look(end)`: looks at what stands from WINDOW to `end`, and answers where its numbers end. */
function program({ alwaysSet, factor, bits }: GroupHash): Uint8Array {
  const values = [...[0xffffff, alwaysSet, factor].map(fours), OVERLAPPING];
  const [threeBytes = [], always = [], times = [], order = []] = values.map((_, index) => get(constants + index));
  const halves = [0, 1];
  const hashesOf = (half: number): Code =>
    shifted(product(any(both(arranged(sixteenAt(get(at), 8 * half), order), threeBytes), always), times), 32 - bits);
  const isKnown = halves
    .flatMap((half) => [0, 1, 2, 3].map((index) => bitOf(lane(get(hashes + half), index))))
    .reduce(or);
  const body: Code = [
    ...values.map((value, index): Code => [...sixteen(value), ...set(constants + index)]),
    [...number(WINDOW), ...set(at)],
    [...number(HITS), ...set(out)],
    loop(
      leaveIf(isAtLeast(get(at), get(end))),
      ...halves.map((half): Code => [...hashesOf(half), ...set(hashes + half)]),
      when(and(isKnown, number(1)), store(get(out), plus(get(at), number(-WINDOW))), [
        ...plus(get(out), number(Int32Array.BYTES_PER_ELEMENT)),
        ...set(out),
      ]),
      [...plus(get(at), number(BYTES_AT_ONCE)), ...set(at)],
    ),
    get(out),
  ].flat();
  return moduleOf({
    name: "look",
    arguments: 1,
    pages: Math.ceil((WINDOW + WINDOW_BYTES + 3 * BEYOND) / PAGE_BYTES),
    numbers: NUMBERS,
    vectors: constants - hashes + values.length,
    body,
  });
}
