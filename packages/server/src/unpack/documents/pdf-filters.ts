import { type Decoded, type InflateOptions, inflateBytes, output } from "./pdf-inflate.ts";
import type { Entries, Value } from "./pdf-objects.ts";

/** One step of how a stream is packed, with what it needs to know. */
export interface Filter {
  name: string;
  predictor: number;
  colors: number;
  bitsPerComponent: number;
  columns: number;
  /** LZW: whether codes grow one code early, as they do unless it is said otherwise. */
  earlyChange: number;
}

const PLAIN_FILTER: Omit<Filter, "name"> = {
  predictor: 1,
  colors: 1,
  bitsPerComponent: 8,
  columns: 1,
  earlyChange: 1,
};

/** Objects that streams may refer to, by number: lengths, filters and their parameters; several if they were revised. */
export type Objects = Map<number, Value[]>;

const READINGS_AT_MOST = 4;

/** What a stream's dictionary says about it, in all the ways it can be read; undefined while it refers to what is not known. */
export function chainsOf(objects: Objects, entries: Entries): Filter[][] | undefined {
  const all = (...keys: string[]): Value[] => keys.flatMap((key) => entries.get(key) ?? []);
  const named = all("Filter", "F").filter(({ kind }) => kind !== "dictionary" && kind !== "string" && kind !== "other");
  const filters = named.flatMap((value) => resolve(objects, value));
  if (named.length > 0 && filters.length === 0) return undefined;
  const given = all("DecodeParms", "DP").filter(({ kind }) => kind !== "string" && kind !== "other");
  const parameters = given.flatMap((value) => resolve(objects, value));
  if (given.length > 0 && parameters.length === 0) return undefined;
  if (filters.length === 0) return [[]];
  return filters
    .flatMap((filter) =>
      (parameters.length > 0 ? parameters : [undefined]).map((parameter) => chainOf(objects, filter, parameter)),
    )
    .slice(0, READINGS_AT_MOST);
}

function chainOf(objects: Objects, filters: Value, parameters: Value | undefined): Filter[] {
  const names = filters.kind === "list" ? filters.items.flatMap((item) => resolve(objects, item)) : [filters];
  return names.map((name, index) => {
    const given = parameters?.kind === "list" ? parameters.items[index] : parameters;
    const [own] = given ? resolve(objects, given) : [];
    const entries = own?.kind === "dictionary" ? own.entries : undefined;
    const number = (key: string, otherwise: number): number => {
      const [value] = (entries?.get(key) ?? []).flatMap((one) => resolve(objects, one));
      return value?.kind === "number" ? value.value : otherwise;
    };
    return {
      name: name.kind === "name" ? name.name : "",
      predictor: number("Predictor", PLAIN_FILTER.predictor),
      colors: number("Colors", PLAIN_FILTER.colors),
      bitsPerComponent: number("BitsPerComponent", PLAIN_FILTER.bitsPerComponent),
      columns: number("Columns", PLAIN_FILTER.columns),
      earlyChange: number("EarlyChange", PLAIN_FILTER.earlyChange),
    };
  });
}

export function resolve(objects: Objects, value: Value): Value[] {
  return value.kind === "reference" ? (objects.get(value.object) ?? []) : [value];
}

/**
 * Undoes one step. Codings of pictures, and what nobody knows, give nothing back: such bytes are seen as they are.
 */
export function decodeFilter(packed: Buffer, filter: Filter, options: InflateOptions): Decoded | undefined {
  const decode = DECODERS.get(filter.name);
  if (!decode) return undefined;
  const decoded = decode(packed, filter, options);
  return WITH_PREDICTORS.has(filter.name) ? { ...decoded, bytes: undoPredictor(decoded.bytes, filter) } : decoded;
}

/** Not a picture's coding. */
export function isDecodable(filter: Filter): boolean {
  return DECODERS.has(filter.name);
}

/** As the dictionaries of inline pictures abbreviate them, which readers accept everywhere. */
export function isFlate(filter: Filter | undefined): boolean {
  return filter?.name === "FlateDecode" || filter?.name === "Fl";
}

type Decoder = (packed: Buffer, filter: Filter, options: InflateOptions) => Decoded;

const inflate: Decoder = (packed, _, options) => inflateBytes(packed, options);
const asIs: Decoder = (packed) => ({ bytes: packed, consumed: packed.length, whole: true, tooLarge: false });

const DECODERS: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ["FlateDecode", inflate],
  ["Fl", inflate],
  ["LZWDecode", decodeLzw],
  ["LZW", decodeLzw],
  ["ASCIIHexDecode", decodeHex],
  ["AHx", decodeHex],
  ["ASCII85Decode", decodeAscii85],
  ["A85", decodeAscii85],
  ["RunLengthDecode", decodeRunLength],
  ["RL", decodeRunLength],
  // In a document that is not encrypted it can only be the one that changes nothing.
  ["Crypt", asIs],
]);

