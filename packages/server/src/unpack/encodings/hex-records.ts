import { type Opener, type Tools, whole } from "../opener.ts";
import { headOf } from "../signature-search.ts";

/**
 * Bytes for a chip or a debugger, in lines of hexadecimal numbers that say a length and an address as well: Intel's files
 * (`:10000000…`) and Motorola's (`S1130000…`). The bytes of all lines come out as one.
 */
export const hexRecords: Opener = {
  kind: "hex-records",
  find: (content) =>
    isRecord(headOf(content).toString("latin1", 0, 600)) ? [{ start: 0, end: content.size, sure: false }] : [],
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

const PIECE_BYTES = 1024 * 1024;
/** 255 bytes in numbers, and what stands around them. */
const LINE_AT_MOST = 600;
const INTEL = /^\s*:([0-9a-f]{2})[0-9a-f]{4}(0[0-5])([0-9a-f]*)$/i;
const MOTOROLA = /^\s*S([123])([0-9a-f]{2})([0-9a-f]*)$/i;
const DATA = "00";
const CHECKSUM = 1;

function isRecord(head: string): boolean {
  const [first = "", second = ""] = head.replace(/^\s+/, "").split(/[\r\n]+/);
  return [first, second].every((line) => INTEL.test(line) || /^S[0-9][0-9a-f]{4,}$/i.test(line));
}

/** Nothing, of lines that say something else than bytes. */
function dataOf(line: string): Buffer {
  const [, length = "", type, data = ""] = line.match(INTEL) ?? [];
  if (type !== undefined)
    return type === DATA ? Buffer.from(data.slice(0, 2 * Number.parseInt(length, 16)), "hex") : NOTHING;
  const [, kind, count = "", rest = ""] = line.match(MOTOROLA) ?? [];
  if (kind === undefined) return NOTHING;
  const addressBytes = Number(kind) + 1;
  const dataBytes = Math.max(0, Number.parseInt(count, 16) - addressBytes - CHECKSUM);
  return Buffer.from(rest.slice(2 * addressBytes, 2 * (addressBytes + dataBytes)), "hex");
}

const NOTHING = Buffer.alloc(0);
