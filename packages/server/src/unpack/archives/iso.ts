import type { Blob, Range } from "../blob.ts";
import { byteAt, bytePattern } from "../byte-pattern.ts";
import type { Opener, Outcome, Place, Tools } from "../opener.ts";
import { HEAD_BYTES, headOf, marksIn } from "../signature-search.ts";
import { openBy7z } from "./seven-zip-kinds.ts";

const SECTOR = 2048;
const SYSTEM_AREA = 16 * SECTOR;
/** Where the name of the format may stand: Linux passes over sectors that begin otherwise. As far as the head reaches. */
const MARKS = Array.from(
  { length: Math.floor((HEAD_BYTES - SYSTEM_AREA) / SECTOR) },
  (_, index) => SYSTEM_AREA + index * SECTOR + 1,
);

/**
 * Discs (ISO 9660). A disc has several trees of the same files, one for each system it is meant for, and a file may be in one of
 * them only: 7-Zip gives out one tree, so all of them are read here as well. In front of them a program may stand.
 */
export const iso: Opener = {
  kind: "iso",
  archive: true,
  knownBy: MARKS.map((mark) => byteAt(mark, "'C'")),
  find: (content) => (isDisc(headOf(content)) ? [{ start: 0, end: content.size, sure: true }] : []),
  open: openDisc,
};

/**
 * Discs that begin anywhere in a content. unar finds the first descriptor wherever it stands, and counts sectors from where the disc
 * would have to begin.
 */
export const shiftedIso: Opener = {
  kind: "iso",
  archive: true,
  find(content) {
    const starts = marksIn(content, "disc").map((mark) => mark - SYSTEM_AREA);
    const places = starts.flatMap((start) => (start > 0 ? placeOf(content, start) : []));
    return places.length > DISCS_AT_MOST ? [{ start: 0, end: content.size, sure: true }] : places;
  },
  open: (container, tools, place) => (place?.start === 0 ? { kind: "too-large" } : openDisc(container, tools)),
};

/** Each costs a start of 7-Zip. */
const DISCS_AT_MOST = 24;

/** The place of a disc that would begin here, if its root folder is in the content: that this names itself makes it sure. */
function placeOf(content: Blob, start: number): Place[] {
  const descriptor = content.bytes(start + SYSTEM_AREA, SECTOR);
  if (descriptor.length < SECTOR || descriptor.readUInt16LE(SECTOR_SIZE_AT) !== SECTOR) return [];
  const root = extentOf(descriptor.subarray(ROOT_AT));
  const record = content.bytes(start + root.start, RECORD_BYTES);
  if (record.length < RECORD_BYTES) return [];
  const [length = 0, nameBytes, name] = [record[0], record[32], record[33]];
  const isSelf = nameBytes === 1 && name === 0 && extentOf(record).start === root.start;
  return [{ start, end: content.size, sure: length >= RECORD_BYTES && isSelf }];
}

async function openDisc(container: Blob, tools: Tools): Promise<Outcome> {
  for (const root of roots(container)) emitTree(container, root, tools);
  const outcome = await openBy7z(container, "Iso", tools);
  if (outcome.kind !== "opened") return outcome;
  const covered: Range[] = outcome.covered.map(({ start, end }) => ({ start: Math.max(start, SYSTEM_AREA), end }));
  return { kind: "opened", covered };
}

const SECTOR_SIZE_AT = 128;
const RECORD_BYTES = 34;

const DESCRIPTORS_AT_MOST = 32;
const PRIMARY = 1;
const SUPPLEMENTARY = 2;
const ROOT_AT = 156;
const FLAG = { folder: 2, goesOn: 0x80 } as const;
const PIECE_BYTES = 1024 * 1024;

interface Extent {
  start: number;
  bytes: number;
}

function isDisc(head: Buffer): boolean {
  return MARKS.some((mark) => head[mark] === 0x43 && head.toString("latin1", mark, mark + 5) === "CD001");
}

/** The root of each tree that a descriptor names. */
function roots(container: Blob): Extent[] {
  const found: Extent[] = [];
  for (let index = 0; index < DESCRIPTORS_AT_MOST; index += 1) {
    const descriptor = container.bytes(SYSTEM_AREA + index * SECTOR, SECTOR);
    if (descriptor.length < SECTOR) break;
    if (descriptor.toString("latin1", 1, 6) !== "CD001") continue;
    if (descriptor[0] !== PRIMARY && descriptor[0] !== SUPPLEMENTARY) continue;
    found.push(extentOf(descriptor.subarray(ROOT_AT)));
  }
  return found;
}

