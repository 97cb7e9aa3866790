import type { Blob, Range } from "../blob.ts";
import { looksLikeAnother } from "../look-alikes.ts";
import { emitStored, type Opener, type Outcome, type Tools } from "../opener.ts";
import { headOf, signaturesIn } from "../signature-search.ts";

/**
 * Tar of any age. What GNU tar, bsdtar and Python's tarfile get out of it comes out: sizes in octal, in base 256 or from a
 * PAX record, members behind the end of the archive (`tar -i`) and behind damaged headers. Where the size in the header and
 * the one in a PAX record differ, the archive is read both ways.
 */
export const tar: Opener = {
  kind: "tar",
  archive: true,
  find(content) {
    const head = headOf(content);
    const place = { start: 0, end: content.size };
    if (isHeader(head)) return [{ ...place, sure: true }];
    if (hasMagic(head) || isUnmarkedHeader(head.subarray(0, BLOCK), content)) return [{ ...place, sure: false }];
    // Where the first header is damaged GNU tar goes on to the next one.
    for (let at = BLOCK; at < head.length; at += BLOCK) {
      if (isHeader(head, at)) return [{ ...place, sure: false }];
    }
    return [];
  },
  open,
};

/** The same behind a picture or a program. Only tars with a magic number are found there; the first is where it begins. */
export const embeddedTar: Opener = {
  kind: "tar",
  archive: true,
  find(content) {
    const starts = (signaturesIn(content).get("tar") ?? []).map((at) => at - MAGIC_AT);
    const start = starts.find((at) => at > 0 && isHeader(content.bytes(at, BLOCK)));
    return start === undefined ? [] : [{ start, end: content.size, sure: false }];
  },
  open,
};

const MAGIC_AT = 257;
const BLOCK = 512;
const PIECE_BYTES = 1024 * 1024;
/** Extended headers are text; a name or a size fits into far less. */
const EXTENSION_TRUSTED_BYTES = 1024;
const EXTENSION_BYTES = 1024 * 1024;
const TYPE = { pax: "x", paxForAll: "g", solarisPax: "X", longName: "L", longLink: "K", gnuSparse: "S" } as const;
const EXTENSIONS: readonly string[] = [TYPE.pax, TYPE.paxForAll, TYPE.solarisPax, TYPE.longName, TYPE.longLink];
/** Files, by the book; "7" is one that wants to be in one piece on disk. */
const PLAIN_FILE = ["0", "\0", "7"];
/** Links, devices, folders and pipes: of these nothing but the header is there, unless they say a size. */
const NO_CONTENT = ["1", "2", "3", "4", "5", "6"];

interface Walk {
  covered: Range[];
  members: TarMember[];
  /** Some size was said in two ways. */
  disagrees: boolean;
  /** Some size was written in a way that programs read differently. */
  unclear: boolean;
  /** It ends in the middle of a header, or behind one that is about the next member. */
  cutOff: boolean;
  byTheBook: boolean;
  headers: number;
}

interface TarMember {
  name: string;
  content: Range;
  plain: boolean;
  sparse?: Sparse | undefined;
}

/** A file with holes: where its stretches go. In the newest version of PAX records its data begin with that. */
interface Sparse {
  map?: number[];
  size: number;
}

function open(container: Blob, tools: Tools): Outcome {
  const first = walk(container, tools, { believePax: true });
  const walks = first.disagrees ? [first, walk(container, tools, { believePax: false })] : [first];
  const isMistakable = looksLikeAnother(container, "tar");
  for (const { members, byTheBook } of walks) {
    for (const { name, content, plain, sparse } of members) {
      const stored = container.slice(content.start, content.end);
      const way = byTheBook && plain && !isMistakable ? "tar" : undefined;
      emitStored(tools.sink, { name, content: stored, way });
      if (sparse) fill(stored, sparse, { name, tools });
    }
  }
  if (first.headers === 0) return { kind: "unreadable" };
  if (first.unclear || first.cutOff) return { kind: "unreadable" };
  // Where sizes disagree one of them is right.
  const cut = walks.every(({ members }) => members.some(({ content }) => content.end > container.size));
  return cut ? { kind: "unreadable" } : { kind: "opened", covered: walks.flatMap(({ covered }) => covered) };
}

