import type { Kind } from "./kinds.ts";
import { bytesAt, type Sample } from "./sample.ts";

const DLL_FLAG = 0x2000;
const CLR_DIRECTORY = 14;
const NATIVE_SUBSYSTEM = 1;
const UEFI_SUBSYSTEMS = [10, 11, 12, 13];

/** PE, and older programs of DOS and Windows. */
export function windowsKind(sample: Sample): Kind | undefined {
  const head = Buffer.from(sample.head.buffer, sample.head.byteOffset, sample.head.length);
  if (head.length < 28) return undefined;
  const newHeaderAt = head.length >= 64 ? head.readUInt32LE(60) : 0;
  const header = Buffer.from(bytesAt(sample, newHeaderAt, 256));
  const mark = header.toString("latin1", 0, 4);
  if (mark === "PE\0\0" && header.length >= 96) return peKind(header);
  if (mark.startsWith("NE") && newHeaderAt >= 64) return "ne";
  if (/^L[EX]/.test(mark) && newHeaderAt >= 64) return "le";

  // Bytes in the last page, pages, relocations, paragraphs of the header: in a program these agree.
  const lastPageBytes = head.readUInt16LE(2);
  const headerParagraphs = head.readUInt16LE(8);
  return lastPageBytes < 512 && headerParagraphs >= 1 && headerParagraphs < 0x1000 ? "dos" : undefined;
}

function peKind(header: Buffer): Kind {
  const wide = header.readUInt16LE(24) === 0x20b;
  const subsystem = header.readUInt16LE(24 + 68);
  if (UEFI_SUBSYSTEMS.includes(subsystem)) return "efi";
  if (subsystem === NATIVE_SUBSYSTEM) return "sys";
  const directories = 24 + (wide ? 112 : 96);
  const clrAt = directories + CLR_DIRECTORY * 8;
  const hasClr = clrAt + 8 <= header.length && header.readUInt32LE(directories - 4) > CLR_DIRECTORY;
  if (hasClr && header.readUInt32LE(clrAt) !== 0) return "dotnet";
  const library = (header.readUInt16LE(22) & DLL_FLAG) !== 0;
  if (library) return wide ? "dll64" : "dll";
  return wide ? "exe64" : "exe";
}

const PROGRAM_INTERPRETER = 3;
const MOST_PROGRAM_HEADERS = 64;

export function elfKind(sample: Sample): Kind {
  const head = Buffer.from(sample.head.buffer, sample.head.byteOffset, sample.head.length);
  if (head.length < 64) return "elf";
  const wide = head[4] === 2;
  const little = head[5] === 1;
  const short = (at: number): number => (little ? head.readUInt16LE(at) : head.readUInt16BE(at));
  const long = (at: number): number => (little ? head.readUInt32LE(at) : head.readUInt32BE(at));

  switch (short(16)) {
    case 1:
      return "elf-object";
    case 2:
      return "elf-executable";
    case 3:
      break;
    case 4:
      return "elf-core";
    default:
      return "elf";
  }
  // Position-independent programs are shared objects that name an interpreter.
  const tableAt = wide ? (little ? long(32) : long(36)) : long(28);
  const entryBytes = wide ? 56 : 32;
  const entries = Math.min(short(wide ? 56 : 44), MOST_PROGRAM_HEADERS);
  for (let entry = 0; entry < entries; entry++) {
    const at = tableAt + entry * entryBytes;
    if (at + 4 > head.length) break;
    if (long(at) === PROGRAM_INTERPRETER) return "elf-executable";
  }
  return "elf-shared";
}
