import { crc32 } from "node:zlib";
import type { Blob } from "../blob.ts";
import type { Budget } from "../budget.ts";
import { findAll } from "./find-bytes.ts";

/**
 * Where the compressed streams of a container end that has something else behind them: 7-Zip says that there is something,
 * not where. Nothing if that cannot be told.
 */
export function streamEnd(container: Blob, type: string, budget: Budget): number | undefined {
  if (type === "xz") return endOfXz(container, budget);
  return type === "bzip2" ? endOfBzip2(container, budget) : undefined;
}

const XZ_FOOTER_END = Buffer.from("YZ");
const XZ_FOOTER_BYTES = 12;

/** The footer carries a checksum of its own. Streams follow each other with nothing but zeros in between. */
function endOfXz(container: Blob, budget: Budget): number | undefined {
  let end: number | undefined;
  for (const at of findAll(container, XZ_FOOTER_END, budget)) {
    const footer = container.bytes(at + XZ_FOOTER_END.length - XZ_FOOTER_BYTES, XZ_FOOTER_BYTES);
    if (footer.length < XZ_FOOTER_BYTES || at + 2 < XZ_FOOTER_BYTES) continue;
    if (crc32(footer.subarray(4, 10)) !== footer.readUInt32LE(0)) continue;
    if (end !== undefined && !isXzAfter(container, end)) break;
    end = at + XZ_FOOTER_END.length;
  }
  return end;
}

function isXzAfter(container: Blob, position: number): boolean {
  const next = container.bytes(position, XZ_PADDING_BYTES);
  const start = next.findIndex((byte) => byte !== 0);
  return start >= 0 && next.toString("latin1", start, start + XZ_HEADER.length) === XZ_HEADER;
}

const XZ_HEADER = "\xfd7zXZ\0";
const XZ_PADDING_BYTES = 64 * 1024;

/** What stands at the end of a bzip2 stream, in front of its checksum, at any bit. */
const BZIP2_END = 0x177245385090n;
const BZIP2_END_BITS = 48;
const BZIP2_CRC_BITS = 32;

function endOfBzip2(container: Blob, budget: Budget): number | undefined {
  let end: number | undefined;
  for (const next of endsOfBzip2Streams(container, budget)) {
    if (!/^BZh[1-9]/.test(container.bytes(end ?? 0, 4).toString("latin1"))) break;
    end = next;
  }
  return end;
}

function endsOfBzip2Streams(container: Blob, budget: Budget): number[] {
  const ends: number[] = [];
  for (let shift = 0; shift < 8; shift += 1) {
    // The mark, moved by some bits, begins and ends in the middle of a byte: only the bytes between are known.
    const bytes = BZIP2_END_BITS / 8 + (shift > 0 ? 1 : 0);
    const moved = BZIP2_END << BigInt(bytes * 8 - BZIP2_END_BITS - shift);
    const pattern = Buffer.from(moved.toString(16).padStart(bytes * 2, "0"), "hex");
    const known = shift > 0 ? pattern.subarray(1, -1) : pattern;
    for (const at of findAll(container, known, budget)) {
      const start = shift > 0 ? at - 1 : at;
      if (start < 0 || !matches(container.bytes(start, bytes), pattern, shift)) continue;
      ends.push(start + Math.ceil((shift + BZIP2_END_BITS + BZIP2_CRC_BITS) / 8));
    }
  }
  return ends.sort((a, b) => a - b);
}

function matches(bytes: Buffer, pattern: Buffer, shift: number): boolean {
  if (bytes.length < pattern.length) return false;
  if (shift === 0) return bytes.equals(pattern);
  const [first, last] = [0xff >> shift, (0xff << (8 - shift)) & 0xff];
  const at = pattern.length - 1;
  return (
    ((bytes[0] ?? 0) & first) === ((pattern[0] ?? 0) & first) &&
    ((bytes[at] ?? 0) & last) === ((pattern[at] ?? 0) & last)
  );
}
