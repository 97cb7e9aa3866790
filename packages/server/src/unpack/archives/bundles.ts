import type { Blob, Range } from "../blob.ts";
import { byteAt, bytePattern } from "../byte-pattern.ts";
import { emitStored, type Opener, type Outcome, whole } from "../opener.ts";
import { headOf } from "../signature-search.ts";

/** Containers in which files stand as they are, one behind the other or behind a list: asar of Electron, romfs, LBR of CP/M, backups of Android, libraries of AIX. */
export const asar: Opener = {
  kind: "asar",
  archive: true,
  knownBy: [byteAt(0, "04")],
  find: (content) => (isAsar(headOf(content), content.size) ? [{ start: 0, end: content.size, sure: true }] : []),
  open(container, tools) {
    const head = container.bytes(0, ASAR_HEADER);
    const start = ASAR_LENGTHS + head.readUInt32LE(4);
    const list = container.bytes(ASAR_HEADER, Math.min(head.readUInt32LE(12), LIST_BYTES));
    tools.budget.addWork(list.length);
    const root = parsed(list);
    if (root === undefined) return { kind: "unreadable" };
    if (root === TOO_MUCH) return { kind: "too-large" };
    const covered: Range[] = [{ start: 0, end: start }];
    let problem: Outcome | undefined;
    const waiting: { name: string; entry: unknown }[] = [{ name: "", entry: root }];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const { files, offset, size } = asRecord(next.entry);
      for (const [name, entry] of Object.entries(asRecord(files))) waiting.push({ name, entry });
      tools.budget.check();
      // One that has no place in here lies beside the archive, or is a link.
      if (offset === undefined || typeof size !== "number" || !(size > 0)) continue;
      // As a number in quotes, or without them. What else there may be programs read each in their own way.
      const from = /^\d{1,15}$/.test(String(offset)) ? Number(offset) : Number.NaN;
      const part = { start: start + from, end: start + from + size };
      const isThere = Number.isSafeInteger(part.start) && Number.isSafeInteger(part.end) && part.start >= start;
      if (!isThere || part.end > container.size) problem = { kind: "unreadable" };
      if (!isThere) continue;
      emitStored(tools.sink, { name: next.name, content: container.slice(part.start, part.end) });
      covered.push(part);
    }
    return problem ?? { kind: "opened", covered };
  },
};

/** Four numbers: of the second, the length of what follows; of the fourth, that of the list, which is JSON. */
const ASAR_HEADER = 16;
const ASAR_LENGTHS = 8;
const LIST_BYTES = 64 * 1024 * 1024;
/** As many members as there may be, with ten values each. */
const LIST_VALUES = 1_000_000;
const TOO_MUCH = Symbol("too much");
const IS_ASAR = bytePattern("04 00*3 ..*13");

