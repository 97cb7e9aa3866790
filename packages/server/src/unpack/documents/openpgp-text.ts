import type { Blob, Range } from "../blob.ts";
import type { Budget } from "../budget.ts";
import { isLineBreak, isSpace, memberWriter, textOf } from "../encodings/text.ts";
import { type Opener, whole } from "../opener.ts";
import { headOf } from "../signature-search.ts";

/**
 * A text with an OpenPGP signature below it. The text can be read as it is; but whoever checks the signature gets it without
 * what stands around it, and without the dashes in front of lines that begin with one.
 */
export const signedText: Opener = {
  kind: "openpgp-text",
  find: (content) => (headOf(content).includes(BEGIN) ? [{ start: 0, end: content.size, sure: false }] : []),
  open(container, { sink, budget }) {
    const text = textOf(container, budget);
    const writer = memberWriter(sink);
    for (const range of messagesIn(container, budget)) {
      // The last line break belongs to the signature: some write it, others do not.
      for (const end of [range.end, withoutLineBreak(text.byte, range.end)]) {
        if (end <= range.start) continue;
        writer.begin("text");
        let isLineStart = true;
        for (let at = range.start; at < end; at += 1) {
          if (isLineStart && text.byte(at) === DASH && isSpace(text.byte(at + 1))) at += 2;
          const byte = at < end ? text.byte(at) : LINE_FEED;
          if (at < end) writer.byte(byte);
          isLineStart = isLineBreak(byte);
        }
        writer.end();
      }
    }
    return { kind: "opened", covered: whole(container) };
  },
};

const BEGIN = Buffer.from("-----BEGIN PGP SIGNED MESSAGE-----");
const SIGNATURE = Buffer.from("\n-----BEGIN PGP SIGNATURE-----");
const DASH = 0x2d;
const LINE_FEED = 0x0a;
/** Names of hashes stand below the first line, and an empty line below these. */
const HEADERS_BYTES = 4096;

/** From behind the empty line to the line of the signature. */
function* messagesIn(container: Blob, budget: Budget): Generator<Range> {
  const text = textOf(container, budget);
  let end = -1;
  for (let at = text.find(BEGIN, 0, text.size); at >= 0; at = text.find(BEGIN, at + 1, text.size)) {
    // Where the next signature is stays true for all that begin before it.
    if (end < at) end = text.find(SIGNATURE, at, text.size);
    if (end < 0) return;
    budget.addWork(HEADERS_BYTES);
    const empty = /\n[ \t\r]*\n/.exec(text.string(at, Math.min(end, at + HEADERS_BYTES)));
    if (!empty) continue;
    yield { start: at + empty.index + empty[0].length, end: end + 1 };
    at = end;
  }
}

function withoutLineBreak(byte: (at: number) => number, end: number): number {
  return end - (byte(end - 2) === 0x0d ? 2 : 1);
}
