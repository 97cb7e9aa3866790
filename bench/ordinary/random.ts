/** Numbers that look random and are the same in every run. */
export interface Random {
  /** A whole number from 0 to `below` - 1. */
  next(below: number): number;
  /** Bytes that do not compress. */
  noise(bytes: number): Buffer;
  /** Sentences, which compress to about a third. */
  text(bytes: number): string;
}

export function random(seed: number): Random {
  let state = Math.imul(seed + 1, 0x9e3779b1) | 1;
  function word(): number {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  }
  const next = (below: number): number => word() % below;

  return {
    next,
    noise(bytes) {
      const buffer = Buffer.allocUnsafe(bytes);
      for (let at = 0; at < bytes; at += 1) buffer[at] = word() >>> 11;
      return buffer;
    },
    text(bytes) {
      const words: string[] = [];
      let length = 0;
      while (length < bytes) {
        // Frequent words are frequent; a number now and then keeps the same sentence from coming again.
        const each = next(9) === 0 ? String(next(100_000)) : (WORDS[next(4 + next(WORDS.length - 4))] ?? "");
        const end = next(12) === 0 ? ".\n" : " ";
        words.push(each, end);
        length += each.length + end.length;
      }
      return words.join("").slice(0, bytes);
    },
  };
}

const WORDS: readonly string[] = [
  ..."the of and to in is that for it as was with be by on not he his but at are this have from or had an they which one".split(
    " ",
  ),
  ..."report table quarter customer delivery invoice contract meeting project budget appendix schedule revenue forecast".split(
    " ",
  ),
  ..."department measurement between following according available management information development responsible".split(
    " ",
  ),
  ..."Berlin Lisboa Kraków Zürich Amsterdam Montréal Ljubljana Göteborg temperature pressure velocity archive signature".split(
    " ",
  ),
];
