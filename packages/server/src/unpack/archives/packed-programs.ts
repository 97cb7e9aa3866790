import type { Blob } from "../blob.ts";
import { anyPattern, type ByteAt, byteAt, bytePattern } from "../byte-pattern.ts";
import type { Opener, Outcome } from "../opener.ts";

/** For Windows and DOS, in either order, for Unix, and for the Mac in any. */
const PROGRAM = byteAt(0, "'M'", "'Z'", "7f", "fe", "ce", "cf");

/** Symbian's installers, by the second of their identifiers. */
const SYMBIAN = ["6d 00 00 10 19 04 00 10", "12 3a 00 10 19 04 00 10", "ce 39 00 10 19 04 00 10"];

/** Symbian's newer installers, InstallShield's cabinets, AutoIt's scripts, Inno Setup's files. */
const INSTALLERS = [
  "7a 1a 20 10",
  "'ISc('",
  "a3 48 4b be 98 6c 4a a9 99 4c 53 0a 86 d6 48 7d",
  "'idska32' 1a",
  "'zlb' 1a",
];

/**
 * What we recognise and cannot open. Not clean, because nobody has seen what is in it: programs that unpack themselves when
 * they start, and installers in formats of their own.
 */
export const unopenable: readonly Opener[] = [
  recogniser("packed-program", [PROGRAM], (content) => {
    const program = readExecutable(content);
    return program !== undefined && isPacked(program, content);
  }),
  recogniser("installer", [PROGRAM, byteAt(0, ...INSTALLERS), byteAt(4, ...SYMBIAN)], (content) => {
    if (isInstallerFile(content.bytes(0, 32))) return true;
    const program = readExecutable(content);
    return program !== undefined && isInstaller(program, content);
  }),
];

function recogniser(kind: string, knownBy: readonly ByteAt[], recognises: (content: Blob) => boolean): Opener {
  return {
    kind,
    knownBy,
    find: (content) => (recognises(content) ? [{ start: 0, end: content.size, sure: true }] : []),
    open: (): Outcome => ({ kind: "unreadable" }),
  };
}

function isPacked(program: Executable, content: Blob): boolean {
  switch (program.format) {
    case "pe":
      return (
        program.sections.some(({ name }) => PACKER_SECTION.test(name)) ||
        PACKER_ENTRIES.some((fits) => fits(program.entry)) ||
        UPACK_HEADS.some((fits) => fits(program.head))
      );
    case "dos":
      return DOS_PACKERS.some(({ at, fits }) => fits(program.head, at));
    default:
      // UPX writes its mark behind the headers and at the end; in a program's data the word means nothing.
      return (
        program.head.subarray(0, UPX_HEAD).includes(UPX) ||
        content.bytes(Math.max(0, content.size - UPX_TAIL), UPX_TAIL).includes(UPX)
      );
  }
}

const UPX = Buffer.from("UPX!");
const UPX_HEAD = 1024;
const UPX_TAIL = 64;

/** Names that packers and protectors give to sections. Whole names: `.packed` is one, `.package` is not. */
const PACKER_SECTION = new RegExp(
  `^(?:${[
    "UPX[0-9!]|\\.UPX[0-9]|UPX",
    "\\.?as?pack|ASPack|\\.adata|\\.ASPack",
    "FSG!|\\.?petite|MEW.*|\\.?nsp[0-9]|\\.nPack|nPack",
    "PEC2.*|pec[0-9]|PECompact2?|\\.pec[0-9]?",
    "\\.Upack|\\.ByDwing|\\.?MPRESS[0-9]",
    "\\.?[Tt]hemida|\\.?WinLice?n?|\\.winlice|\\.vmp[0-9]|VMProtec?t?|\\.enigma[0-9]",
    "kkrunchy|\\.WWPACK|\\.WWP32|yC|\\.yP|\\.y0da.*|\\.perplex|\\.spack|\\.bxpck|\\.boxed|\\.RLPack|\\.packed|RLPack",
    "PELOCKnt|\\.pelock|PEPACK!!|PEBundle|pebundle|PESHiELD|ProCrypt|\\.neolite?|\\.svkp|\\.shrink[0-9]|PESpin|\\.taz",
    "!EPack|\\.Crunch|BitArts|DAStub|\\.MaskPE|\\.RPCrypt|\\.sforce[0-9]|\\.tsuarch|\\.tsustub|\\.ccg|\\.aPLib",
  ].join("|")})$`,
);

/** How the unpackers themselves begin, for those whose sections have other names. */
const PACKER_ENTRIES = [
  // UPX: of 32 bits with and without its way to find the source, of 64 bits, and for a library.
  "60 be ..*4 8d be ..*4 57",
  "60 be ..*4 8d be ..*4 c7",
  "53 56 57 55 48 8d 35 ..*4 48 8d be ..*4 57",
  "80 7c 24 08 01 0f 85 ..*4 60 be ..*4 8d be",
  // ASPack, Petite, PESpin, WWPack32, yoda's crypter, FSG 2, FSG 1, NsPack, PECompact, MPRESS.
  "60 e8 03 00 00 00 e9 eb 04 5d 45 55 c3",
  "b8 ..*4 68 ..*4 64 ff 35 00*4 64 89 25 00*4 66 9c 60 50",
  "eb 01 68 60 e8 00 00 00 00 8b 1c 24 83 c3 12 81 2b e8",
  "53 55 8b e8 33 db eb 60 0d 0a 0d 0a 'WWPack32'",
  "55 8b ec 53 56 57 60 e8 00 00 00 00 5d 81 ed",
  "87 25 ..*4 61 94 55 a4 b6 80 ff 13",
  "be ..*4 bf ..*4 bb ..*4 53 bb ..*4 b2 80",
  "9c 60 e8 00 00 00 00 5d 83 ed 07 8d",
  "b8 ..*4 50 64 ff 35 00*4 64 89 25 00*4 33 c0 89 08 50 45 43",
  "60 e8 00 00 00 00 58 05 ..*4 8b 30 03 f0 2b c0",
].map(bytePattern);

