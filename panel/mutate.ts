import { crc32 } from "node:zlib";
import { type Checksum, type Field, fieldsOf } from "./fields.ts";
import type { Random } from "./random.ts";

/** Bytes of the file as it was that become others. */
interface Edit {
  at: number;
  remove: number;
  insert: Buffer;
}

export interface Mutation {
  /** A description of the change. */
  what: string;
  edit: Edit;
  /** Made right again afterwards. */
  mend?: Checksum;
}

/** One to three changes that do not overlap, each of which makes a difference. */
export function mutationsOf(file: Buffer, random: Random): Mutation[] {
  const fields = [...Map.groupBy(fieldsOf(file), ({ group }) => group).values()];
  const wanted = random.pick([1, 1, 1, 2, 2, 3]);
  const chosen: Mutation[] = [];
  for (let tries = 0; chosen.length < wanted && tries < 50; tries += 1) {
    const mutation = fields.length > 0 && !random.once(3) ? inField(file, random, fields) : blind(file, random, fields);
    const { edit } = mutation;
    const same = file.subarray(edit.at, edit.at + edit.remove).equals(edit.insert);
    const free = chosen.every((other) => edit.at > end(other.edit) || end(edit) < other.edit.at);
    if (!same && free && edit.at >= 0 && end(edit) <= file.length) chosen.push(mutation);
  }
  return chosen.sort((a, b) => a.edit.at - b.edit.at);
}

const end = ({ at, remove }: Edit): number => at + remove;

export function mutated(file: Buffer, mutations: readonly Mutation[]): Buffer {
  const pieces: Buffer[] = [];
  let done = 0;
  for (const { edit } of mutations) {
    pieces.push(file.subarray(done, edit.at), edit.insert);
    done = end(edit);
  }
  const result = Buffer.concat([...pieces, file.subarray(done)]);
  for (const { mend } of mutations) if (mend) mendChecksum(result, mend);
  return result;
}

function mendChecksum(file: Buffer, { kind, at }: Checksum): void {
  if (kind === "tar" && at + 512 <= file.length) {
    file.fill(" ", at + 148, at + 156);
    const sum = file.subarray(at, at + 512).reduce((total, byte) => total + byte, 0);
    file.write(`${sum.toString(8).padStart(6, "0")}\0 `, at + 148, "latin1");
  }
  if (kind === "7z" && at + 32 <= file.length) {
    const [from, size] = [at + 32 + Number(file.readBigUInt64LE(at + 12)), Number(file.readBigUInt64LE(at + 20))];
    if (from + size <= file.length) file.writeUInt32LE(crc32(file.subarray(from, from + size)), at + 28);
    file.writeUInt32LE(crc32(file.subarray(at + 12, at + 32)), at + 8);
  }
  if (kind === "xz" && at + 13 <= file.length) {
    file.writeUInt32LE(crc32(file.subarray(at + 6, at + 8)), at + 8);
    const size = ((file[at + 12] ?? 0) + 1) * 4;
    if (at + 12 + size <= file.length) file.writeUInt32LE(crc32(file.subarray(at + 12, at + 8 + size)), at + 8 + size);
  }
}

function inField(file: Buffer, random: Random, groups: readonly (readonly Field[])[]): Mutation {
  const field = random.pick(random.pick(groups));
  const old = file.subarray(field.at, field.at + field.size);
  const [how, insert] = changed(field, old, { file, random });
  const isChecksum = /checksum|crc/.test(field.name);
  const mend = field.checksum && !isChecksum && !random.once(3) ? field.checksum : undefined;
  return {
    what: `${field.group}, ${field.name}: ${how}${mend ? ", checksum mended" : ""}`,
    edit: { at: field.at, remove: field.size, insert },
    ...(mend ? { mend } : {}),
  };
}

type Change = [how: string, insert: Buffer];

function changed(field: Field, old: Buffer, { file, random }: { file: Buffer; random: Random }): Change {
  switch (field.as) {
    case "little":
    case "big":
      return changedNumber(old, field.as, { file, random });
    case "octal":
      return changedOctal(old, random);
    case "decimal": {
      const value = Number(old.toString("latin1"));
      const next = random.pick([
        0,
        1,
        value + 1,
        value - 1,
        value * 2,
        value >> 1,
        value + 10,
        2 ** 31,
        2 ** 32 + value,
        -value,
      ]);
      const text = random.pick([`${next}`, `${next}`, `0${value}`, `+${value}`, `${value}.0`, ""]);
      return [`${value} becomes "${text}"`, Buffer.from(text)];
    }
    case "text":
      return changedText(old, random);
    case "line end": {
      const other = random.pick([
        "\n",
        "\r\n",
        "\r",
        "\r\r\n",
        "\n\n",
        "",
        "\r\n ",
        "\n\t",
        " \r\n",
        "\0\n",
        "\f\n",
        "\v",
      ]);
      return [`${JSON.stringify(other)}`, Buffer.from(other)];
    }
  }
}

