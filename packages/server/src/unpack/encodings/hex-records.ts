import { type Opener, type Tools, whole } from "../opener.ts";
import { headOf } from "../signature-search.ts";
import { marking } from "./text.ts";

/**
 * Bytes for a chip or a person, in lines of hexadecimal numbers that say an address as well: Intel's files (`:10000000…`),
 * Motorola's (`S1130000…`), and dumps by xxd, hexdump and certutil. The bytes of all lines come out as one.
 */
export const hexRecords: Opener = {
  kind: "hex-records",
  find(content) {
    const head = headOf(content);
    if (BEGINNING[head[0] ?? 0] !== 1 || !isRecord(head.toString("latin1", 0, 600))) return [];
    return [{ start: 0, end: content.size, sure: false }];
  },
  open(container, { sink, budget }: Tools) {
    sink.begin("records");
    let rest = "";
    for (let at = 0; at < container.size; at += PIECE_BYTES) {
      const text = rest + container.bytes(at, PIECE_BYTES).toString("latin1");
      budget.addWork(text.length);
      const lines = text.split(/[\r\n]+/);
      rest = at + PIECE_BYTES < container.size ? (lines.pop() ?? "").slice(0, LINE_AT_MOST) : "";
      const bytes = lines.map(dataOf);
      sink.write(Buffer.concat(bytes));
    }
    sink.end();
    return { kind: "opened", covered: whole(container) };
  },
};

/** What a line of records begins with, or stands before it. */
const BEGINNING = marking(":S0123456789abcdefABCDEF \t\r\n");
const PIECE_BYTES = 1024 * 1024;
/** 255 bytes in numbers, and what stands around them. */
const LINE_AT_MOST = 600;
const INTEL = /^\s*:([0-9a-f]{2})[0-9a-f]{4}(0[0-5])([0-9a-f]*)$/i;
const MOTOROLA = /^\s*S([123])([0-9a-f]{2})([0-9a-f]*)$/i;
const DATA = "00";
const CHECKSUM = 1;

function isRecord(head: string): boolean {
  const [first = "", second = ""] = head.replace(/^\s+/, "").split(/[\r\n]+/, 2);
  if ([first, second].every((line) => INTEL.test(line) || /^S[0-9][0-9a-f]{4,}$/i.test(line))) return true;
  return [first, second].every((line) => dumpedBytes(line)?.length === 16);
}

/**
 * A line of a dump, as xxd, hexdump and certutil write it: an address, up to 16 bytes in groups, and perhaps the same as letters.
 * The bytes end at the sixteenth, or where something else than a group stands.
 */
function dumpedBytes(line: string): Buffer | undefined {
  const address = line.match(/^\s{0,8}[0-9a-f]{4,16}(?::|\s)\s{0,4}/i)?.[0];
  if (address === undefined) return undefined;
  let digits = "";
  const groups = /[ -]{0,2}((?:[0-9a-f]{2}){1,8})(?=[ \t|-]|$)/iy;
  groups.lastIndex = address.length;
  for (let group = groups.exec(line); group && digits.length < DUMPED_DIGITS; group = groups.exec(line))
    digits += group[1];
  return digits === "" ? undefined : Buffer.from(digits.slice(0, DUMPED_DIGITS), "hex");
}

const DUMPED_DIGITS = 32;

/** Nothing, of lines that say something else than bytes. */
function dataOf(line: string): Buffer {
  const [, length = "", type, data = ""] = line.match(INTEL) ?? [];
  if (type !== undefined)
    return type === DATA ? Buffer.from(data.slice(0, 2 * Number.parseInt(length, 16)), "hex") : NOTHING;
  const [, kind, count = "", rest = ""] = line.match(MOTOROLA) ?? [];
  if (kind === undefined) return dumpedBytes(line) ?? NOTHING;
  const addressBytes = Number(kind) + 1;
  const dataBytes = Math.max(0, Number.parseInt(count, 16) - addressBytes - CHECKSUM);
  return Buffer.from(rest.slice(2 * addressBytes, 2 * (addressBytes + dataBytes)), "hex");
}

const NOTHING = Buffer.alloc(0);
