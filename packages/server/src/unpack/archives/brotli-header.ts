/**
 * Whether a stream of brotli (RFC 7932) in a content of so many bytes may begin so: false only where its decoder says no, or
 * misses bytes behind the last. It looks at the numbers of the first block and at the first prefix code, whose lengths must
 * add up, which they hardly ever do in noise; to set a decoder up takes a hundred times as long. Where the bytes end before that
 * is known, they may be one.
 */
export function mayBeginBrotli(packed: Uint8Array, size: number): boolean {
  const bits = bitReader(packed);
  return (readWindow(bits) && readFirstBlock(bits, size)) || bits.isCut();
}

interface BitReader {
  /** As a number, the first bit the lowest; zeros behind the end. */
  take(count: number): number;
  peek(count: number): number;
  /** What stands before the next whole byte, which must be nothing. */
  toNextByte(): number;
  /** How many bytes have been begun. */
  bytesTaken(): number;
  isCut(): boolean;
}

function bitReader(bytes: Uint8Array): BitReader {
  let at = 0;
  function peek(count: number): number {
    const first = at >> 3;
    const word = (bytes[first] ?? 0) | ((bytes[first + 1] ?? 0) << 8) | ((bytes[first + 2] ?? 0) << 16);
    return (word >> (at & 7)) & ((1 << count) - 1);
  }
  function take(count: number): number {
    const value = peek(count);
    at += count;
    return value;
  }
  return {
    take,
    peek,
    toNextByte: () => take((8 - (at & 7)) & 7),
    bytesTaken: () => (at + 7) >> 3,
    isCut: () => at > bytes.length * 8,
  };
}

/** How far back a stream refers, in an exponent: none is wrong but one that is reserved, and those of the larger kind. */
function readWindow(bits: BitReader): boolean {
  if (bits.take(1) === 0 || bits.take(3) !== 0 || bits.take(3) !== 1) return true;
  if (bits.take(1) === 1) return false;
  const exponent = bits.take(6);
  return exponent >= 10 && exponent <= 30;
}

const DIGITS_LEAST = 4;
const PASSED_OVER = 3;

function readFirstBlock(bits: BitReader, size: number): boolean {
  const isLast = bits.take(1) === 1;
  // An empty one, at the end of which nothing may stand in the byte.
  if (isLast && bits.take(1) === 1) return bits.toNextByte() === 0;
  const digits = bits.take(2);
  if (digits === PASSED_OVER) {
    // One bit is reserved.
    if (bits.take(1) === 1) return false;
    const length = readNumber(bits, { digits: bits.take(2), width: 8, least: 1 });
    return length !== undefined && isStored(bits, length, size);
  }
  const length = readNumber(bits, { digits: digits + DIGITS_LEAST, width: 4, least: DIGITS_LEAST });
  if (length === undefined) return false;
  const isPlain = !isLast && bits.take(1) === 1;
  return isPlain ? isStored(bits, length, size) : readCodes(bits);
}

/** One more than what is written; nothing where there is a digit too many, which must not be zero. */
function readNumber(
  bits: BitReader,
  { digits, width, least }: { digits: number; width: number; least: number },
): number | undefined {
  let value = 0;
  for (let digit = 0; digit < digits; digit += 1) {
    const next = bits.take(width);
    if (next === 0 && digit === digits - 1 && digits > least) return undefined;
    value |= next << (digit * width);
  }
  return digits === 0 ? 0 : value + 1;
}

/** Bytes as they are, from the next one on. */
function isStored(bits: BitReader, length: number, size: number): boolean {
  return bits.toNextByte() === 0 && bits.bytesTaken() + length <= size;
}

const LITERALS = 256;
/** A number of block types for each of literals, commands and distances. */
const BLOCK_KINDS = 3;

/** Up to the first prefix code, which is that of block types, of a context map, or of literals. */
function readCodes(bits: BitReader): boolean {
  for (let kind = 0; kind < BLOCK_KINDS; kind += 1) {
    const types = readCount(bits);
    if (types > 1) return readPrefixCode(bits, types + 2);
  }
  const [distanceBits, contextMode] = [6, 2];
  bits.take(distanceBits + contextMode);
  const trees = readCount(bits);
  if (trees === 1) {
    // The map of distances comes before the codes.
    const distanceTrees = readCount(bits);
    return distanceTrees > 1 ? readMapCode(bits, distanceTrees) : readPrefixCode(bits, LITERALS);
  }
  return readMapCode(bits, trees);
}

/** Its code has a symbol for each tree, and those for runs of zeros. */
function readMapCode(bits: BitReader, trees: number): boolean {
  const runs = bits.take(1) === 0 ? 0 : bits.take(4) + 1;
  return readPrefixCode(bits, trees + runs);
}

