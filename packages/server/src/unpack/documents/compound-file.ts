import type { Blob, Range } from "../blob.ts";
import { type Budget, LimitExceeded } from "../budget.ts";

/**
 * The structure of a compound file (MS-CFB): a file system in a file. Sectors are chained by a table (FAT); short streams lie
 * in sectors of their own (mini sectors) within one long stream, chained by a second table. All numbers are the file's
 * word: chains may go round in circles, cross each other or lead out of the file, sizes may be anything.
 */
export interface CompoundFile {
  streams: readonly CompoundStream[];
  /** Where a stream's bytes stand in the file, in order, as far as they are there. Each sector on the way counts as used. */
  placesOf(stream: CompoundStream): Generator<Range>;
  /** How many of its bytes are there, and how many steps a reader makes that begins at the first short sector for each. */
  measure(stream: CompoundStream): { size: number; steps: number };
  /** The same for the entries of the directory. */
  entrySteps: number;
  /** The directory speaks of entries that are not there. */
  damaged: boolean;
  /** Where the file system ends: behind its last sector that is in use. */
  end(): number;
  /** What nothing uses, once all streams have been read: whole sectors, and what is left over in others. */
  unused(): { sectors: Range[]; rest: Range[] };
}

export interface CompoundStream {
  /** The names of the storages around it and its own. */
  path: string;
  name: string;
  start: number;
  size: number;
  mini: boolean;
  /** The directory leads to it; others are found only by reading the directory from end to end. */
  listed: boolean;
}

const HEADER_BYTES = 512;
const ENTRY_BYTES = 128;
const TABLE_SECTORS_IN_HEADER = 109;
const FREE = 0xffffffff;
/** What every writer writes as the size from which on a stream has sectors of its own; some readers go by nothing else. */
const USUAL_CUTOFF = 4096;
const [STORAGE, ROOT] = [1, 5];
const PIECE_BYTES = 1024 * 1024;
/** Following a chain by one sector costs about as much as passing over so many bytes. */
const STEP_WORK = 8;
/** And so does reading one that does not stand behind the last: short sectors may have four bytes. */
const PLACE_WORK = 512;

