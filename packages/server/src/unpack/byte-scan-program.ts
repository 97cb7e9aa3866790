import {
  and,
  answer,
  both,
  type Code,
  get,
  isAtLeast,
  isEqual,
  isZero,
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
} from "./wasm-code.ts";

/**
 * A program that looks over bytes sixteen at a time, in WebAssembly with SIMD, which JavaScript has none of. It notes where one of some
 * patterns may begin, by three bytes, and can stop at a stretch of text. Its memory:
 *
 *   0 kinds of bytes     HITS pairs of a place and which of the sixteen     WINDOW the bytes, and at least 18 zeros behind them
 */
export const HITS: number = 4096;
/** So many bytes at most; eight bytes of hits for each sixteen. */
export const WINDOW_BYTES: number = 1024 * 1024 + 1024;
export const WINDOW: number = HITS + WINDOW_BYTES / 2;
/** What the program answers when there is text. Otherwise it is where the hits end. */
export const TEXT = 0;

export interface ScanTables {
  /** For each byte: 0 ends a stretch of text, 1 belongs to it, 2 is passed over. */
  kinds: Uint8Array;
  /** The same by halves: no bit in common where a byte ends a stretch. */
  stretch: Halves;
  /** So many that belong to it make a stretch, and no fewer than 24. */
  textBytes: number;
  /** For the first three bytes of patterns: a bit for each group of patterns that it may belong to. */
  groups: readonly Halves[];
}

/** Looked up by the lower and the upper half of a byte; what counts is what both have. */
export interface Halves {
  lower: Uint8Array;
  upper: Uint8Array;
}

const PAGES = Math.ceil((WINDOW + WINDOW_BYTES + 64) / PAGE_BYTES);

/** The program's variables: what it is called with, and its own, numbers before vectors. */
const [end, untilText, at, out, free, from, count, counted] = [0, 1, 2, 3, 4, 5, 6, 7];
const [low, high, bytes, hit, breaks, zero, lowerBits, firstTable] = [8, 9, 10, 11, 12, 13, 14, 15];
const NUMBERS = 6;

const byteAt = (address: Code): Code => [...address, 0x2d, 0, 0];
const lookedUp = (table: Code, index: Code): Code => [...table, ...index, 0xfd, 0x0e];
const upperHalves = (value: Code): Code => [...value, ...number(4), 0xfd, 0x6d];
const lowerHalves = (value: Code): Code => both(value, get(lowerBits));
const anyBit = (value: Code): Code => [...value, 0xfd, 0x53];
/** All bits of each of the sixteen that is zero. */
const zeros = (value: Code): Code => [...value, ...get(zero), 0xfd, 0x23];
/** A bit for each of the sixteen that is not. */
const bitsOf = (value: Code): Code => [...value, ...get(zero), 0xfd, 0x24, 0xfd, 0x64];
/** Whether one half of the sixteen is all zeros. */
const isHalfZero = (value: Code, half: 0 | 1): Code => [...value, 0xfd, 0x1d, half, 0x50];

/** Constants are kept in variables: some processors take long to load one. */
const inHalves = (table: number): Code =>
  both(lookedUp(get(firstTable + 2 * table), get(low)), lookedUp(get(firstTable + 2 * table + 1), get(high)));
const kindAt = (address: Code): Code => byteAt(byteAt(address));

/** `look(end, untilText)`: looks at what stands from WINDOW to `end`. */
export function byteScanProgram({ kinds, stretch, textBytes, groups }: ScanTables): Uint8Array {
  const readAt = (offset: number): Code[] => [
    [...sixteenAt(get(at), offset), ...set(bytes)],
    [...lowerHalves(get(bytes)), ...set(low)],
    [...upperHalves(get(bytes)), ...set(high)],
  ];
  const [lowFree, highFree] = [isHalfZero(get(breaks), 0), isHalfZero(get(breaks), 1)];
  const tables = [...groups, stretch].flatMap(({ lower, upper }) => [lower, upper]);
  const constants = [new Uint8Array(16), new Uint8Array(16).fill(15), ...tables];
  /** From where the stretch begins to where it ends. */
  const countText: Code[] = [
    [...get(at), ...set(from)],
    loop(leaveIf(isEqual(get(from), number(WINDOW))), leaveIf(isZero(kindAt(plus(get(from), number(-1))))), [
      ...plus(get(from), number(-1)),
      ...set(from),
    ]),
    [...number(0), ...set(count)],
    loop(
      leaveIf(isAtLeast(get(from), get(end))),
      leaveIf(isZero(kindAt(get(from)))),
      [...plus(get(count), isEqual(kindAt(get(from)), number(1))), ...set(count)],
      when(isEqual(get(count), number(textBytes)), answer(number(TEXT))),
      [...plus(get(from), number(1)), ...set(from)],
    ),
    [...get(from), ...set(counted)],
  ];
  const body: Code = [
    ...constants.map((values, index): Code => [...sixteen(values), ...set(zero + index)]),
    [...number(WINDOW), ...set(at)],
    [...number(HITS), ...set(out)],
    loop(
      leaveIf(isAtLeast(get(at), get(end))),
      ...readAt(0),
      [...zeros(inHalves(groups.length)), ...set(breaks)],
      [...inHalves(0), ...set(hit)],
      ...[1, 2].flatMap((place) => [...readAt(place), [...both(get(hit), inHalves(place)), ...set(hit)]]),
      when(anyBit(get(hit)), store(get(out), plus(get(at), number(-WINDOW))), store(get(out), bitsOf(get(hit)), 4), [
        ...plus(get(out), number(8)),
        ...set(out),
      ]),
      // Twenty-four in a row fill two eighths next to each other: only there it is worth to count, and once for each stretch.
      when(
        get(untilText),
        when(and(lowFree, or(get(free), highFree)), when(isAtLeast(get(at), get(counted)), ...countText)),
        [...highFree, ...set(free)],
      ),
      [...plus(get(at), number(16)), ...set(at)],
    ),
    get(out),
  ].flat();

  const vectors = zero - low + constants.length;
  return moduleOf({ name: "look", arguments: 2, pages: PAGES, numbers: NUMBERS, vectors, body, data: kinds });
}