const WITH_PREDICTORS = new Set(["FlateDecode", "Fl", "LZWDecode", "LZW"]);

/** The value of each hexadecimal digit. */
const HEX = Uint8Array.from({ length: 256 }, (_, byte) => {
  const digit = "0123456789abcdef".indexOf(String.fromCharCode(byte).toLowerCase());
  return digit < 0 ? 255 : digit;
});

/** What is no digit is passed over; `>` is the end; a last digit alone is followed by a zero. */
export function decodeHex(packed: Buffer): Decoded {
  const out = Buffer.allocUnsafe((packed.length + 1) >> 1);
  let digits = 0;
  let at = 0;
  for (; at < packed.length && packed[at] !== GREATER; at += 1) {
    const digit = HEX[packed[at] ?? 0] ?? 255;
    if (digit === 255) continue;
    if (digits & 1) out[digits >> 1] = (out[digits >> 1] ?? 0) | digit;
    else out[digits >> 1] = digit << 4;
    digits += 1;
  }
  return {
    bytes: out.subarray(0, (digits + 1) >> 1),
    consumed: Math.min(packed.length, at + 1),
    whole: true,
    tooLarge: false,
  };
}

const GREATER = 0x3e;
const TILDE = 0x7e;
const LESS = 0x3c;

/** Five characters of `!` to `u` are four bytes, `z` is four zeros, `~` the end; `<~` may stand in front. */
function decodeAscii85(packed: Buffer, _: Filter, options: InflateOptions): Decoded {
  const out = output(options.limit, packed.length);
  let group = 0;
  let count = 0;
  let at = 0;
  const put = (value: number, bytes: number): boolean => {
    if (!out.hasRoom(4)) return false;
    out.bytes.writeUInt32BE(value % 0x1_0000_0000, out.length);
    out.length += bytes;
    return true;
  };
  const ended = (consumed: number, tooLarge: boolean): Decoded => ({
    bytes: out.taken(),
    consumed: Math.min(packed.length, consumed),
    whole: !tooLarge,
    tooLarge,
  });
  while (at < packed.length && (packed[at] ?? 0) <= 0x20) at += 1;
  if (packed[at] === LESS && packed[at + 1] === TILDE) at += 2;
  for (; at < packed.length && packed[at] !== TILDE; at += 1) {
    const byte = packed[at] ?? 0;
    if (byte === 0x7a && count === 0) {
      if (!put(0, 4)) return ended(at, true);
      continue;
    }
    if (byte < 0x21 || byte > 0x75) continue;
    group = group * 85 + (byte - 0x21);
    count += 1;
    if (count < 5) continue;
    if (!put(group, 4)) return ended(at, true);
    group = 0;
    count = 0;
  }
  if (count > 1) {
    for (let i = count; i < 5; i += 1) group = group * 85 + 84;
    if (!put(group, count - 1)) return ended(at, true);
  }
  return ended(at + 2, false);
}

/** A length below 128 is followed by so many bytes and one more; one above by a byte that is repeated; 128 is the end. */
function decodeRunLength(packed: Buffer, _: Filter, options: InflateOptions): Decoded {
  const out = output(options.limit, packed.length * 2);
  let at = 0;
  while (at < packed.length && packed[at] !== 128) {
    const code = packed[at] ?? 0;
    const size = code < 128 ? code + 1 : 257 - code;
    if (!out.hasRoom(size)) return { bytes: out.taken(), consumed: at, whole: false, tooLarge: true };
    if (code < 128) out.bytes.set(packed.subarray(at + 1, at + 1 + size), out.length);
    else out.bytes.fill(packed[at + 1] ?? 0, out.length, out.length + size);
    out.length += code < 128 ? Math.min(size, packed.length - at - 1) : size;
    at += code < 128 ? 1 + size : 2;
  }
  return { bytes: out.taken(), consumed: Math.min(packed.length, at + 1), whole: true, tooLarge: false };
}

const CLEAR = 256;
const END = 257;

