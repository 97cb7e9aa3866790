import { type Blob, piecesOf } from "../blob.ts";
import type { Budget } from "../budget.ts";

const PIECE_BYTES = 1024 * 1024;

/** Every place where the bytes stand, from the front; one pass over the content. */
export function* findAll(content: Blob, bytes: Buffer, budget: Budget): Generator<number> {
  for (const piece of piecesOf(content, PIECE_BYTES, bytes.length - 1)) {
    budget.addWork(piece.bytes.length);
    let hit = piece.bytes.indexOf(bytes);
    for (; hit >= 0 && hit < PIECE_BYTES; hit = piece.bytes.indexOf(bytes, hit + 1)) yield piece.at + hit;
  }
}
