/**
 * A signature as people write it down: bytes in hexadecimal, ranges of them, `..` for any byte, text in single quotes, and
 * `*n` behind one of these to repeat it. `'BZh' 31-39 '1AY&SY'` is what bzip2 begins with.
 */
export function bytePattern(spelled: string): (bytes: Uint8Array, offset?: number) => boolean {
  const ranges = [...spelled.matchAll(TOKEN)].flatMap(([, text, low, high, any, times]) => {
    const one: Range[] = text !== undefined ? [...text].map(exactly) : [any ? [0, 255] : range(low, high)];
    return Array.from({ length: Number(times ?? 1) }, () => one).flat();
  });
  return (bytes, offset = 0) =>
    ranges.every(([low, high], index) => {
      const byte = bytes[offset + index];
      return byte !== undefined && byte >= low && byte <= high;
    });
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
