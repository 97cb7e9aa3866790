import type { Blob } from "../blob.ts";
import { byteAt, bytePattern } from "../byte-pattern.ts";
import type { Opener, Tools } from "../opener.ts";
import { headOf } from "../signature-search.ts";

/**
 * Databases of SQLite. A value that does not fit into a page goes on in others, anywhere in the file: such values come out in
 * one piece. All others stand in the file as they are. Pages are gone through one by one, whichever table they belong to.
 */
export const sqlite: Opener = {
  kind: "sqlite",
  knownBy: [byteAt(0, "'S'")],
  find: (content) => (isSqlite(headOf(content)) ? [{ start: 0, end: content.size, sure: false }] : []),
  open(container, tools) {
    const header = container.bytes(0, FILE_HEADER);
    const stated = header.readUInt16BE(16);
    const pageBytes = stated === 1 ? 65_536 : stated;
    const usable = pageBytes - header.readUInt8(20);
    if (pageBytes < 512 || (pageBytes & (pageBytes - 1)) !== 0 || usable < 480) return { kind: "unreadable" };
    const database = { container, pageBytes, usable };
    for (let start = 0; start < container.size; start += pageBytes) {
      tools.budget.addWork(PAGE_WORK);
      readPage(database, start, tools);
    }
    // What is in the pages is looked at as it is, too.
    return { kind: "opened", covered: [] };
  },
};

export const isSqlite: (head: Uint8Array) => boolean = bytePattern("'SQLite format 3' 00 ..*84");
const FILE_HEADER = 100;
const PAGE_WORK = 64;
const LEAF = { table: 0x0d, index: 0x0a } as const;
const INNER_INDEX = 0x02;

interface Database {
  container: Blob;
  pageBytes: number;
  /** Of each page: the rest is for extensions. */
  usable: number;
}

function readPage(database: Database, start: number, tools: Tools): void {
  const { container, pageBytes, usable } = database;
  const at = start === 0 ? FILE_HEADER : 0;
  const type = container.bytes(start + at, 1)[0] ?? 0;
  if (type !== LEAF.table && type !== LEAF.index && type !== INNER_INDEX) return;
  const page = container.bytes(start, pageBytes);
  if (page.length < pageBytes) return;
  const cells = page.readUInt16BE(at + 3);
  const pointers = at + (type === INNER_INDEX ? 12 : 8);
  for (let cell = 0; cell < cells && pointers + 2 * cell + 2 <= page.length; cell += 1) {
    const position = page.readUInt16BE(pointers + 2 * cell);
    const [size, afterSize] = varint(page, position + (type === INNER_INDEX ? 4 : 0));
    const [, payload] = type === LEAF.table ? varint(page, afterSize) : [0, afterSize];
    const most = type === LEAF.table ? usable - 35 : Math.floor(((usable - 12) * 64) / 255) - 23;
    if (size <= most || size > container.size) continue;
    const least = Math.floor(((usable - 12) * 32) / 255) - 23;
    const fitting = least + ((size - least) % (usable - 4));
    const local = fitting <= most ? fitting : least;
    if (payload + local + 4 > page.length) continue;
    const chain = { size, first: page.subarray(payload, payload + local), next: page.readUInt32BE(payload + local) };
    readRecord(database, chain, tools);
  }
}

interface Chain {
  size: number;
  first: Buffer;
  /** The number of the page where it goes on. */
  next: number;
}

/** The types of the values, then the values: each of some length comes out by itself. */
function readRecord(database: Database, chain: Chain, { sink, budget }: Tools): void {
  if (chain.size > budget.limits.memberInMemoryBytes) return;
  const record = joined(database, chain, budget.addWork);
  const [headBytes, afterHead] = varint(record, 0);
  let value = headBytes;
  for (let at = afterHead; at < headBytes && at < record.length; ) {
    const [type, next] = varint(record, at);
    const bytes = type >= 12 ? Math.floor((type - 12) / 2) : (SHORT_VALUES[type] ?? 0);
    if (bytes >= VALUE_BYTES && value < record.length) {
      sink.begin(type % 2 === 0 ? "blob" : "text");
      sink.write(record.subarray(value, value + bytes));
      sink.end();
    }
    value += bytes;
    at = next;
  }
}

const SHORT_VALUES = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0];
/** Nothing that holds anything is shorter. */
const VALUE_BYTES = 22;

/** Follows the pages for no longer than the record is. */
function joined({ container, pageBytes, usable }: Database, chain: Chain, addWork: (count: number) => void): Buffer {
  const pieces = [chain.first];
  let missing = chain.size - chain.first.length;
  for (let page = chain.next; missing > 0 && page > 0; ) {
    const bytes = container.bytes((page - 1) * pageBytes, 4 + Math.min(missing, usable - 4));
    if (bytes.length <= 4) break;
    addWork(bytes.length);
    pieces.push(bytes.subarray(4));
    missing -= bytes.length - 4;
    page = bytes.readUInt32BE(0);
  }
  return Buffer.concat(pieces);
}

/** Seven bits a byte, and eight in the ninth. Where it ends comes with it. */
function varint(bytes: Buffer, start: number): [value: number, end: number] {
  let value = 0;
  for (let index = 0; index < 8; index += 1) {
    const byte = bytes[start + index] ?? 0;
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) return [value, start + index + 1];
  }
  return [value * 256 + (bytes[start + 8] ?? 0), start + 9];
}
