/** WebAssembly, written by hand: instructions, and what a module is made of. */
export type Code = readonly number[];

export const PAGE_BYTES = 65_536;
const [I32, V128, NO_RESULT] = [0x7f, 0x7b, 0x40];

export const get = (variable: number): Code => [0x20, variable];
export const set = (variable: number): Code => [0x21, variable];
export const number = (value: number): Code => [0x41, ...signed(value)];
export const loop = (...body: Code[]): Code => [0x02, NO_RESULT, 0x03, NO_RESULT, ...body.flat(), 0x0c, 0, 0x0b, 0x0b];
/** Leaves the loop around it. */
export const leaveIf = (condition: Code): Code => [...condition, 0x0d, 1];
export const when = (condition: Code, ...body: Code[]): Code => [...condition, 0x04, NO_RESULT, ...body.flat(), 0x0b];
export const answer = (value: Code): Code => [...value, 0x0f];
export const plus = (one: Code, other: Code): Code => [...one, ...other, 0x6a];
export const and = (one: Code, other: Code): Code => [...one, ...other, 0x71];
export const or = (one: Code, other: Code): Code => [...one, ...other, 0x72];
export const minus = (one: Code, other: Code): Code => [...one, ...other, 0x6b];
export const withoutLower = (value: Code, bits: number): Code => [...value, ...number(bits), 0x76];
export const isZero = (value: Code): Code => [...value, 0x45];
export const isEqual = (one: Code, other: Code): Code => [...one, ...other, 0x46];
export const isAtLeast = (one: Code, other: Code): Code => [...one, ...other, 0x4f];
export const store = (address: Code, value: Code, offset = 0): Code => [...address, ...value, 0x36, 2, offset];
export const sixteenAt = (address: Code, offset = 0): Code => [...address, 0xfd, 0x00, 0, offset];
export const sixteen = (values: Uint8Array): Code => [0xfd, 0x0c, ...values];
export const both = (one: Code, other: Code): Code => [...one, ...other, 0xfd, 0x4e];
/** The last of some sixteen and the first of the next, sixteen in all. */
export const acrossTwo = (last: Code, next: Code, ofLast: number): Code => [
  ...[...last, ...next, 0xfd, 0x0d],
  ...Array.from({ length: 16 }, (_, place) => 16 - ofLast + place),
];

/** One function that is called by its name, with numbers, and answers one; and a memory that cannot grow. */
export interface Program {
  name: string;
  arguments: number;
  pages: number;
  /** Its own variables: numbers, and then vectors. */
  numbers: number;
  vectors: number;
  body: Code;
  /** What stands at the beginning of the memory; zeros by default. */
  data?: Uint8Array;
}

const NOTHING = new Uint8Array();

export function moduleOf({
  name,
  arguments: count,
  pages,
  numbers,
  vectors,
  body,
  data = NOTHING,
}: Program): Uint8Array {
  const locals = [2, ...unsigned(numbers), I32, ...unsigned(vectors), V128];
  const parameters = Array.from({ length: count }, () => I32);
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, count, ...parameters, 1, I32]),
    ...section(3, [1, 0]),
    ...section(5, [1, 1, ...unsigned(pages), ...unsigned(pages)]),
    ...section(7, [2, ...named("memory"), 2, 0, ...named(name), 0, 0]),
    ...section(10, [1, ...sized([...locals, ...body, 0x0b])]),
    ...section(11, [1, 0, ...number(0), 0x0b, ...sized([...data])]),
  ]);
}

function section(id: number, content: Code): Code {
  return [id, ...sized(content)];
}

function sized(content: Code): Code {
  return [...unsigned(content.length), ...content];
}

function named(text: string): Code {
  return sized([...Buffer.from(text)]);
}

/** LEB128, seven bits in a byte. */
function unsigned(value: number): Code {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

function signed(value: number): Code {
  const isLast = value >= -64 && value < 64;
  return isLast ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...signed(value >> 7)];
}
