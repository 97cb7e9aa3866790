/**
 * A signature as people write it down: bytes in hexadecimal, ranges of them, `..` for any byte, text in single quotes, and
 * `*n` behind one of these to repeat it. `'BZh' 31-39 '1AY&SY'` is what bzip2 begins with.
 */
export function bytePattern(spelled: string): BytePattern {
  // Read when it is first asked: there are hundreds, and most processes meet few of what they stand for.
  let read: { lows: Uint8Array; highs: Uint8Array } | undefined;
  return (bytes, offset = 0) => {
    read ??= boundsOf(spelled);
    const { lows, highs } = read;
    if (offset + lows.length > bytes.length) return false;
    for (let index = 0; index < lows.length; index += 1) {
      const byte = bytes[offset + index] as number;
      if (byte < (lows[index] as number) || byte > (highs[index] as number)) return false;
    }
    return true;
  };
}

export type BytePattern = (bytes: Uint8Array, offset?: number) => boolean;

/** Whether one of them stands at an offset. Asked of every content, and nearly always the first byte says no. */
export function anyPattern(spelled: readonly string[], offset: number): (bytes: Uint8Array) => boolean {
  const firsts = firstBytes(spelled);
  const patterns = spelled.map(bytePattern);
  return (bytes) => firsts[bytes[offset] ?? 0] === 1 && patterns.some((fits) => fits(bytes, offset));
}

/** By what contents of one kind are known: each of them has one of these bytes at this offset. */
export interface ByteAt {
  /** From the end where it is negative. */
  readonly offset: number;
  /** For each byte, 1 if it may stand there. */
  readonly bytes: Uint8Array;
}

/** What all contents have in common that have one of these patterns at this offset. */
export function byteAt(offset: number, ...spelled: readonly string[]): ByteAt {
  return { offset, bytes: firstBytes(spelled) };
}

/** Whom to ask about a content: for each offset by which some are known, and each byte that may stand there. */
export type Asked<T> = readonly (readonly [offset: number, byByte: readonly (readonly T[] | undefined)[]])[];

/** One look at each offset tells about everybody: to ask many about every content takes long, even if each of them looks at one byte only. */
export function askedBy<T extends { readonly knownBy?: readonly ByteAt[] }>(known: readonly T[]): Asked<T> {
  const offsets = new Map<number, T[][]>();
  for (const one of known) {
    for (const { offset, bytes } of one.knownBy ?? []) {
      const byByte = offsets.get(offset) ?? [];
      offsets.set(offset, byByte);
      for (let byte = bytes.indexOf(1); byte >= 0; byte = bytes.indexOf(1, byte + 1)) {
        if (!byByte[byte]?.includes(one)) byByte[byte] = [...(byByte[byte] ?? []), one];
      }
    }
  }
  return [...offsets];
}

/** Those who may know a content, each of them once, however many of its offsets fit: some take long to say no. */
export function mayKnow<T>(asked: Asked<T>, byteOf: (offset: number) => number | undefined): T[] {
  const found: T[] = [];
  for (const [offset, byByte] of asked) {
    const byte = byteOf(offset);
    for (const one of (byte === undefined ? undefined : byByte[byte]) ?? []) if (!found.includes(one)) found.push(one);
  }
  return found;
}

function firstBytes(spelled: readonly string[]): Uint8Array {
  const table = new Uint8Array(256);
  for (const one of spelled) {
    const [first] = one.matchAll(TOKEN);
    const [range] = first ? rangesOf(first) : [];
    if (range) table.fill(1, range[0], range[1] + 1);
  }
  return table;
}

function boundsOf(spelled: string): { lows: Uint8Array; highs: Uint8Array } {
  const ranges = [...spelled.matchAll(TOKEN)].flatMap(rangesOf);
  return { lows: Uint8Array.from(ranges, ([low]) => low), highs: Uint8Array.from(ranges, ([, high]) => high) };
}

function rangesOf([, text, low, high, any, times]: RegExpExecArray): Range[] {
  const one: Range[] = text !== undefined ? [...text].map(exactly) : [any ? [0, 255] : range(low, high)];
  return Array.from({ length: Number(times ?? 1) }, () => one).flat();
}

type Range = readonly [low: number, high: number];

const TOKEN = /(?:'([^']*)'|([0-9a-f]{2})(?:-([0-9a-f]{2}))?|(\.\.))(?:\*(\d+))?/g;

function exactly(character: string): Range {
  return [character.charCodeAt(0), character.charCodeAt(0)];
}

function range(low: string | undefined, high: string | undefined): Range {
  const first = Number.parseInt(low ?? "", 16);
  return [first, high === undefined ? first : Number.parseInt(high, 16)];
}