/** Nothing if not even the header makes sense. */
export function readCompoundFile(content: Blob, budget: Budget): CompoundFile | undefined {
  const header = content.bytes(0, HEADER_BYTES);
  if (header.length < HEADER_BYTES) return undefined;
  const [version, shift, miniShift] = [26, 30, 32].map((at) => header.readUInt16LE(at)) as [number, number, number];
  if (shift < 7 || shift > 16 || miniShift < 2 || miniShift > shift) return undefined;
  const [sectorBytes, miniBytes] = [1 << shift, 1 << miniShift];
  const perSector = sectorBytes / 4;
  const count = Math.max(0, Math.ceil(content.size / sectorBytes) - 1);
  const used = new Uint8Array(count);
  /** Where something may stand that belongs to nothing: behind the ends of streams and tables, and in empty entries. */
  const rest: Range[] = [{ start: HEADER_BYTES, end: sectorBytes }];
  const positionOf = (sector: number): number => (sector + 1) * sectorBytes;

  /** The table's sectors are listed in the header and then in a chain of sectors of their own. */
  function tableSectors(): number[] {
    const found: number[] = [];
    const most = Math.ceil(count / perSector);
    const list = (entries: Buffer): boolean => {
      for (let at = 0; at + 4 <= entries.length; at += 4) {
        const sector = entries.readUInt32LE(at);
        if (found.length === most) return false;
        if (sector < count) used[sector] = 1;
        else if (sector === FREE) continue;
        found.push(sector);
      }
      return true;
    };
    let more = list(header.subarray(76, 76 + TABLE_SECTORS_IN_HEADER * 4));
    let next = header.readUInt32LE(68);
    while (more && next < count && used[next] === 0) {
      used[next] = 1;
      const sector = content.bytes(positionOf(next), sectorBytes);
      budget.addWork(sectorBytes);
      if (sector.length < sectorBytes) break;
      more = list(sector.subarray(0, -4));
      next = sector.readUInt32LE(sectorBytes - 4);
    }
    return found;
  }

  /** Sector numbers that stand one behind the other in these sectors, at most so many; what is not there is free. */
  function readTable(sectors: Iterable<number>, most: number): Uint32Array {
    const table = new Uint32Array(most).fill(FREE);
    let filled = 0;
    for (const sector of sectors) {
      const bytes = sector < count ? content.bytes(positionOf(sector), sectorBytes) : Buffer.alloc(0);
      budget.addWork(sectorBytes);
      for (let at = 0; at + 4 <= bytes.length && filled + at / 4 < most; at += 4) {
        table[filled + at / 4] = bytes.readUInt32LE(at);
      }
      filled += perSector;
      if (filled < most) continue;
      rest.push({
        start: positionOf(sector) + (most + perSector - filled) * 4,
        end: positionOf(sector) + bytes.length,
      });
      break;
    }
    return table;
  }

  const table = readTable(tableSectors(), count);

  /** No chain is longer than there are sectors: one that goes on is a circle. */
  function* chain(start: number, most = count): Generator<number> {
    let sector = start;
    for (let left = Math.min(most, count); left > 0 && sector < count; left -= 1) {
      used[sector] = 1;
      yield sector;
      sector = table[sector] as number;
    }
  }

  let entryCount = 0;
  let damaged = false;
  const wide = version >= 4 || shift >= 12;
  const entries = readDirectory();
  if (entries.length === 0) return undefined;
  const root = entries.find(({ kind }) => kind === ROOT) ?? entries[0];
  const miniSectors = Uint32Array.from(root ? chain(root.start) : []);
  const miniCount = miniSectors.length * (sectorBytes / miniBytes);
  const miniTable = readTable(chain(header.readUInt32LE(60)), miniCount);
  const miniUsed = new Uint8Array(miniCount);
  budget.addWork((miniSectors.length + count) * STEP_WORK);

  interface Entry {
    name: string;
    kind: number;
    start: number;
    size: number;
    left: number;
    right: number;
    child: number;
    index: number;
    place: Range;
  }

  function readDirectory(): Entry[] {
    const found: Entry[] = [];
    for (const sector of chain(header.readUInt32LE(48))) {
      const bytes = content.bytes(positionOf(sector), sectorBytes);
      budget.addWork(bytes.length);
      for (let at = 0; at + ENTRY_BYTES <= bytes.length; at += ENTRY_BYTES) {
        const index = entryCount++;
        const kind = bytes.readUInt8(at + 66);
        const place = { start: positionOf(sector) + at, end: positionOf(sector) + at + ENTRY_BYTES };
        if (kind === 0) {
          rest.push(place);
          continue;
        }
        const nameBytes = Math.min(64, bytes.readUInt16LE(at + 64));
        const size = bytes.readUInt32LE(at + 120) + (wide ? bytes.readUInt32LE(at + 124) * 2 ** 32 : 0);
        const [left, right, child, start] = [68, 72, 76, 116].map((field) => bytes.readUInt32LE(at + field));
        const name = readableName(bytes.toString("utf16le", at, at + nameBytes).replace(/\0.*$/s, ""));
        found.push({ name, kind, size, left, right, child, start, index, place } as Entry);
      }
      if (found.length > budget.limits.members) throw new LimitExceeded("members");
    }
    return found;
  }

  /** The path of each entry that the tree of the directory leads to. */
  function pathsOf(): Map<Entry, string> {
    const byIndex = new Map(entries.map((entry) => [entry.index, entry]));
    const paths = new Map<Entry, string>();
    const waiting: [number, string][] = root ? [[root.child, ""]] : [];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const [index, folder] = next;
      const entry = byIndex.get(index);
      if (index !== FREE && index >= entryCount) damaged = true;
      if (!entry || entry === root || paths.has(entry)) continue;
      const path = `${folder}${entry.name}`;
      paths.set(entry, path);
      waiting.push([entry.right, folder], [entry.left, folder]);
      if (entry.kind === STORAGE) waiting.push([entry.child, `${path.slice(-PATH_CHARACTERS)}/`]);
    }
    return paths;
  }

  function streamsOf(): CompoundStream[] {
    const paths = pathsOf();
    const cutoff = header.readUInt32LE(56);
    return entries.flatMap((entry) => {
      const { name, start, size } = entry;
      const path = paths.get(entry);
      if (path === undefined && entry !== root) rest.push(entry.place);
      if (entry.kind === STORAGE || entry.kind === ROOT || entry === root || size === 0) return [];
      // Where readers disagree about it both come out, and one of them is right.
      const minis = [...new Set([size < cutoff, size < USUAL_CUTOFF])];
      return minis.map((mini, reading) => {
        return { path: path ?? name, name, start, size, mini, listed: path !== undefined && reading === 0 };
      });
    });
  }

  /** The sectors of a stream, by where they begin; short ones also by which of the long ones around them it is. */
  function* sectorsOf({ start, size, mini }: CompoundStream): Generator<{ start: number; index: number }> {
    if (!mini) {
      for (const sector of chain(start, Math.ceil(size / sectorBytes))) yield { start: positionOf(sector), index: 0 };
      return;
    }
    let sector = start;
    for (let left = Math.min(Math.ceil(size / miniBytes), miniCount); left > 0 && sector < miniCount; left -= 1) {
      const at = sector * miniBytes;
      miniUsed[sector] = 1;
      const index = Math.floor(at / sectorBytes);
      yield { start: positionOf(miniSectors[index] as number) + (at % sectorBytes), index };
      sector = miniTable[sector] as number;
    }
  }

  const sectorSize = ({ mini }: CompoundStream): number => (mini ? miniBytes : sectorBytes);

  function measure(stream: CompoundStream): { size: number; steps: number } {
    let [left, size, steps] = [stream.size, 0, 0];
    for (const { start, index } of sectorsOf(stream)) {
      size += Math.max(0, Math.min(left, sectorSize(stream), content.size - start));
      left -= sectorSize(stream);
      steps += index;
    }
    budget.addWork((size / sectorSize(stream)) * STEP_WORK);
    return { size, steps };
  }

  function* placesOf(stream: CompoundStream): Generator<Range> {
    const step = sectorSize(stream);
    let left = stream.size;
    let place: Range | undefined;
    for (const { start } of sectorsOf(stream)) {
      const end = Math.min(content.size, start + Math.min(step, left));
      if (left < step) rest.push({ start: end, end: Math.min(content.size, start + step) });
      left -= step;
      if (place?.end === start && end - place.start <= PIECE_BYTES) place.end = end;
      else {
        if (place) yield place;
        budget.addWork(PLACE_WORK);
        place = { start, end };
      }
    }
    if (place && place.end > place.start) yield place;
  }

  /** Behind the last sector that the table has in use, or that something uses. */
  function endOfSectors(): number {
    let last = count - 1;
    while (last >= 0 && used[last] === 0 && table[last] === FREE) last -= 1;
    return Math.min(content.size, positionOf(last) + sectorBytes);
  }

  /** Stretches of sectors without a flag, joined where they stand one behind the other. */
  function unflagged(flags: Uint8Array, placeOf: (index: number) => Range): Range[] {
    const found: Range[] = [];
    for (let index = flags.indexOf(0); index >= 0; index = flags.indexOf(0, index + 1)) {
      const range = placeOf(index);
      const last = found.at(-1);
      if (last?.end === range.start) last.end = range.end;
      else found.push(range);
    }
    return found;
  }

  const streams = streamsOf();
  return {
    streams,
    damaged,
    placesOf,
    measure,
    entrySteps: entryCount ** 2 / 2 / (sectorBytes / ENTRY_BYTES),
    end: endOfSectors,
    unused() {
      const end = endOfSectors();
      const free = unflagged(used.subarray(0, Math.ceil(end / sectorBytes) - 1), (sector) => {
        return { start: positionOf(sector), end: Math.min(end, positionOf(sector) + sectorBytes) };
      });
      const freeMinis = unflagged(miniUsed, (sector) => {
        const at = sector * miniBytes;
        const start = positionOf(miniSectors[Math.floor(at / sectorBytes)] as number) + (at % sectorBytes);
        return { start, end: start + miniBytes };
      });
      return { sectors: free, rest: [...freeMinis, ...rest] };
    },
  };
}

/** As much of a path as anybody is shown. Without an end to it, storages in one another would fill the memory with names. */
const PATH_CHARACTERS = 100;
const INSTALLER_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._";

/** Installers pack two characters of a name into one; control characters are written as numbers. */
function readableName(name: string): string {
  return name.replace(/[\u3800-\u4840]|\p{Cc}/gu, (character) => {
    const code = character.charCodeAt(0);
    if (code < 0x3800) return `[${code}]`;
    if (code === 0x4840) return "!";
    const [low, high] = [
      INSTALLER_ALPHABET[code & 0x3f] ?? "",
      INSTALLER_ALPHABET[((code - 0x3800) >> 6) & 0x3f] ?? "",
    ];
    return code >= 0x4800 ? low : `${low}${high}`;
  });
}