/** 1 to 256. */
function readCount(bits: BitReader): number {
  if (bits.take(1) === 0) return 1;
  const width = bits.take(3);
  return 1 + (1 << width) + bits.take(width);
}

function readPrefixCode(bits: BitReader, symbols: number): boolean {
  const skipped = bits.take(2);
  return skipped === 1 ? readSimpleCode(bits, symbols) : readLengths(bits, symbols, readLengthCode(bits, skipped));
}

/** One to four symbols, all different. */
function readSimpleCode(bits: BitReader, symbols: number): boolean {
  const count = bits.take(2) + 1;
  const width = 32 - Math.clz32(symbols - 1);
  let seen: readonly number[] = [];
  for (let index = 0; index < count; index += 1) {
    const symbol = bits.take(width);
    if (symbol >= symbols || seen.includes(symbol)) return false;
    seen = [...seen, symbol];
  }
  return true;
}

/** In which order the lengths of the codes of lengths stand. */
const LENGTH_ORDER: readonly number[] = [1, 2, 3, 4, 0, 5, 17, 6, 16, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/** By four bits, what they begin with says, and how many bits that takes. */
const LENGTH_VALUE: readonly number[] = [0, 4, 3, 2, 0, 4, 3, 1, 0, 4, 3, 2, 0, 4, 3, 5];
const LENGTH_WIDTH: readonly number[] = [2, 2, 2, 3, 2, 2, 2, 4, 2, 2, 2, 3, 2, 2, 2, 4];
const LONGEST_LENGTH = 5;

/** By five bits, the length they begin with and how many bits that takes, in one number; nothing if they do not add up. */
function readLengthCode(bits: BitReader, skipped: number): Uint8Array | undefined {
  const widths = new Uint8Array(LENGTH_ORDER.length);
  let space = 1 << LONGEST_LENGTH;
  let codes = 0;
  for (let index = skipped; index < LENGTH_ORDER.length && space > 0; index += 1) {
    const next = bits.peek(4);
    bits.take(LENGTH_WIDTH[next] as number);
    const width = LENGTH_VALUE[next] as number;
    widths[LENGTH_ORDER[index] as number] = width;
    if (width === 0) continue;
    space -= (1 << LONGEST_LENGTH) >> width;
    codes += 1;
  }
  if (space !== 0 && codes !== 1) return undefined;
  return codes === 1 ? onlyCode(widths) : tableOf(widths);
}

function onlyCode(widths: Uint8Array): Uint8Array {
  return new Uint8Array(1 << LONGEST_LENGTH).fill(widths.findIndex((width) => width > 0) << 3);
}

/** Codes are given out in order of their lengths, and written with their first bit lowest. */
function tableOf(widths: Uint8Array): Uint8Array {
  const table = new Uint8Array(1 << LONGEST_LENGTH);
  let code = 0;
  for (let width = 1; width <= LONGEST_LENGTH; width += 1) {
    for (let symbol = 0; symbol < widths.length; symbol += 1) {
      if (widths[symbol] !== width) continue;
      for (let rest = 0; rest < 1 << (LONGEST_LENGTH - width); rest += 1)
        table[reversed((code << (LONGEST_LENGTH - width)) | rest)] = (symbol << 3) | width;
      code += 1;
    }
    code <<= 1;
  }
  return table;
}

function reversed(code: number): number {
  let value = 0;
  for (let bit = 0; bit < LONGEST_LENGTH; bit += 1) value |= ((code >> bit) & 1) << (LONGEST_LENGTH - 1 - bit);
  return value;
}

const REPEAT = 16;
const REPEAT_ZERO = 17;
const USUAL_LENGTH = 8;
const LONGEST_CODE = 15;

/** The lengths of the codes of all symbols: those and their repetitions must add up to all the codes there are. */
function readLengths(bits: BitReader, symbols: number, table: Uint8Array | undefined): boolean {
  if (!table) return false;
  let space = 1 << LONGEST_CODE;
  let last = USUAL_LENGTH;
  let [repeated, repeat] = [-1, 0];
  for (let symbol = 0; symbol < symbols && space > 0; ) {
    const entry = table[bits.peek(LONGEST_LENGTH)] as number;
    bits.take(entry & 7);
    const length = entry >> 3;
    if (length < REPEAT) {
      repeat = 0;
      symbol += 1;
      if (length === 0) continue;
      last = length;
      space -= (1 << LONGEST_CODE) >> length;
      continue;
    }
    const [extra, value] = length === REPEAT_ZERO ? [3, 0] : [2, last];
    if (repeated !== value) repeat = 0;
    repeated = value;
    const before = repeat;
    repeat = (before > 0 ? (before - 2) << extra : 0) + bits.take(extra) + 3;
    const more = repeat - before;
    if (symbol + more > symbols) return false;
    symbol += more;
    if (value > 0) space -= more << (LONGEST_CODE - value);
    if (bits.isCut()) return true;
  }
  return space === 0;
}