function isAsar(head: Buffer, size: number): boolean {
  if (!IS_ASAR(head) || !/^\s*\{/.test(head.toString("latin1", ASAR_HEADER))) return false;
  const [outer, inner, list] = [4, 8, 12].map((at) => head.readUInt32LE(at)) as [number, number, number];
  return outer >= inner + 4 && inner >= list + 4 && ASAR_LENGTHS + outer <= size;
}

/**
 * Nothing if it is no JSON. What is made of it is made at one go: when that is more than the heap of a thread nothing can stop
 * it, and the whole process is lost. So values are counted before.
 */
function parsed(list: Buffer): unknown {
  let values = 0;
  for (const byte of list) if (byte === 0x2c || byte === 0x5b || byte === 0x7b) values += 1;
  if (values > LIST_VALUES) return TOO_MUCH;
  try {
    return JSON.parse(list.toString("utf8"));
  } catch {
    return undefined;
  }
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

export const romfs: Opener = {
  kind: "romfs",
  archive: true,
  knownBy: [byteAt(0, "'-'")],
  find: (content) => (isRomfs(headOf(content)) ? [{ start: 0, end: content.size, sure: true }] : []),
  open(container, tools) {
    const covered: Range[] = [];
    const seen = new Set<number>();
    const waiting = [afterName(container, ROMFS_NAME)];
    covered.push({ start: 0, end: afterName(container, ROMFS_NAME) });
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      const header = container.bytes(at, 16);
      if (at === 0 || header.length < 16 || seen.has(at)) continue;
      seen.add(at);
      tools.budget.addWork(header.length);
      const [next, first, size] = [0, 4, 8].map((field) => header.readUInt32BE(field)) as [number, number, number];
      waiting.push(next - (next % 16));
      if ((next & 7) === ROMFS_FOLDER) waiting.push(first - (first % 16));
      const start = afterName(container, at + 16);
      covered.push({ start: at, end: start });
      if ((next & 7) !== ROMFS_FILE) continue;
      if (start + size > container.size) return { kind: "unreadable" };
      const name =
        container
          .bytes(at + 16, NAME_BYTES)
          .toString("latin1")
          .split("\0")[0] ?? "";
      emitStored(tools.sink, { name, content: container.slice(start, start + size) });
      covered.push({ start, end: start + size });
    }
    return { kind: "opened", covered };
  },
};

const isRomfs = bytePattern("'-rom1fs-' ..*8");
const ROMFS_NAME = 16;
const ROMFS_FOLDER = 1;
const ROMFS_FILE = 2;
const NAME_BYTES = 256;

/** Names end with a zero and are filled up to sixteen bytes. */
function afterName(container: Blob, at: number): number {
  const end = container.bytes(at, NAME_BYTES).indexOf(0);
  return at + Math.ceil(((end < 0 ? NAME_BYTES : end) + 1) / 16) * 16;
}

export const lbr: Opener = {
  kind: "lbr",
  archive: true,
  knownBy: [byteAt(0, "00")],
  find: (content) => (isLbr(headOf(content), content.size) ? [{ start: 0, end: content.size, sure: true }] : []),
  open(container, tools) {
    let cutOff = false;
    const list = container.bytes(0, headOf(container).readUInt16LE(14) * LBR_SECTOR);
    const covered: Range[] = [{ start: 0, end: list.length }];
    for (let at = LBR_ENTRY; at + LBR_ENTRY <= list.length; at += LBR_ENTRY) {
      if (list[at] !== 0) continue;
      const start = list.readUInt16LE(at + 12) * LBR_SECTOR;
      const pad = Math.min(list.readUInt8(at + 26), LBR_SECTOR - 1);
      const end = start + list.readUInt16LE(at + 14) * LBR_SECTOR - pad;
      if (end > container.size) cutOff = true;
      const part = { start, end: Math.min(container.size, end) };
      const name = list.toString("latin1", at + 1, at + 12);
      if (part.end <= start) continue;
      emitStored(tools.sink, { name, content: container.slice(part.start, part.end) });
      covered.push(part);
    }
    return cutOff ? { kind: "unreadable" } : { kind: "opened", covered };
  },
};

const LBR_SECTOR = 128;
const LBR_ENTRY = 32;
const LBR_FIRST = bytePattern("00 '           ' 00 00");

/** The first entry is the list itself. */
function isLbr(head: Buffer, size: number): boolean {
  if (!LBR_FIRST(head) || head.length < LBR_SECTOR) return false;
  const sectors = head.readUInt16LE(14);
  return sectors > 0 && sectors * LBR_SECTOR <= size;
}

/** A few lines, and behind them a tar, compressed by zlib or not, or all of it encrypted. */
export const androidBackup: Opener = {
  kind: "android-backup",
  archive: true,
  knownBy: [byteAt(0, "'A'")],
  find: (content) => (BACKUP.test(backupHead(content)) ? [{ start: 0, end: content.size, sure: true }] : []),
  open(container, tools) {
    const [lines = "", cipher] = backupHead(container).match(BACKUP) ?? [];
    if (cipher !== "none") return { kind: "encrypted" };
    emitStored(tools.sink, { name: "backup", content: container.slice(lines.length, container.size) });
    return { kind: "opened", covered: whole(container) };
  },
};

const BACKUP = /^ANDROID BACKUP\n\d{1,3}\n[01]\n([\w-]{1,20})\n/;
const backupHead = (content: Blob): string => headOf(content).toString("latin1", 0, 64);

/** Libraries of AIX: members that say where the next one is, all numbers as text. */
export const aixArchive: Opener = {
  kind: "aix-ar",
  archive: true,
  knownBy: [byteAt(0, "'<'")],
  find: (content) => (isAix(headOf(content)) ? [{ start: 0, end: content.size, sure: true }] : []),
  open(container, tools) {
    const covered: Range[] = [{ start: 0, end: AIX_HEADER }];
    const seen = new Set<number>();
    for (let at = numberAt(container, 68); at > 0 && !seen.has(at); at = numberAt(container, at + 20)) {
      seen.add(at);
      tools.budget.addWork(AIX_MEMBER);
      const nameBytes = numberAt(container, at + 108, 4);
      const start = at + AIX_MEMBER + nameBytes + (nameBytes % 2) + 2;
      const end = start + numberAt(container, at);
      if (start > container.size || end > container.size) return { kind: "unreadable" };
      const name = container.bytes(at + AIX_MEMBER, Math.min(nameBytes, NAME_BYTES)).toString("latin1");
      emitStored(tools.sink, { name, content: container.slice(start, end) });
      covered.push({ start: at, end });
    }
    return { kind: "opened", covered };
  },
};

const isAix = bytePattern("'<bigaf>' 0a ..*120");
const AIX_HEADER = 128;
const AIX_MEMBER = 112;

/** Digits, and spaces up to the end of the field. */
function numberAt(container: Blob, at: number, bytes = 20): number {
  return Number(
    container
      .bytes(at, bytes)
      .toString("latin1")
      .match(/^(\d{1,15}) *$/)?.[1] ?? 0,
  );
}

/** A header and one packed stream behind it, which is a container of its own: images of U-Boot, bundles of Mercurial. */
export const headed: Opener = {
  kind: "headed",
  archive: true,
  knownBy: [byteAt(0, "27", "'H'")],
  find: (content) => (headOfHeaded(content) === undefined ? [] : [{ start: 0, end: content.size, sure: true }]),
  open(container, { sink }) {
    emitStored(sink, { name: "content", content: container.slice(headOfHeaded(container) ?? 0, container.size) });
    return { kind: "opened", covered: whole(container) };
  },
};

const UIMAGE = bytePattern("27 05 19 56");
const UIMAGE_HEADER = 64;

/** How long the header is. A bundle's newer header says how long its parameters are; the older one leaves `BZ` to its name. */
function headOfHeaded(content: Blob): number | undefined {
  const head = headOf(content);
  if (UIMAGE(head) && head.length > UIMAGE_HEADER) return UIMAGE_HEADER;
  const name = head.toString("latin1", 0, 6);
  if (name === "HG10BZ") return 4;
  if (name === "HG10GZ" || name === "HG10UN") return 6;
  if (!name.startsWith("HG20") || head.length < 8 || head.readUInt32BE(4) > content.size - 8) return undefined;
  return 8 + head.readUInt32BE(4);
}