function changedNumber(old: Buffer, as: "little" | "big", { file, random }: { file: Buffer; random: Random }): Change {
  const ordered = as === "little" ? Buffer.from(old).reverse() : old;
  const value = BigInt(`0x${ordered.toString("hex")}`);
  const bits = BigInt(old.length * 8);
  const next = BigInt.asUintN(
    old.length * 8,
    random.pick([
      ...[0n, 1n, 2n, -1n, -2n, value + 1n, value - 1n, value * 2n, value / 2n, ~value],
      ...[value ^ (1n << BigInt(random.below(Number(bits)))), value ^ (1n << BigInt(random.below(Number(bits))))],
      ...[1n << (bits - 1n), BigInt(file.length), BigInt(random.below(256)), BigInt(random.below(2 ** 31))],
    ]),
  );
  const written = Buffer.from(next.toString(16).padStart(old.length * 2, "0"), "hex");
  return [`0x${value.toString(16)} becomes 0x${next.toString(16)}`, as === "little" ? written.reverse() : written];
}

/** Numbers of tar: with blanks in front, without an end, in base 256, negative, not in octal. */
function changedOctal(old: Buffer, random: Random): Change {
  const value = Number.parseInt(old.toString("latin1").replaceAll(/[^0-7]/g, ""), 8) || 0;
  const width = old.length;
  const next = random.pick([
    value,
    value,
    0,
    value + 1,
    value - 1,
    value * 2,
    value + 512,
    random.below(4_096),
    8 ** 7,
  ]);
  const digits = Math.max(0, next).toString(8);
  const text = random.pick([
    `${digits.padStart(width - 1, "0")}\0`,
    `${digits.padStart(width - 1, " ")}\0`,
    digits.padStart(width, "0"),
    `${digits} `.padStart(width - 1, " "),
    `${digits}\0`,
    `-${digits}`,
    `${digits}9`,
    `0x${next.toString(16)}`,
    `+${digits}`,
    "",
    "base 256",
    "base 256, negative",
  ]);
  if (!text.startsWith("base")) {
    const insert = Buffer.alloc(width);
    insert.write(text.slice(-width), "latin1");
    return [`${value} becomes ${JSON.stringify(text)}`, insert];
  }
  const insert = Buffer.alloc(width, text.endsWith("negative") ? 0xff : 0);
  insert.writeIntBE(text.endsWith("negative") ? -next : next, width - 6, 6);
  insert[0] = text.endsWith("negative") ? 0xff : 0x80;
  return [`${value} becomes ${next} in ${text}`, insert];
}

const ODD = [
  "\0",
  " ",
  "\t",
  "\r",
  "\n",
  "\r\n",
  "\x12",
  "\xaa",
  "=",
  "=2",
  "!",
  ".",
  ",",
  "-",
  '"',
  ";",
  ":",
  "(a)",
  "\\",
  "%",
  "_",
  "\x1a",
  "\x0c",
  "/",
  "~",
  "#",
];

function changedText(old: Buffer, random: Random): Change {
  const text = old.toString("latin1");
  const at = random.below(text.length + 1);
  const odd = random.pick(ODD);
  const swapped = (part: string): string => (part === part.toLowerCase() ? part.toUpperCase() : part.toLowerCase());
  const colon = text.search(/[:=]/) + 1 || at;
  const hex = (text.charCodeAt(at) & 0xff).toString(16).padStart(2, "0");
  const [how, next] = random.pick<[string, string]>([
    [`${JSON.stringify(odd)} put in at ${at}`, text.slice(0, at) + odd + text.slice(at)],
    [`${JSON.stringify(odd)} put in at ${at}`, text.slice(0, at) + odd + text.slice(at)],
    [`${JSON.stringify(odd)} instead of what is at ${at}`, text.slice(0, at) + odd + text.slice(at + 1)],
    [`${JSON.stringify(odd)} behind it`, text + odd],
    [`${JSON.stringify(odd)} before it`, odd + text],
    [`${JSON.stringify(odd)} behind the colon`, text.slice(0, colon) + odd + text.slice(colon)],
    [`a letter less at ${at}`, text.slice(0, at) + text.slice(at + 1)],
    ["the other case", swapped(text)],
    [`the other case at ${at}`, text.slice(0, at) + swapped(text.slice(at, at + 1)) + text.slice(at + 1)],
    ["folded", `${text.slice(0, colon)}\r\n ${text.slice(colon)}`],
    ["twice", text + text],
    ["twice, a line each", `${text}\r\n${text}`],
    [`escaped at ${at}`, `${text.slice(0, at)}#${hex}${text.slice(at + 1)}`],
    ["gone", ""],
    ["zeros", "\0".repeat(text.length)],
    ["its bits of eight set", text.replaceAll(/[a-z]/gi, (letter) => String.fromCharCode(letter.charCodeAt(0) | 0x80))],
  ]);
  return [`${JSON.stringify(text.slice(0, 40))} ${how}`, Buffer.from(next, "latin1")];
}

