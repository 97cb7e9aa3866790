import {
  acrossTwo,
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
  minus,
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
  withoutLower,
} from "./wasm-code.ts";

/**
 * A program that looks over bytes sixteen at a time, in WebAssembly with SIMD, which JavaScript has none of. It notes where one of some
 * patterns may begin, by three bytes, and can stop at a stretch of text. Its memory:
 *
 *   0 kinds of bytes     HITS pairs of a place and which of the sixteen     WINDOW the bytes, and at least 18 zeros behind them
 */
export const HITS: number = 4096;
/** So many bytes at most; eight bytes of hits for each sixteen, and for those that are known behind the last byte. */
export const WINDOW_BYTES: number = 1024 * 1024 + 1024;
export const WINDOW: number = HITS + WINDOW_BYTES / 2 + 16;
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
  groups: readonly [Halves, Halves, Halves];
}

/** Looked up by the lower and the upper half of a byte; what counts is what both have. */
export interface Halves {
  lower: Uint8Array;
  upper: Uint8Array;
}

const PAGES = Math.ceil((WINDOW + WINDOW_BYTES + 64) / PAGE_BYTES);

/** The program's variables: what it is called with, and its own, numbers before vectors. */
const [end, untilText, at, out, strange, strangeBefore, from, count, counted] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
const [bytes, low, high, first, second, firstBefore, secondBefore, hit] = [9, 10, 11, 12, 13, 14, 15, 16];
const [zero, lowerBits, firstTable] = [17, 18, 19];
const NUMBERS = 7;
/** A hit is known when its last byte has been looked at: so many behind its first. */
const BEHIND = 2;
const FIRST_EIGHT = 0xff;

const byteAt = (address: Code): Code => [...address, 0x2d, 0, 0];
const lowerHalves = (value: Code): Code => both(value, get(lowerBits));
/** Two bytes are moved together, and what comes over from the other is taken away. */
const upperHalves = (value: Code): Code => lowerHalves([...value, ...number(4), 0xfd, 0x8d, 1]);
const anyBit = (value: Code): Code => [...value, 0xfd, 0x53];
/** A bit for each of the sixteen whose upper bit is set. */
const upperBits = (value: Code): Code => [...value, 0xfd, 0x64];
const isZeroEach = (value: Code): Code => upperBits([...value, ...get(zero), 0xfd, 0x23]);
const isNotZeroEach = (value: Code): Code => upperBits([...value, ...get(zero), 0xfd, 0x24]);
const noneOfFirstEight = (bits: Code): Code => isZero(and(bits, number(FIRST_EIGHT)));
const noneOfLastEight = (bits: Code): Code => isZero(withoutLower(bits, 8));
const kindAt = (address: Code): Code => byteAt(byteAt(address));

/**
 * How sixteen bytes are looked up at once. `shortest` leaves open what is found for numbers above 15, of which there are none here, and so
 * takes the processor one instruction instead of two; some versions of Node do not have it.
 */
export type LookUp = "shortest" | "plain";
const LOOK_UP: Record<LookUp, Code> = { shortest: [0xfd, 0x80, 2], plain: [0xfd, 0x0e] };

/** `look(end, untilText)`: looks at what stands from WINDOW to `end`. */
export function byteScanProgram(
  { kinds, stretch, textBytes, groups: [firsts, seconds, thirds] }: ScanTables,
  lookUp: LookUp,
): Uint8Array {
  // By that alone most of a file is passed over.
  if (kinds.subarray(0x80).some((kind) => kind !== 0)) throw new Error("cannot look for text with upper bits");
  // Constants are kept in variables: some processors take long to load one.
  const tables = [firsts, seconds, thirds, stretch];
  const constants = [new Uint8Array(16), new Uint8Array(16).fill(15), ...tables.flatMap((t) => [t.lower, t.upper])];
  const inHalves = (halves: Halves): Code => {
    const table = firstTable + 2 * tables.indexOf(halves);
    return both(
      [...get(table), ...get(low), ...LOOK_UP[lookUp]],
      [...get(table + 1), ...get(high), ...LOOK_UP[lookUp]],
    );
  };

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
  /**
   * Twenty-four in a row fill two eighths next to each other: only there it is worth to count, and once for each stretch. Nearly all that
   * is no text shows in one instruction, by upper bits.
   */
  const lookForText: Code[] = [
    [...upperBits(get(bytes)), ...set(strange)],
    when(
      noneOfFirstEight(get(strange)),
      when(
        or(isZero(get(strangeBefore)), noneOfLastEight(get(strange))),
        when(and(noneOfFirstEight(isZeroEach(inHalves(stretch))), isAtLeast(get(at), get(counted))), ...countText),
      ),
    ),
    [...withoutLower(get(strange), 8), ...set(strangeBefore)],
  ];
  const noteHit: Code[] = [
    store(get(out), minus(get(at), number(WINDOW + BEHIND))),
    store(get(out), isNotZeroEach(get(hit)), 4),
    [...plus(get(out), number(8)), ...set(out)],
  ];
  const body: Code = [
    ...constants.map((values, index): Code => [...sixteen(values), ...set(zero + index)]),
    [...number(WINDOW), ...set(at)],
    [...number(HITS), ...set(out)],
    [...number(FIRST_EIGHT), ...set(strangeBefore)],
    loop(
      leaveIf(isAtLeast(get(at), plus(get(end), number(BEHIND)))),
      [...sixteenAt(get(at)), ...set(bytes)],
      [...lowerHalves(get(bytes)), ...set(low)],
      [...upperHalves(get(bytes)), ...set(high)],
      [...inHalves(firsts), ...set(first)],
      [...inHalves(seconds), ...set(second)],
      [
        ...both(
          both(acrossTwo(get(firstBefore), get(first), 2), acrossTwo(get(secondBefore), get(second), 1)),
          inHalves(thirds),
        ),
        ...set(hit),
      ],
      [...get(first), ...set(firstBefore)],
      [...get(second), ...set(secondBefore)],
      when(anyBit(get(hit)), ...noteHit),
      when(get(untilText), ...lookForText),
      [...plus(get(at), number(16)), ...set(at)],
    ),
    get(out),
  ].flat();

  const vectors = zero - bytes + constants.length;
  return moduleOf({ name: "look", arguments: 2, pages: PAGES, numbers: NUMBERS, vectors, body, data: kinds });
}