function extentOf(record: Buffer): Extent {
  return { start: record.readUInt32LE(2) * SECTOR, bytes: record.readUInt32LE(10) };
}

/** Every file of a tree; folders that lead back to one another are entered once. */
function emitTree(container: Blob, root: Extent, { sink, budget }: Tools): void {
  const entered = new Set<number>([root.start]);
  const folders = [root];
  for (let folder = folders.pop(); folder; folder = folders.pop()) {
    const bytes = container.bytes(folder.start, Math.min(folder.bytes, FOLDER_BYTES));
    budget.addWork(bytes.length);
    let parts: Extent[] = [];
    for (let at = 0; at + RECORD_BYTES <= bytes.length; ) {
      const length = bytes[at] ?? 0;
      // A record does not go over the end of a sector.
      if (length < RECORD_BYTES) {
        at = (Math.floor(at / SECTOR) + 1) * SECTOR;
        continue;
      }
      const record = bytes.subarray(at, at + length);
      at += length;
      if (record.length < RECORD_BYTES) break;
      const [flags = 0, nameBytes = 0, name = 0] = [record[25], record[32], record[33]];
      const extent = extentOf(record);
      if (flags & FLAG.folder) {
        const isSelfOrParent = nameBytes === 1 && name <= 1;
        if (!isSelfOrParent && !entered.has(extent.start)) folders.push(extent);
        entered.add(extent.start);
        continue;
      }
      parts.push(extent);
      if (flags & FLAG.goesOn) continue;
      sink.begin(record.toString("latin1", 33, 33 + nameBytes).replace(/;\d+$/, ""));
      for (const part of parts) copyExtent(container, part, sink);
      sink.end();
      parts = [];
    }
  }
}

const FOLDER_BYTES = 16 * 1024 * 1024;

function copyExtent(container: Blob, { start, bytes }: Extent, sink: Tools["sink"]): void {
  const end = Math.min(container.size, start + bytes);
  for (let at = start; at < end; at += PIECE_BYTES) sink.write(container.bytes(at, Math.min(PIECE_BYTES, end - at)));
}

/** How long a sector is and where its content begins: as discs are read raw, with the subchannels or without the mark in front. */
const RAW_SECTORS = [
  { bytes: 2352, start: 16 },
  { bytes: 2352, start: 24 },
  { bytes: 2448, start: 16 },
  { bytes: 2448, start: 24 },
  { bytes: 2336, start: 8 },
  { bytes: 2324, start: 0 },
  { bytes: 2056, start: 8 },
] as const;
const SYNC = bytePattern("00 ff*10 00");

/**
 * Images of CDs that hold each sector as it stands on the disc, with its number and its checksums (.bin, .img, .mdf): the
 * contents of the sectors come out, one behind the other, as the disc that other programs see.
 */
export const rawDisc: Opener = {
  kind: "raw-disc",
  archive: true,
  knownBy: [byteAt(0, "00"), ...RAW_SECTORS.map(({ bytes, start }) => byteAt(16 * bytes + start + 1, "'C'"))],
  find: (content) => (rawSectors(content) ? [{ start: 0, end: content.size, sure: true }] : []),
  open(container, { sink, budget }): Outcome {
    const { bytes, start } = rawSectors(container) ?? RAW_SECTORS[0];
    const sectors = Math.floor(container.size / bytes);
    sink.begin("disc");
    for (let at = 0; at < sectors; at += SECTORS_AT_ONCE) {
      const piece = container.bytes(at * bytes, SECTORS_AT_ONCE * bytes);
      budget.addWork(piece.length);
      for (let sector = 0; sector + bytes <= piece.length; sector += bytes) {
        sink.write(piece.subarray(sector + start, sector + start + SECTOR));
      }
    }
    sink.end();
    return { kind: "opened", covered: [{ start: 0, end: sectors * bytes }] };
  },
};

const SECTORS_AT_ONCE = 512;

/** By the mark that each sector begins with, or by the name of the format where the sixteenth has it. */
function rawSectors(content: Blob): (typeof RAW_SECTORS)[number] | undefined {
  const head = headOf(content);
  const isMarked = SYNC(head);
  return RAW_SECTORS.find(({ bytes, start }) => {
    const mark = 16 * bytes + start + 1;
    if (head.toString("latin1", mark, mark + 5) === "CD001") return true;
    // The fourth byte behind the mark is the mode of the sector: 2 has eight bytes more in front.
    return isMarked && SYNC(head, bytes) && start === (head[15] === 2 ? 24 : 16);
  });
}