/** From the first block to the last, over everything that is no header. */
function walk(container: Blob, { budget }: Tools, { believePax }: { believePax: boolean }): Walk {
  const found: Walk = {
    covered: [],
    members: [],
    disagrees: false,
    unclear: false,
    cutOff: false,
    byTheBook: true,
    headers: 0,
  };
  let forNext: Extension = {};
  let forAll: Extension = {};
  let zeros = 0;
  /** Behind the last member or extended header. */
  let end = -1;
  for (let at = 0; at < container.size; ) {
    budget.addWork(BLOCK);
    const block = container.bytes(at, BLOCK);
    if (isZero(block)) {
      found.covered.push({ start: at, end: at + block.length });
      zeros += 1;
      at += BLOCK;
      continue;
    }
    if (block.length < BLOCK || !isHeader(block)) {
      found.byTheBook = false;
      // Behind zeros it is something that does not belong to the archive.
      if (block.length < BLOCK && zeros === 0 && at === end) found.cutOff = true;
      // With a wrong checksum programs pass over it, or take it for one all the same.
      if (hasMagic(block) || isUnmarkedHeader(block, container, at)) takeDamaged(found, block, at);
      at += BLOCK;
      continue;
    }
    if (zeros > 0) found.byTheBook = false;
    zeros = 0;
    found.headers += 1;
    const header = readHeader(block);
    const { type } = header;
    if (!header.byTheBook) found.byTheBook = false;
    if (header.unclear) found.unclear = true;
    if (EXTENSIONS.includes(type)) {
      found.byTheBook = false;
      const text = container.bytes(at + BLOCK, Math.min(header.size, EXTENSION_BYTES));
      const extension = readExtension(type, text);
      if (type === TYPE.paxForAll && extension.size !== undefined) forAll = { size: extension.size };
      forNext = { ...forNext, ...extension };
      // Names and times are short. More than that is nobody's to trust, and looked at as what is left over.
      const body = header.size <= EXTENSION_TRUSTED_BYTES ? padded(header.size) : 0;
      found.covered.push({ start: at, end: Math.min(container.size, at + BLOCK + body) });
      at += BLOCK + padded(header.size);
      end = at;
      found.cutOff = type !== TYPE.paxForAll && at >= container.size;
      continue;
    }
    if (forNext.size !== undefined && forNext.size !== header.size) found.disagrees = true;
    const size = (believePax ? forNext.size : undefined) ?? header.size;
    const gnu = type === TYPE.gnuSparse ? gnuSparse(container, at) : undefined;
    const start = at + BLOCK + (gnu?.bytes ?? 0);
    // A link says the size of what it leads to, and some programs write that as well.
    const content = NO_CONTENT.includes(type) && !holdsContent(container, start, size) ? 0 : size;
    const name = forNext.name ?? header.name;
    if (content > 0) {
      const plain = PLAIN_FILE.includes(type);
      found.members.push({ name, content: { start, end: start + content }, plain, sparse: gnu ?? forNext.sparse });
    }
    found.covered.push({ start: at, end: Math.min(container.size, start + padded(content)) });
    at = start + padded(content);
    end = at;
    forNext = forAll;
  }
  if (zeros < 2) found.byTheBook = false;
  return found;
}

/** Its member comes out, and the search for the next header goes on right behind it: nothing it says is to be trusted. */
function takeDamaged(found: Walk, block: Buffer, at: number): void {
  const { name, size } = readHeader(block);
  found.headers += 1;
  if (size > 0) found.members.push({ name, content: { start: at + BLOCK, end: at + BLOCK + size }, plain: false });
}

/** Whether what should be content is none but the next header: bsdtar and GNU tar read links of old archives so. */
function holdsContent(container: Blob, start: number, size: number): boolean {
  if (size === 0 || start + size > container.size) return false;
  const next = container.bytes(start, BLOCK);
  return !isZero(next) && !(next.length === BLOCK && isHeader(next));
}

interface Header {
  name: string;
  size: number;
  type: string;
  byTheBook: boolean;
  unclear: boolean;
}

function readHeader(block: Buffer): Header {
  const field = block.subarray(124, 136);
  const binary = isBinary(field);
  const octal = octalIn(field);
  const size = numberIn(field);
  const name = block.toString("latin1", 0, 100).split("\0")[0] ?? "";
  const type = String.fromCharCode(block[156] ?? 0);
  const unclear = !binary && !/^[ \0]*(?:[0-7]+(?:[ \0]|$)|$)/.test(field.toString("latin1"));
  return { name, size, type, byTheBook: !binary && octal.length >= 11 && name !== "", unclear };
}

