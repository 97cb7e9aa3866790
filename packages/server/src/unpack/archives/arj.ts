import { type Blob, joinedBlob, memoryBlob, piecesOf } from "../blob.ts";
import type { Opener, Outcome, Place } from "../opener.ts";
import { signaturesIn } from "../signature-search.ts";
import { ARJ_HEADER_BYTES, ARJ_MAIN, isWholeArj, openBy7z } from "./seven-zip-kinds.ts";

/**
 * ARJ archives whose main header lacks the first byte of its mark. unar takes a file for an archive by any header in it, which
 * may be a member's, and then looks for the second byte of the mark with a main header behind it.
 */
export const unmarkedArj: Opener = {
  kind: "arj",
  archive: true,
  find(content) {
    const isWhole = (at: number): boolean => isWholeArj(content.bytes(at, ARJ_HEADER_BYTES));
    return (signaturesIn(content).get("arj") ?? []).some(isWhole) ? unmarkedHeaders(content) : [];
  },
  async open(container, tools): Promise<Outcome> {
    if (!isMain(container)) return { kind: "too-large" };
    const outcome = await openBy7z(withMark(container), "Arj", tools);
    if (outcome.kind !== "opened") return outcome;
    return {
      ...outcome,
      covered: outcome.covered.map(({ start, end }) => ({ start: Math.max(0, start - 1), end: end - 1 })),
    };
  },
};

const [FIRST, SECOND] = [0x60, 0xea];
const PIECE_BYTES = 1024 * 1024;
/** A file with more places that look like one was made to keep us busy. */
const TRIES_AT_MOST = 4096;

/** Where the second byte of the mark stands, without the first. */
function unmarkedHeaders(content: Blob): Place[] {
  const places: Place[] = [];
  let tries = 0;
  for (const { at, bytes } of piecesOf(content, PIECE_BYTES, ARJ_HEADER_BYTES)) {
    for (let hit = bytes.indexOf(SECOND); hit >= 0 && hit < PIECE_BYTES; hit = bytes.indexOf(SECOND, hit + 1)) {
      if (bytes[hit + TYPE_AT] !== ARJ_MAIN) continue;
      const start = at + hit;
      if (start > 0 && content.bytes(start - 1, 1)[0] === FIRST) continue;
      tries += 1;
      if (tries > TRIES_AT_MOST) return [{ start: 0, end: content.size, sure: true }];
      if (isMain(content.slice(start, content.size))) places.push({ start, end: content.size, sure: true });
    }
  }
  return places;
}

/** Behind the second byte of the mark: the size of the header, its first size, three bytes and the flags, the type. */
const TYPE_AT = 9;

const withMark = (content: Blob): Blob => joinedBlob([memoryBlob(Buffer.of(FIRST)), content]);

function isMain(content: Blob): boolean {
  const header = withMark(content).bytes(0, ARJ_HEADER_BYTES);
  return header[TYPE_AT + 1] === ARJ_MAIN && isWholeArj(header);
}
