import type { Blob, Range } from "../blob.ts";
import type { Budget } from "../budget.ts";
import { base64Decoder, base64Value, isUrlSafe, NO_LETTER, PAD } from "../encodings/base64.ts";
import { isLineBreak, isSpace, type MemberWriter, memberWriter, type Text, textOf } from "../encodings/text.ts";
import { type Opener, whole } from "../opener.ts";
import { headOf } from "../signature-search.ts";

/**
 * A text with an OpenPGP signature below it. The text can be read as it is; but whoever checks the signature gets it without
 * what stands around it, and without the dashes in front of lines that begin with one. And messages in letters, which gpg reads
 * whatever stands between the letters.
 */
export const signedText: Opener = {
  kind: "openpgp-text",
  find: (content) =>
    [BEGIN, ARMOR].some((line) => headOf(content).includes(line)) ? [{ start: 0, end: content.size, sure: false }] : [],
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
    writeArmored(text, writer, budget);
    return { kind: "opened", covered: whole(container) };
  },
};

const BEGIN = Buffer.from("-----BEGIN PGP SIGNED MESSAGE-----");
const ARMOR = Buffer.from("-----BEGIN PGP MESSAGE-----");
const ARMOR_END = Buffer.from("-----END PGP MESSAGE");
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

function writeArmored(text: Text, writer: MemberWriter, budget: Budget): void {
  const { size } = text;
  let end = 0;
  for (let at = text.find(ARMOR, 0, size); at >= 0; at = text.find(ARMOR, end, size)) {
    const found = text.find(ARMOR_END, at, size);
    end = found < 0 ? size : found;
    budget.addWork(end - at);
    const empty = /\n[ \t\r]*\n/.exec(text.string(at, Math.min(end, at + HEADERS_BYTES)));
    writer.begin("message");
    const decoder = base64Decoder(writer.byte);
    // Pads end the data; a checksum follows.
    for (let next = at + (empty?.index ?? ARMOR.length); next < end && text.byte(next) !== PAD; next += 1) {
      const byte = text.byte(next);
      if (base64Value(byte) < NO_LETTER && !isUrlSafe(byte)) decoder.letter(base64Value(byte));
    }
    decoder.end();
    writer.end();
  }
}

function withoutLineBreak(byte: (at: number) => number, end: number): number {
  return end - (byte(end - 2) === 0x0d ? 2 : 1);
}