const NUMBER_BYTES = 12;
const isBinary = (field: Buffer): boolean => ((field[0] ?? 0) & 0x80) !== 0;
const octalIn = (field: Buffer): string => field.toString("latin1").match(/^[ \0]*([0-7]*)/)?.[1] ?? "";
const numberIn = (field: Buffer): number =>
  isBinary(field) ? base256(field) : Number.parseInt(octalIn(field) || "0", 8);

function base256(field: Buffer): number {
  let value = (field[0] ?? 0) & 0x7f;
  for (const byte of field.subarray(1)) value = value * 256 + byte;
  return Math.min(value, Number.MAX_SAFE_INTEGER);
}

interface Extension {
  size?: number;
  name?: string;
  sparse?: Sparse;
}

/** The last record of a name counts. */
function readExtension(type: string, text: Buffer): Extension {
  if (type === TYPE.longName) return { name: text.toString("latin1").split("\0")[0] ?? "" };
  if (type === TYPE.longLink) return {};
  const found: Extension = {};
  const sparse: Sparse = { size: 0 };
  for (let at = 0; at < text.length; ) {
    const length = Number.parseInt(text.toString("latin1", at, at + 20), 10);
    if (!(length > 0)) break;
    const [, key = "", value = ""] = text.toString("latin1", at, at + length).match(/^\d+ ([^=]*)=(.*)\n$/s) ?? [];
    if (key === "size") found.size = Number.parseInt(value, 10) || 0;
    if (key === "path") found.name = value;
    if (key.startsWith("GNU.sparse.")) found.sparse = sparse;
    if (key === "GNU.sparse.map") sparse.map = value.split(",").map(Number);
    // Version 0.0 says it piece by piece.
    if (key === "GNU.sparse.offset" || key === "GNU.sparse.numbytes") {
      sparse.map ??= [];
      sparse.map.push(Number(value));
    }
    if (key === "GNU.sparse.realsize" || key === "GNU.sparse.size") sparse.size = Number(value) || 0;
    at += length;
  }
  return found;
}

/** The file with its holes filled, as it is on disk; one that is too large for memory without them. */
function fill(stored: Blob, { map, size }: Sparse, { name, tools }: { name: string; tools: Tools }): void {
  const { sink, budget } = tools;
  const inData = map ? undefined : mapInData(stored);
  const stretches = map ?? inData?.map;
  if (!stretches) return;
  const holes = size <= budget.limits.memberInMemoryBytes;
  let [from, written] = [inData?.bytes ?? 0, 0];
  sink.begin(name);
  const zeros = (until: number): void => {
    for (; holes && written < Math.min(until, size); written += Math.min(PIECE_BYTES, until - written)) {
      sink.write(Buffer.alloc(Math.min(PIECE_BYTES, until - written, size - written)));
    }
  };
  const count = stretches.length >> 1;
  const starts = new Float64Array(count);
  for (let index = 0; index < count; index += 1) {
    starts[index] = from;
    from += Math.max(0, stretches[2 * index + 1] || 0);
  }
  // They may be stored in any order.
  const order = Uint32Array.from(starts.keys()).sort((a, b) => (stretches[2 * a] ?? 0) - (stretches[2 * b] ?? 0));
  for (const index of order) {
    const [start = 0, offset = 0, length = 0] = [starts[index], ...stretches.slice(2 * index, 2 * index + 2)];
    zeros(offset);
    for (let done = 0; done < length && start + done < stored.size; ) {
      const piece = stored.bytes(start + done, Math.min(PIECE_BYTES, length - done));
      sink.write(piece);
      done += piece.length;
      written += piece.length;
    }
  }
  zeros(size);
  sink.end();
}

/** How many stretches, then where each begins and how long it is, a line for each number; filled up to a whole block. */
function mapInData(stored: Blob): { map: number[]; bytes: number } | undefined {
  const text = stored.bytes(0, EXTENSION_BYTES).toString("latin1");
  const count = Number(text.match(/^(\d{1,6})\n/)?.[1] ?? Number.NaN);
  if (Number.isNaN(count)) return undefined;
  const lines = text.split("\n", count * 2 + 1);
  const map = lines.slice(1).map(Number);
  const length = lines.reduce((sum, line) => sum + line.length + 1, 0);
  return map.every(Number.isFinite) ? { map, bytes: padded(length) } : undefined;
}

