import type { Blob } from "../blob.ts";
import type { Budget } from "../budget.ts";
import type { ObjectNumber } from "./pdf-crypt.ts";

/** `12 0 obj`: the number with its generation, and where it begins. */
export function objectNumber(
  at: (position: number) => number,
  word: number,
): { id: ObjectNumber | undefined; start: number } {
  const from = Math.max(0, word - 32);
  let text = "";
  for (let position = from; position < word; position += 1) text += String.fromCharCode(at(position));
  const written = /(\d{1,10})[\0\t\n\v\f\r ]{1,8}(\d{1,5})[\0\t\n\v\f\r ]{0,8}$/.exec(text);
  if (!written) return { id: undefined, start: word };
  return { id: { number: Number(written[1]), generation: Number(written[2]) }, start: from + written.index };
}

const WINDOW_BYTES = 1024 * 1024;
const WORDS = ["obj", "stream", "trailer", "%%EOF"] as const;
const LONGEST_WORD = 7;

/** All places where one of the words stands, in order. `endobj` and `endstream` are other words. */
export function* wordsOf(content: Blob, budget: Budget): Generator<{ word: (typeof WORDS)[number]; at: number }> {
  for (let start = 0; start < content.size; start += WINDOW_BYTES) {
    // Three bytes more in front, to see what stands before a word, and some behind for a word across the end.
    const before = Math.min(3, start);
    const window = content.bytes(start - before, before + WINDOW_BYTES + LONGEST_WORD);
    budget.addWork(Math.max(0, window.length - before - LONGEST_WORD));
    const next = WORDS.map((word) => window.indexOf(word, before));
    for (;;) {
      let first = -1;
      for (let i = 0; i < next.length; i += 1) {
        const position = next[i] ?? -1;
        if (position >= 0 && (first < 0 || position < (next[first] ?? 0))) first = i;
      }
      const word = WORDS[first];
      const position = next[first] ?? -1;
      if (word === undefined || position >= before + WINDOW_BYTES) break;
      next[first] = window.indexOf(word, position + 1);
      if (word === "obj" && !mayPrecedeObject(window[position - 1])) continue;
      if (word === "stream" && window.toString("latin1", position - 3, position) === "end") continue;
      yield { word, at: start - before + position };
    }
  }
}

/** A blank, a digit, or the end of a comment. */
function mayPrecedeObject(byte: number | undefined): boolean {
  return byte !== undefined && (byte <= 0x20 || (byte >= 0x30 && byte <= 0x39));
}

/** Finds the next place of a word from any position on. What was read last is kept: the next question is about it most of the time. */
export function wordFinder(content: Blob, word: string, budget: Budget): (position: number) => number {
  let from = 0;
  let found = -1;
  let window: { start: number; bytes: Buffer } = { start: 0, bytes: Buffer.alloc(0) };
  const windowEnd = (): number => window.start + window.bytes.length;
  return (position) => {
    if (found >= 0 && position >= from && position <= found) return found;
    from = position;
    found = content.size;
    for (let start = position; start + word.length <= content.size; start = windowEnd() - word.length + 1) {
      if (start < window.start || start + word.length > windowEnd())
        window = { start, bytes: content.bytes(start, WINDOW_BYTES) };
      const at = window.bytes.indexOf(word, start - window.start);
      budget.addWork((at < 0 ? windowEnd() : window.start + at) - start);
      if (at >= 0) {
        found = window.start + at;
        break;
      }
    }
    return found;
  };
}
