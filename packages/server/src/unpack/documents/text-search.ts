import type { Blob } from "../blob.ts";

/** Finds an expression in content of any size. It must be global, and its matches shorter than `OVERLAP`. */
export function* findAll(content: Blob, expression: RegExp): Generator<{ position: number; text: string }> {
  yield* search(content, expression, { from: 0, piece: LARGE_PIECE });
}

export function findFirst(
  content: Blob,
  expression: RegExp,
  from: number,
): { position: number; text: string } | undefined {
  for (const match of search(content, expression, { from, piece: SMALL_PIECE })) return match;
  return undefined;
}

const LARGE_PIECE = 1024 * 1024;
/** What is looked for is mostly near. */
const SMALL_PIECE = 16 * 1024;
const OVERLAP = 4096;

function* search(
  content: Blob,
  expression: RegExp,
  { from, piece }: { from: number; piece: number },
): Generator<{ position: number; text: string }> {
  for (let start = from; start < content.size; start += piece) {
    const text = content.bytes(start, piece + OVERLAP).toString("latin1");
    for (const match of text.matchAll(expression)) {
      if (match.index < piece) yield { position: start + match.index, text: match[0] };
    }
  }
}