/** As old GNU tars say it: four stretches in the header, further ones in as many blocks behind it as it takes. */
function gnuSparse(container: Blob, at: number): Sparse & { bytes: number } {
  const header = container.bytes(at, BLOCK);
  const map: number[] = [];
  const add = (stretches: Buffer): void => {
    for (let field = 0; field + NUMBER_BYTES <= stretches.length; field += NUMBER_BYTES) {
      map.push(numberIn(stretches.subarray(field, field + NUMBER_BYTES)));
    }
  };
  add(header.subarray(386, 482));
  let bytes = 0;
  for (let goesOn = header[482]; goesOn; bytes += BLOCK) {
    const block = container.bytes(at + BLOCK + bytes, BLOCK);
    if (block.length < BLOCK) break;
    add(block.subarray(0, 504));
    goesOn = block[504];
  }
  return { map, size: numberIn(header.subarray(483, 495)), bytes };
}

/** A header says its own checksum, which is all that tars of every age have in common. */
function isHeader(bytes: Buffer, at = 0): boolean {
  const stated = at + BLOCK > bytes.length ? -1 : statedSum(bytes, at + SUM_AT);
  if (stated < 0) return false;
  // The checksum's own eight bytes count as spaces. Some old programs took the bytes for signed ones.
  let [sum, signed] = [SUM_BYTES * 0x20, SUM_BYTES * 0x20];
  for (let index = 0; index < BLOCK; index += 1) {
    if (index >= SUM_AT && index < SUM_AT + SUM_BYTES) continue;
    const byte = bytes[at + index] as number;
    sum += byte;
    signed += byte > 127 ? byte - 256 : byte;
  }
  return stated === sum || (stated === signed && hasSize(bytes, at));
}

/** A sum of signed bytes is small enough to be right by chance. Programs that compare it also want a size that is a number. */
function hasSize(bytes: Buffer, at: number): boolean {
  const field = bytes.subarray(at + 124, at + 136);
  if (isBinary(field)) return base256(field) < Number.MAX_SAFE_INTEGER;
  return /^[\s\0]*(?:[0-7]*(?:[\s\0]|$)|[+-])/.test(field.toString("latin1"));
}

const SUM_AT = 148;
const SUM_BYTES = 8;

/**
 * Reads the checksum, in octal digits behind any white space and zeros, or in base 256 as Python does; -1 where there is none.
 * Every block of a content is asked about.
 */
function statedSum(bytes: Buffer, start: number): number {
  const end = start + SUM_BYTES;
  let at = start;
  if ((bytes[at] as number) >= 0x80) return bytes.readUInt32BE(end - 4);
  while (at < end && isSpace(bytes[at] as number)) at += 1;
  let value = -1;
  for (; at < end; at += 1) {
    const digit = (bytes[at] as number) - 0x30;
    if (digit < 0 || digit > 7) break;
    value = (value < 0 ? 0 : value * 8) + digit;
  }
  return value;
}

function isSpace(byte: number): boolean {
  return byte === 0 || byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
}

function hasMagic(block: Buffer): boolean {
  return block.length >= BLOCK && block.toString("latin1", MAGIC_AT, MAGIC_AT + 5) === "ustar";
}

/**
 * Ruby's TarReader asks neither for a magic nor for a right checksum, but for octal numbers in these fields. The size must lead to the
 * end, to zeros or to the next such header, which a table of numbers does not.
 */
function isUnmarkedHeader(block: Buffer, container: Blob, at = 0): boolean {
  if (!hasOctalFields(block)) return false;
  const next = at + BLOCK + padded(readHeader(block).size);
  if (next >= container.size) return true;
  const following = container.bytes(next, BLOCK);
  return isZero(following) || (following.length === BLOCK && isHeader(following)) || hasOctalFields(following);
}

/** The mode, the size, the time and the checksum; only the size must not be empty. */
function hasOctalFields(block: Buffer): boolean {
  if (block.length < BLOCK || !OCTAL_DIGIT.test(block.toString("latin1", 124, 136))) return false;
  return OCTAL_FIELDS.every(([start, end]) => OCTAL_FIELD.test(block.toString("latin1", start, end)));
}

const OCTAL_FIELDS = [
  [124, 136],
  [100, 108],
  [136, 148],
  [148, 156],
] as const;
const OCTAL_DIGIT = /[0-7]/;
const OCTAL_FIELD = /^[\s\0]*[0-7]*[\s\0]*$/;

function isZero(block: Buffer): boolean {
  return block.equals(block.length === BLOCK ? ZEROS : Buffer.alloc(block.length));
}

const ZEROS = Buffer.alloc(BLOCK);

function padded(size: number): number {
  return Math.ceil(size / BLOCK) * BLOCK;
}