/** Upack puts the newer header into the old one, and a name that it needs between them. */
const UPACK_HEADS = ["'MZLoadLibraryA'", "'MZKERNEL32.DLL'", "'MZ' ..*10 'UpackByDwing'"].map(bytePattern);

const DOS_PACKERS = [
  { at: 0x1c, fits: bytePattern("'LZ09'") },
  { at: 0x1c, fits: bytePattern("'LZ91'") },
  { at: 0x1e, fits: bytePattern("'PKLITE'") },
  { at: 0x1c, fits: bytePattern("'WWP '") },
  { at: 0x55, fits: bytePattern("'UPX!'") },
];

const isSymbian = anyPattern(SYMBIAN, 4);
const isOtherInstaller = anyPattern(INSTALLERS, 0);

function isInstallerFile(head: Buffer): boolean {
  return isSymbian(head) || isOtherInstaller(head);
}

/** What stands behind a program: Setup Factory, Nuitka, Clickteam, VISE, Inno Setup, InstallShield. */
const OVERLAYS = [
  "e0 e0 e1 e1 e2 e2 e3 e3 e4 e4 e5 e5 e6 e6 e7 e7",
  "e0 e1 e2 e3 e4 e5 e6 e7",
  "'KAY' 28 b5 2f fd",
  "'KAX' ..*2 00",
  "'wwgT)H'",
  "'ESIV' 05 01 00 00",
  "'idska32' 1a",
  "'zlb' 1a",
  "'ISSetupStream' 00",
].map(bytePattern);

/** InstallShield: the name of a file, where it goes, its version, its size; in wide letters since some version. */
const FILE_LIST = /^[ -~]{1,260}\0[ -~]{1,260}\0[\d.]{0,40}\0\d{1,12}\0/;
const WIDE_FILE_LIST = /^(?:[ -~]\0){1,260}\0\0(?:[ -~]\0){1,260}\0\0(?:[\d.]\0){0,40}\0\0(?:\d\0){1,12}\0\0/;

const OVERLAY_BYTES = 4096;
const TAIL_BYTES = 64 * 1024;

/** Words anywhere in a program for Windows. Each long enough not to be there by chance. */
const WORDS: readonly { word: Buffer; before: Buffer }[] = [
  { word: Buffer.from("AU3!EA0"), before: Buffer.from("a3484bbe986c4aa9994c530a86d6487d", "hex") },
  { word: Buffer.from("Inno Setup Setup Data ("), before: Buffer.alloc(0) },
  { word: Buffer.from("Initializing Wise Installation Wizard"), before: Buffer.alloc(0) },
];

function isInstaller(program: Executable, content: Blob): boolean {
  const overlay = content.bytes(program.end, OVERLAY_BYTES);
  if (program.format !== "dos" && OVERLAYS.some((fits) => fits(overlay))) return true;
  if (hasPythonArchive(content)) return true;
  if (program.format !== "pe") return false;
  const text = overlay.toString("latin1");
  return (
    FILE_LIST.test(text) ||
    WIDE_FILE_LIST.test(text) ||
    // Behind the name of the debugging file, which belongs to the program, follows the list of files.
    /InstallShield\0[^\0]\0{3}/.test(text) ||
    program.sections.some(({ name }) => name === ".gentee" || name === "_winzip_") ||
    hasWord(content)
  );
}

const WINDOW_BYTES = 1024 * 1024;
/** A word and what stands before it. */
const LONGEST = 64;

function hasWord(content: Blob): boolean {
  for (let start = 0; start < content.size; start += WINDOW_BYTES) {
    const window = content.bytes(start, WINDOW_BYTES + LONGEST);
    const found = WORDS.some(({ word, before }) => {
      for (let hit = window.indexOf(word); hit >= 0; hit = window.indexOf(word, hit + 1)) {
        if (hit >= before.length && window.subarray(hit - before.length, hit).equals(before)) return true;
      }
      return false;
    });
    if (found) return true;
  }
  return false;
}

const COOKIE = Buffer.from("MEI\x0c\x0b\x0a\x0b\x0e", "latin1");

/** PyInstaller: an archive whose description stands near the end, before a signature if there is one. */
function hasPythonArchive(content: Blob): boolean {
  const start = Math.max(0, content.size - TAIL_BYTES);
  const tail = content.bytes(start, TAIL_BYTES);
  const at = tail.lastIndexOf(COOKIE);
  if (at < 0 || at + 24 > tail.length) return false;
  const length = tail.readUInt32BE(at + 8);
  return length <= start + tail.length && tail.readUInt32BE(at + 12) + tail.readUInt32BE(at + 16) <= length;
}

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

/** @internal a test looks at real programs with it */
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