/** LZW with codes of 9 to 12 bits, the high bit first. */
function decodeLzw(packed: Buffer, filter: Filter, options: InflateOptions): Decoded {
  const early = filter.earlyChange === 0 ? 0 : 1;
  // Each entry of the table is a stretch of what has come out already.
  const starts = new Uint32Array(4097);
  const lengths = new Uint32Array(4097);
  const out = output(options.limit, packed.length * 4);
  let next = END + 1;
  let width = 9;
  let hold = 0;
  let held = 0;
  let at = 0;
  let previousStart = -1;
  let previousLength = 0;
  const ended = (whole: boolean, tooLarge = false): Decoded => ({
    bytes: out.taken(),
    consumed: at,
    whole,
    tooLarge,
  });

  for (;;) {
    while (held < width) {
      if (at === packed.length) return ended(true);
      hold = ((hold << 8) | (packed[at] ?? 0)) & 0xfffff;
      held += 8;
      at += 1;
    }
    held -= width;
    const code = (hold >> held) & ((1 << width) - 1);
    if (code === END) return ended(true);
    if (code === CLEAR) {
      next = END + 1;
      width = 9;
      previousStart = -1;
      continue;
    }
    const known = code < CLEAR || (code > END && code < next);
    if (!known && (code !== next || previousStart < 0)) return ended(false);
    const from = code < CLEAR ? -1 : known ? (starts[code] ?? 0) : previousStart;
    const size = code < CLEAR ? 1 : known ? (lengths[code] ?? 0) : previousLength + 1;
    if (!out.hasRoom(size)) return ended(false, true);
    const start = out.length;
    const { bytes } = out;
    if (from < 0) bytes[start] = code;
    else for (let i = 0; i < size; i += 1) bytes[start + i] = bytes[from + i] ?? 0;
    out.length += size;
    if (previousStart >= 0 && next < 4096) {
      // The entry before this code and one byte more: they stand side by side in what has come out.
      starts[next] = previousStart;
      lengths[next] = previousLength + 1;
      next += 1;
    }
    previousStart = start;
    previousLength = size;
    if (next + early >= 1 << width && width < 12) width += 1;
  }
}

/** Rows that were written as differences. As far as the rows go; senseless parameters change nothing. */
export function undoPredictor(bytes: Buffer, filter: Filter): Buffer {
  if (filter.predictor < 2) return bytes;
  const pixelBytes = Math.max(1, Math.ceil((filter.colors * filter.bitsPerComponent) / 8));
  const rowBytes = Math.ceil((filter.colors * filter.bitsPerComponent * filter.columns) / 8);
  if (!(rowBytes >= 1 && rowBytes <= 0x4000_0000 && filter.colors >= 1 && filter.colors <= 1024)) return bytes;
  return filter.predictor === 2 ? undoTiff(bytes, rowBytes, filter) : undoPng(bytes, rowBytes, pixelBytes);
}

/** Whole bytes only; smaller samples are left as they are, as no text can be in them. */
function undoTiff(bytes: Buffer, rowBytes: number, filter: Filter): Buffer {
  const out = Buffer.from(bytes);
  const step = filter.colors * (filter.bitsPerComponent === 16 ? 2 : 1);
  if (filter.bitsPerComponent !== 8 && filter.bitsPerComponent !== 16) return out;
  for (let row = 0; row < out.length; row += rowBytes) {
    const end = Math.min(out.length, row + rowBytes);
    if (filter.bitsPerComponent === 8) {
      for (let i = row + step; i < end; i += 1) out[i] = (out[i] ?? 0) + (out[i - step] ?? 0);
    } else {
      for (let i = row + step; i + 1 < end; i += 2) {
        out.writeUInt16BE((out.readUInt16BE(i) + out.readUInt16BE(i - step)) & 0xffff, i);
      }
    }
  }
  return out;
}

/** Each row says in its first byte how it was written, whatever the dictionary says. */
function undoPng(bytes: Buffer, rowBytes: number, pixelBytes: number): Buffer {
  const rows = Math.ceil(bytes.length / (rowBytes + 1));
  const out = Buffer.alloc(Math.max(0, bytes.length - rows));
  for (let row = 0; row < rows; row += 1) {
    const from = row * (rowBytes + 1) + 1;
    const to = row * rowBytes;
    const count = Math.min(rowBytes, bytes.length - from);
    const type = bytes[from - 1] ?? 0;
    for (let i = 0; i < count; i += 1) {
      const left = i >= pixelBytes ? (out[to + i - pixelBytes] ?? 0) : 0;
      const up = row > 0 ? (out[to + i - rowBytes] ?? 0) : 0;
      const corner = row > 0 && i >= pixelBytes ? (out[to + i - rowBytes - pixelBytes] ?? 0) : 0;
      out[to + i] = (bytes[from + i] ?? 0) + predicted(type, { left, up, corner });
    }
  }
  return out;
}

function predicted(type: number, { left, up, corner }: { left: number; up: number; corner: number }): number {
  switch (type) {
    case 1:
      return left;
    case 2:
      return up;
    case 3:
      return (left + up) >> 1;
    case 4: {
      const estimate = left + up - corner;
      const [byLeft, byUp, byCorner] = [
        Math.abs(estimate - left),
        Math.abs(estimate - up),
        Math.abs(estimate - corner),
      ];
      return byLeft <= byUp && byLeft <= byCorner ? left : byUp <= byCorner ? up : corner;
    }
    default:
      return 0;
  }
}
