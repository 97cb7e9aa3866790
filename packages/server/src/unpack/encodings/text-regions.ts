import { type Blob, piecesOf, type Range } from "../blob.ts";
import type { MemberWriter } from "./text.ts";

/** Read at once. */
const PIECE_BYTES = 256 * 1024;
/** Of text of two bytes a character, written at once. */
const WRITTEN_BYTES = 64 * 1024;
const TEXT_BYTE = new Uint8Array(256);
for (const byte of [9, 10, 12, 13]) TEXT_BYTE[byte] = 1;
TEXT_BYTE.fill(1, 32, 127);

/** Every run that we look for has a stretch of plain characters as long as this. */
const STRETCH = 64;
const PROBE = 16;
const PROBES = 4;
/** From the first of four probes to the last. */
const REACH = PROBE * (PROBES - 1);
const REGIONS_AT_MOST = 256;

/**
 * The stretches of a content that read as text, with the junk in between where it is short. All of an ordinary text is one
 * such stretch. Every sixteenth byte is looked at; where four in a row are text, so must be all between them. Each content is
 * read once, however many ask.
 */
export function textRegions(content: Blob): readonly Range[] {
  const known = regionsOf.get(content);
  if (known) return known;
  const regions = findRegions(content);
  regionsOf.set(content, regions);
  return regions;
}

const regionsOf = new WeakMap<Blob, readonly Range[]>();

function findRegions(content: Blob): Range[] {
  let regions: Range[] = [];
  let tolerated = STRETCH;
  /** Where the stretch began that goes on, or -1. */
  let start = -1;
  let end = 0;

  function endRegion(): void {
    const last = regions.at(-1);
    if (last && start - last.end <= tolerated) last.end = end;
    else regions.push({ start, end });
    start = -1;
    if (regions.length <= REGIONS_AT_MOST) return;
    tolerated *= 4;
    regions = merged(regions, tolerated);
  }

  for (const { at: base, bytes } of piecesOf(content, PIECE_BYTES)) {
    for (let at = 0; at < bytes.length; at += PROBE) {
      if (start < 0) {
        at = lastOfFour(bytes, at);
        if (at >= bytes.length) break;
        if (!isText(bytes, at - REACH, at)) {
          at -= REACH;
          continue;
        }
        let first = at - REACH;
        while (first > 0 && base + first > end && TEXT_BYTE[bytes[first - 1] as number] === 1) first -= 1;
        // What stands before it may be in the last piece.
        start = first > 0 ? base + first : Math.max(end, base - STRETCH);
      } else if (TEXT_BYTE[bytes[at] as number] === 0) {
        endRegion();
        continue;
      }
      end = Math.min(base + at + PROBE, content.size);
    }
  }
  if (start >= 0) endRegion();
  return regions;
}

/**
 * Where the fourth probe of the next four in a row is that are all text, the first of them at `from` or later; the length if there are none.
 * From the back: what comes before a probe that is no text need not be looked at.
 */
function lastOfFour(bytes: Buffer, from: number): number {
  for (let first = from; first + REACH < bytes.length; ) {
    let at = first + REACH;
    while (at >= first && TEXT_BYTE[bytes[at] as number] === 1) at -= PROBE;
    if (at < first) return first + REACH;
    first = at + PROBE;
  }
  return bytes.length;
}

function isText(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (TEXT_BYTE[bytes[at] as number] === 0) return false;
  return true;
}

function merged(regions: readonly Range[], tolerated: number): Range[] {
  const fewer: Range[] = [];
  for (const region of regions) {
    const last = fewer.at(-1);
    if (last && region.start - last.end <= tolerated) last.end = region.end;
    else fewer.push(region);
  }
  return fewer;
}

/**
 * Whether a content is UTF-16: by its byte order mark, or because every other byte of its beginning (or of most of it) is
 * zero and the others read as text.
 */
export function utf16Order(content: Blob): "little" | "big" | undefined {
  if (content.size < 2) return undefined;
  const mark = content.bytes(0, 2).readUInt16LE(0);
  if (mark === 0xfeff) return "little";
  if (mark === 0xfffe) return "big";
  if (content.size < STRETCH) return undefined;
  const votes = { little: 0, big: 0 };
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const start = Math.floor(((content.size - STRETCH) * sample) / SAMPLES);
    const order = orderOf(content.bytes(start - (start % 2), STRETCH));
    if (order && sample === 0) return order;
    if (order) votes[order] += 1;
  }
  if (votes.little * 2 >= SAMPLES) return "little";
  return votes.big * 2 >= SAMPLES ? "big" : undefined;
}

const SAMPLES = 8;

function orderOf(sample: Buffer): "little" | "big" | undefined {
  if (!sample.includes(0)) return undefined;
  const zeros = [0, 0];
  const readable = [0, 0];
  for (let at = 0; at < sample.length; at += 1) {
    const byte = sample[at] as number;
    if (byte === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
    else if (TEXT_BYTE[byte] === 1) readable[at % 2] = (readable[at % 2] ?? 0) + 1;
  }
  const half = sample.length / 2;
  if ((zeros[1] ?? 0) > half * 0.8 && (readable[0] ?? 0) > half * 0.9) return "little";
  if ((zeros[0] ?? 0) > half * 0.8 && (readable[1] ?? 0) > half * 0.9) return "big";
  return undefined;
}

/** Characters of one byte as that byte, others as UTF-8. */
export function writeUtf16(content: Blob, order: "little" | "big", writer: MemberWriter): void {
  const low = order === "little" ? 0 : 1;
  const written = Buffer.allocUnsafeSlow(Math.min((WRITTEN_BYTES * 3) / 2, (content.size * 3) / 2 + 3));
  for (const { at: start, bytes } of piecesOf(content, WRITTEN_BYTES)) {
    let used = 0;
    for (let at = 0; at + 1 < bytes.length; at += 2) {
      const unit = (bytes[at + low] as number) | ((bytes[at + 1 - low] as number) << 8);
      if (unit < 256) {
        written[used] = unit;
        used += 1;
      } else if (unit < 0x800) {
        written[used] = 0xc0 | (unit >> 6);
        written[used + 1] = 0x80 | (unit & 63);
        used += 2;
      } else if (unit !== BYTE_ORDER_MARK || start + at > 0) {
        written[used] = 0xe0 | (unit >> 12);
        written[used + 1] = 0x80 | ((unit >> 6) & 63);
        written[used + 2] = 0x80 | (unit & 63);
        used += 3;
      }
    }
    writer.bytes(Uint8Array.prototype.slice.call(written, 0, used));
  }
}

const BYTE_ORDER_MARK = 0xfeff;
