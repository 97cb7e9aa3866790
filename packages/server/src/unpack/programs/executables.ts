import type { Blob } from "../blob.ts";

/** What the headers of a program say, as far as packers and installers can be told by it. */
export interface Executable {
  format: "dos" | "pe" | "elf" | "mach-o";
  /** The headers themselves. */
  head: Buffer;
  sections: readonly Section[];
  /** The first bytes that run; empty if the headers do not say where they are. */
  entry: Buffer;
  /** Where the program ends by its own headers: installers put their files behind it. */
  end: number;
}

interface Section {
  name: string;
  address: number;
  size: number;
  start: number;
  end: number;
}

const HEAD_BYTES = 4096;
const ENTRY_BYTES = 64;
const SECTIONS_AT_MOST = 96;

export function readExecutable(content: Blob): Executable | undefined {
  const magic = content.bytes(0, 4);
  if (magic.length < 4) return undefined;
  const number = magic.readUInt32BE(0);
  if (number >>> 16 === 0x4d5a || number >>> 16 === 0x5a4d) return readWindows(content);
  if (number === 0x7f454c46) return readElf(content);
  if (MACH_O.has(number)) return { format: "mach-o", ...unknown(content), end: content.size };
  return undefined;
}

const MACH_O = new Set([0xfeedface, 0xfeedfacf, 0xcefaedfe, 0xcffaedfe]);

function unknown(content: Blob): Pick<Executable, "head" | "sections" | "entry"> {
  return { head: content.bytes(0, HEAD_BYTES), sections: [], entry: Buffer.alloc(0) };
}

/** A program for Windows, or one for DOS if nothing newer stands behind the old header. */
function readWindows(content: Blob): Executable | undefined {
  const head = content.bytes(0, 64);
  if (head.length < 64) return undefined;
  const at = head.readUInt32LE(0x3c);
  const header = content.bytes(at, 24);
  if (header.length < 24 || header.toString("latin1", 0, 4) !== "PE\0\0") {
    return { format: "dos", ...unknown(content), end: content.size };
  }
  const optionalBytes = header.readUInt16LE(20);
  const optional = content.bytes(at + 24, Math.min(optionalBytes, 240));
  const count = Math.min(header.readUInt16LE(6), SECTIONS_AT_MOST);
  const table = content.bytes(at + 24 + optionalBytes, 40 * count);
  const sections: Section[] = [];
  for (let row = 0; row + 40 <= table.length; row += 40) {
    const start = table.readUInt32LE(row + 20);
    const size = table.readUInt32LE(row + 16);
    sections.push({
      name: table.toString("latin1", row, row + 8).replace(/\0.*$/s, ""),
      address: table.readUInt32LE(row + 12),
      size: Math.max(table.readUInt32LE(row + 8), size),
      start,
      end: size === 0 ? 0 : start + size,
    });
  }
  const entryAddress = optional.length >= 20 ? optional.readUInt32LE(16) : 0;
  const section = sections.find(({ address, size }) => entryAddress >= address && entryAddress < address + size);
  // Code in the headers themselves is at the address that it has in the file.
  const entry = section ? section.start + entryAddress - section.address : entryAddress;
  return {
    format: "pe",
    head: content.bytes(0, HEAD_BYTES),
    sections,
    entry: content.bytes(entry, ENTRY_BYTES),
    end: Math.min(content.size, Math.max(0, ...sections.map(({ end }) => end))),
  };
}

/** Ends behind its last segment or its table of sections, whichever is later. */
function readElf(content: Blob): Executable | undefined {
  const head = content.bytes(0, HEAD_BYTES);
  if (head.length < 64) return undefined;
  const isWide = head.readUInt8(4) === 2;
  const isLittle = head.readUInt8(5) === 1;
  const u16 = (at: number): number => (isLittle ? head.readUInt16LE(at) : head.readUInt16BE(at));
  const u32 = (at: number): number => (isLittle ? head.readUInt32LE(at) : head.readUInt32BE(at));
  const word = (at: number): number => {
    if (!isWide) return u32(at);
    const [low, high] = isLittle ? [u32(at), u32(at + 4)] : [u32(at + 4), u32(at)];
    return high * 2 ** 32 + low;
  };
  const wordBytes = isWide ? 8 : 4;
  const [segments, sections] = [word(24 + wordBytes), word(24 + 2 * wordBytes)];
  const counts = 24 + 3 * wordBytes + 6;
  let end = sections + u16(counts + 4) * u16(counts + 6);
  const segmentBytes = u16(counts);
  for (let i = 0; i < Math.min(u16(counts + 2), SECTIONS_AT_MOST); i += 1) {
    const at = segments + i * segmentBytes;
    if (at + 48 > head.length || segmentBytes < 32) break;
    end = Math.max(end, isWide ? word(at + 8) + word(at + 32) : word(at + 4) + word(at + 16));
  }
  return { format: "elf", head, sections: [], entry: Buffer.alloc(0), end: Math.min(content.size, end) };
}
