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
    for (const _ of lists(content)) return [{ start: 0, end: content.size, sure: false }];
    return [];
  },
  open(container, tools) {
    for (const list of lists(container, tools)) {
      tools.sink.begin("numbers");
      tools.sink.write(list);
      tools.sink.end();
    }
    return { kind: "opened", covered: whole(container) };
  },
};

const PIECE_BYTES = 1024 * 1024;
/** The shortest list that is worth a look; tables of numbers are shorter, most of them. */
const NUMBERS_LEAST = 48;
/** `) & _` and a line break, some blanks, `ChrW(`: nobody writes more between two numbers. */
const BETWEEN_AT_MOST = 40;
/** What a list begins or ends with, and nobody writes between its numbers: `a1 = [77, 90]; b2 = 3`. */
const ENDS: ReadonlySet<number> = new Set(Buffer.from("=;[]{}"));
const [ZERO, NINE, MINUS] = [0x30, 0x39, 0x2d];
const TEXT_SAMPLE = 4096;

function looksLikeText(head: Buffer): boolean {
  const sample = head.subarray(0, TEXT_SAMPLE);
  return sample.length > NUMBERS_LEAST && !sample.subarray(0, 512).includes(0);
}

/** Every list of a content, in one pass over it; one that goes on for long comes in pieces. */
function* lists(content: Blob, tools?: Tools): Generator<Buffer> {
  let numbers: number[] = [];
  let [value, digits, between, minus] = [0, 0, 0, false];

  function* end(): Generator<Buffer> {
    if (numbers.length >= NUMBERS_LEAST) yield Buffer.from(numbers);
    numbers = [];
  }
  for (const { bytes } of piecesOf(content, PIECE_BYTES)) {
    tools?.budget.addWork(bytes.length);
    for (const byte of bytes) {
      if (byte >= ZERO && byte <= NINE) {
        value = Math.min(1000, value * 10 + byte - ZERO);
        digits += 1;
        continue;
      }
      if (digits > 0) {
        if (value <= 255) numbers.push(minus ? (256 - value) & 0xff : value);
        else yield* end();
        [value, digits, between] = [0, 0, 0];
      }
      minus = byte === MINUS;
      between += 1;
      if (numbers.length > 0 && (between > BETWEEN_AT_MOST || ENDS.has(byte))) yield* end();
    }
  }
  if (digits > 0 && value <= 255) numbers.push(value);
  yield* end();
}
