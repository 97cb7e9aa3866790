import { type Blob, piecesOf } from "../blob.ts";
import { type Opener, type Tools, whole } from "../opener.ts";
import { headOf } from "../signature-search.ts";

/**
 * Bytes written as decimal numbers, as scripts carry programs: `[77, 90, 144]`, `Chr(77) & Chr(90)`, one for each line.
 * Numbers up to 255 (or down to -128) follow each other with a little in between that has no digits.
 */
export const numberLists: Opener = {
  kind: "numbers",
  find(content) {
    const head = headOf(content);
    if (!looksLikeText(head)) return [];
    let any = false;
    lists(content, () => {
      any = true;
      return false;
    });
    return any ? [{ start: 0, end: content.size, sure: false }] : [];
  },
  open(container, tools) {
    const give = (list: Buffer): boolean => {
      tools.sink.begin("numbers");
      tools.sink.write(list);
      tools.sink.end();
      return true;
    };
    lists(container, give, tools);
    return { kind: "opened", covered: whole(container) };
  },
};

const PIECE_BYTES = 1024 * 1024;
/** The shortest list that is worth a look; tables of numbers are shorter, most of them. */
const NUMBERS_LEAST = 48;
/** `) & _` and a line break, some blanks, `ChrW(`: nobody writes more between two numbers. */
const BETWEEN_AT_MOST = 40;
/** What a list begins or ends with, and nobody writes between its numbers: `a1 = [77, 90]; b2 = 3`. */
const ENDS = new Uint8Array(256);
for (const byte of Buffer.from("=;[]{}")) ENDS[byte] = 1;
const [ZERO, NINE, MINUS] = [0x30, 0x39, 0x2d];
const TEXT_SAMPLE = 4096;

function looksLikeText(head: Buffer): boolean {
  const sample = head.subarray(0, TEXT_SAMPLE);
  return sample.length > NUMBERS_LEAST && !sample.subarray(0, 512).includes(0);
}

/** Every list of a content, in one pass over it; one that is very long comes in pieces. */
function lists(content: Blob, found: (list: Buffer) => boolean, tools?: Tools): void {
  let count = 0;
  let value = 0;
  let digits = 0;
  let between = 0;
  let minus = false;

  /** False if nobody wants any more. */
  function end(): boolean {
    const wanted = count < NUMBERS_LEAST || found(numbers.subarray(0, count));
    count = 0;
    return wanted;
  }
  for (const { bytes } of piecesOf(content, PIECE_BYTES)) {
    tools?.budget.addWork(bytes.length);
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      if (byte >= ZERO && byte <= NINE) {
        value = value * 10 + byte - ZERO;
        digits += 1;
        if (digits > DIGITS_AT_MOST) value = 1000;
        continue;
      }
      if (digits > 0) {
        if (value > 255 || count === LIST_BYTES) {
          if (!end()) return;
        }
        if (value <= 255) {
          numbers[count] = minus ? 256 - value : value;
          count += 1;
        }
        value = 0;
        digits = 0;
        between = 0;
      }
      if (count === 0) {
        minus = byte === MINUS;
        continue;
      }
      minus = byte === MINUS;
      between += 1;
      if ((between > BETWEEN_AT_MOST || ENDS[byte] === 1) && !end()) return;
    }
  }
  if (digits > 0 && value <= 255 && count < LIST_BYTES) {
    numbers[count] = minus ? 256 - value : value;
    count += 1;
  }
  end();
}

const LIST_BYTES = 64 * 1024;
/** Used again and again: whoever gets a list copies it. */
const numbers = Buffer.alloc(LIST_BYTES);
const DIGITS_AT_MOST = 3;