const JUNK = [
  "MZ",
  "\0",
  "\n",
  "PK\x03\x04",
  "\x1f\x8b\x08",
  "%PDF-1.4\n",
  "GIF89a",
  "\xef\xbb\xbf",
  "From a\n",
  "Rar!",
  "<html>",
  "\r\n\r\n",
];

/** Changes of bytes, rather near structure than in the midst of contents. */
function blind(file: Buffer, random: Random, groups: readonly (readonly Field[])[]): Mutation {
  const at = Math.max(0, Math.min(placeOf(file, random, groups), file.length - 1));
  const length = Math.min(random.pick([1, 1, 2, 4, 16, 100, 512]), file.length - at);
  const old = file[at] ?? 0;
  const junk = Buffer.from(random.pick(JUNK), "latin1");
  const other = random.below(Math.max(1, file.length - length));
  const [what, remove, insert] = random.pick<[string, number, Buffer]>([
    ["a bit turned", 1, Buffer.of(old ^ (1 << random.below(8)))],
    ["a bit turned", 1, Buffer.of(old ^ (1 << random.below(8)))],
    ["another byte", 1, Buffer.of(random.below(256))],
    ["0 or 255", 1, Buffer.of(random.pick([0, 255, 127, 128]))],
    [`${length} bytes taken out`, length, Buffer.alloc(0)],
    [`${length} bytes twice`, 0, file.subarray(at, at + length)],
    [`${length} zeros put in`, 0, Buffer.alloc(length)],
    [`${length} bytes of elsewhere (${other})`, length, file.subarray(other, other + length)],
    [`${JSON.stringify(junk.toString("latin1"))} put in`, 0, junk],
    ["cut off", file.length - at, Buffer.alloc(0)],
    ["cut off before", at, Buffer.alloc(0)],
  ]);
  const from = what === "cut off before" ? 0 : at;
  return { what: `${what} at ${at} of ${file.length}`, edit: { at: from, remove, insert: Buffer.from(insert) } };
}

function placeOf(file: Buffer, random: Random, groups: readonly (readonly Field[])[]): number {
  const near = groups.length > 0 && random.once(2);
  if (near) return random.pick(random.pick(groups)).at + random.below(48) - 8;
  return random.pick([
    ...[random.below(32), random.below(128), random.below(512)],
    ...[file.length - 1 - random.below(24), file.length - 1 - random.below(128), random.below(file.length)],
  ]);
}

/** The fewest changes, and the smallest, for which it still holds. */
export async function smallest(
  file: Buffer,
  mutations: readonly Mutation[],
  holds: (mutated: Buffer) => Promise<boolean>,
): Promise<{ mutations: Mutation[]; file: Buffer }> {
  let best = [...mutations];
  const tries = async (candidate: Mutation[]): Promise<boolean> => {
    if (!(await holds(mutated(file, candidate)))) return false;
    best = candidate;
    return true;
  };
  for (const each of mutations) {
    if (best.length > 1) await tries(best.filter((other) => other !== each));
  }
  for (const each of [...best]) {
    for (const smaller of smallerOnes(file, each)) {
      const at = best.findIndex(({ what }) => what === each.what);
      if (await tries(best.with(at, smaller))) break;
    }
  }
  return { mutations: best, file: mutated(file, best) };
}

/** The smallest first: a single byte of it, its first or last half. */
function* smallerOnes(file: Buffer, mutation: Mutation): Generator<Mutation> {
  const { at, remove, insert } = mutation.edit;
  const old = file.subarray(at, at + remove);
  const part = (edit: Edit): Mutation => ({ ...mutation, edit });
  if (remove === insert.length && remove > 1) {
    const different = [...insert.keys()].filter((index) => insert[index] !== old[index]);
    if (different.length > 1 && different.length <= 32)
      for (const index of different)
        yield part({ at: at + index, remove: 1, insert: insert.subarray(index, index + 1) });
  }
  if (insert.length === 0 && remove > 1)
    for (let size = 1; size < remove; size *= 2) {
      yield part({ at, remove: size, insert });
      yield part({ at: at + remove - size, remove: size, insert });
    }
  if (remove === 0 && insert.length > 1)
    for (let size = 1; size < insert.length; size *= 2) yield part({ at, remove: 0, insert: insert.subarray(0, size) });
}
