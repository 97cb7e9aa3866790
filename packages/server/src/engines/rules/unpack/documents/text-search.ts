import type { Blob } from "../../blob.ts";

/** Finds an expression in content of any size. It must be global, and its matches shorter than `OVERLAP`. */
export function* findAll(content: Blob, expression: RegExp, from = 0): Generator<{ position: number; text: string }> {
  for (let start = from; start < content.size; start += PIECE) {
    const text = content.bytes(start, PIECE + OVERLAP).toString("latin1");
    for (const match of text.matchAll(expression)) {
      if (match.index < PIECE) yield { position: start + match.index, text: match[0] };
    }
  }
}

export function findFirst(
  content: Blob,
  expression: RegExp,
  from: number,
): { position: number; text: string } | undefined {
  for (const match of findAll(content, expression, from)) return match;
  return undefined;
}

const PIECE = 1024 * 1024;
const OVERLAP = 4096;
