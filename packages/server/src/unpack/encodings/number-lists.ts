import { type Blob, piecesOf } from "../blob.ts";
import { type Opener, type Tools, whole } from "../opener.ts";
import { headOf } from "../signature-search.ts";
import { BREAK, type Breaks, unbrokenStretches } from "./candidates.ts";

/**
 * Bytes written as decimal numbers, as scripts carry programs: `[77, 90, 144]`, `Chr(77) & Chr(90)`, one for each line.
 * Numbers up to 255 (or down to -128) follow each other with a little in between that has no digits.
 */
export const numberLists: Opener = {
  kind: "numbers",
  find(content) {
    const head = headOf(content);
    if (!looksLikeText(head)) return [];
    const stretches = unbrokenStretches(content, { start: 0, end: content.size }, LIST_BREAKS);
    const any = stretches.some((stretch) => {
      let found = false;
      lists(content.slice(stretch.start, stretch.end), () => {
        found = true;
        return false;
      });
      return found;
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
const ENDS = 1;
const DIGIT = 2;
const LETTER = 3;
const KIND = new Uint8Array(256);
for (const byte of Buffer.from("=;[]{}")) KIND[byte] = ENDS;
KIND.fill(DIGIT, 0x30, 0x3a);
KIND.fill(LETTER, 0x41, 0x5b);
KIND.fill(LETTER, 0x61, 0x7b);
/** `1,2,3`: the shortest list has as many signs between its numbers, and none of those that end it. */
const LIST_BREAKS: Breaks = {
  table: KIND.map((kind) => (kind === ENDS ? BREAK : 0)),
  depends: () => false,
  reach: 2 * NUMBERS_LEAST - 1,
  joined: 0,
};
const [ZERO, MINUS] = [0x30, 0x2d];
/** Numbers stand alone or behind the same few words; in other texts, base64 among them, behind ever new ones. */
const WORDS_AT_MOST = 4;
const TEXT_SAMPLE = 4096;

function looksLikeText(head: Buffer): boolean {
  const sample = head.subarray(0, TEXT_SAMPLE);
  return sample.length > NUMBERS_LEAST && !sample.subarray(0, 512).includes(0);
}

/** Every list of a content, in one pass over it; one that is very long comes in pieces. */
function lists(content: Blob, found: (list: Buffer) => boolean, tools?: Tools): void {
  const words = new Int32Array(WORDS_AT_MOST);
  let known = 0;
  let count = 0;
  let value = 0;
  let digits = 0;
  let between = 0;
  let word = 0;
  let minus = false;

  /** False if nobody wants any more. */
  function end(): boolean {
    const wanted = count < NUMBERS_LEAST || found(numbers.subarray(0, count));
    count = 0;
    known = 0;
    return wanted;
  }

  /** Whether the word before a number is one of the few that stand there all the time: `Chr`, `ChrW`. */
  function isUsual(): boolean {
    if (word === 0 || count === 0) return true;
    for (let index = 0; index < known; index += 1) if (words[index] === word) return true;
    if (known === WORDS_AT_MOST) return false;
    words[known] = word;
    known += 1;
    return true;
  }

  /** A number has ended. False if nobody wants any more. */
  function endNumber(): boolean {
    if ((value > 255 || count === LIST_BYTES || !isUsual()) && !end()) return false;
    if (value <= 255) {
      numbers[count] = minus ? 256 - value : value;
      count += 1;
    }
    value = 0;
    digits = 0;
    between = 0;
    word = 0;
    return true;
  }

  for (const { bytes } of piecesOf(content, PIECE_BYTES)) {
    tools?.budget.addWork(bytes.length);
    for (let at = 0; at < bytes.length; at += 1) {
      if (count === 0 && digits === 0) {
        const from = at;
        while (at < bytes.length && KIND[bytes[at] as number] !== DIGIT) at += 1;
        if (at > from) minus = bytes[at - 1] === MINUS;
        if (at === bytes.length) break;
      }
      const byte = bytes[at] as number;
      const kind = KIND[byte];
      if (kind === DIGIT) {
        value = digits === DIGITS_AT_MOST ? TOO_LARGE : value * 10 + byte - ZERO;
        if (digits < DIGITS_AT_MOST) digits += 1;
        continue;
      }
      if (digits > 0 && !endNumber()) return;
      minus = byte === MINUS;
      if (kind === LETTER) word = (Math.imul(word, 31) + byte) | 0;
      between += 1;
      if ((between > BETWEEN_AT_MOST || kind === ENDS) && !end()) return;
    }
  }
  if (digits > 0 && !endNumber()) return;
  end();
}

const LIST_BYTES = 64 * 1024;
/** Used again and again: whoever gets a list copies it. */
const numbers = Buffer.alloc(LIST_BYTES);
const DIGITS_AT_MOST = 3;
const TOO_LARGE = 1000;
