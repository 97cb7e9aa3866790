import type { Blob } from "../blob.ts";
import { byteAt } from "../byte-pattern.ts";
import type { Opener, Outcome, Tools } from "../opener.ts";
import { headOf } from "../signature-search.ts";

/**
 * FAT volumes, known by the numbers of their boot sector and by the media byte that the table repeats. The jump, the mark at 510
 * and the name of the type are not asked for: Linux and mtools ignore them. All copies of the table are followed. Clusters that
 * no file uses come out as leftovers.
 */
export const fat: Opener = {
  kind: "fat",
  archive: true,
  knownBy: [byteAt(21, "f0", "f8-ff"), byteAt(512, "fc-ff")],
  find(content) {
    const volume = volumeOf(content);
    return volume ? [{ start: 0, end: content.size, sure: volume.sure }] : [];
  },
  open(container, tools): Outcome {
    const volume = volumeOf(container);
    if (!volume) return { kind: "unreadable" };
    const used = new Uint8Array(volume.clusters + FIRST_CLUSTER);
    const tables = tablesOf(container, volume);
    const isWhole = tables.map((table) => emitFiles(container, { volume, table, used }, tools));
    emitUnused(container, { volume, used }, tools);
    if (isWhole.includes(false)) return { kind: "unreadable" };
    return { kind: "opened", covered: [{ start: volume.tables, end: Math.min(container.size, volume.end) }] };
  },
};

export function isFat(content: Blob): boolean {
  return volumeOf(content) !== undefined;
}

interface Volume {
  sure: boolean;
  bits: 12 | 16 | 32;
  /** Where the copies of the table begin, how many there are, and how long each is. */
  tables: number;
  copies: number;
  tableBytes: number;
  /** The root folder of FAT12 and FAT16 stands in front of the clusters, and that of FAT32 in one. */
  root: { start: number; bytes: number } | { cluster: number };
  clusterBytes: number;
  /** Where cluster 2 begins, which is the first. */
  first: number;
  clusters: number;
  end: number;
}

interface Reading {
  volume: Volume;
  table: Buffer;
  used: Uint8Array;
}

const FIRST_CLUSTER = 2;
const ENTRY = 32;
const MOST_FAT12_CLUSTERS = 4084;
const COPIES_AT_MOST = 4;
const PIECE_BYTES = 1024 * 1024;
const FLAG = { volume: 8, folder: 16 } as const;

function volumeOf(content: Blob): Volume | undefined {
  const head = headOf(content);
  if (head.length < 1024) return undefined;
  return volumeOfDos1(head, content) ?? volumeBy(head, content);
}

/** Disks of DOS 1 say nothing but the media byte, from which all numbers follow. */
function volumeOfDos1(head: Buffer, content: Blob): Volume | undefined {
  const [sectors, sectorsPerCluster, entries, tableSectors] = DOS1_DISKS[head[512] ?? 0] ?? [];
  if (!sectors || !sectorsPerCluster || !entries || !tableSectors) return undefined;
  if (Math.floor(content.size / 512) !== sectors || head.readUInt16LE(513) !== 0xffff) return undefined;
  const boot = Buffer.alloc(64);
  boot.writeUInt16LE(512, 11);
  boot.set([sectorsPerCluster, 1, 0, 2, entries], 13);
  boot.writeUInt16LE(sectors, 19);
  boot.set([head.readUInt8(512), tableSectors], 21);
  return volumeBy(boot, content);
}

const DOS1_DISKS: Readonly<Record<number, readonly number[]>> = {
  252: [360, 1, 64, 2],
  253: [720, 2, 112, 2],
  254: [320, 1, 64, 1],
  255: [640, 2, 112, 1],
};

function volumeBy(head: Buffer, content: Blob): Volume | undefined {
  const word = (at: number): number => head.readUInt16LE(at);
  const [sectorBytes, reserved, entries, media] = [word(11), word(14), word(17), head.readUInt8(21)];
  const [sectorsPerCluster, copies] = [head.readUInt8(13), head.readUInt8(16)];
  const isFat32 = word(22) === 0;
  const tableSectors = isFat32 ? head.readUInt32LE(36) : word(22);
  const sectors = word(19) || head.readUInt32LE(32);
  if (!isPowerOfTwo(sectorBytes) || sectorBytes < 128 || sectorBytes > 8192 || !isPowerOfTwo(sectorsPerCluster)) return;
  if (reserved === 0 || copies === 0 || tableSectors === 0 || (media < 0xf8 && media !== 0xf0)) return;
  const tables = reserved * sectorBytes;
  const tableBytes = tableSectors * sectorBytes;
  const rootStart = tables + copies * tableBytes;
  const first = rootStart + Math.ceil((entries * ENTRY) / sectorBytes) * sectorBytes;
  const [clusterBytes, end] = [sectorBytes * sectorsPerCluster, sectors * sectorBytes];
  const announced = Math.floor((end - first) / clusterBytes);
  if (announced < 1 || first >= content.size) return;
  const bits = isFat32 ? 32 : announced > MOST_FAT12_CLUSTERS ? 16 : 12;
  // Clusters without an entry in the table, or without bytes in the file, are in no chain.
  const known = Math.floor((tableBytes * 8) / bits) - FIRST_CLUSTER;
  const clusters = Math.max(0, Math.min(announced, known, Math.ceil((content.size - first) / clusterBytes)));
  const root = isFat32 ? { cluster: head.readUInt32LE(44) } : { start: rootStart, bytes: first - rootStart };
  const [repeated, ones] = content.bytes(tables, 2);
  const sure = repeated === media && ones === 0xff;
  return { sure, bits, tables, copies, tableBytes, root, clusterBytes, first, clusters, end };
}

function isPowerOfTwo(value: number): boolean {
  return value > 0 && (value & (value - 1)) === 0;
}

/** The copies of the table, each different one once. */
function tablesOf(container: Blob, { tables, tableBytes, copies, bits, clusters }: Volume): Buffer[] {
  const found: Buffer[] = [];
  const bytes = Math.min(tableBytes, Math.ceil(((clusters + FIRST_CLUSTER) * bits) / 8));
  for (let copy = 0; copy < Math.min(copies, COPIES_AT_MOST); copy += 1) {
    const table = container.bytes(tables + copy * tableBytes, bytes);
    if (!found.some((other) => other.equals(table))) found.push(table);
  }
  return found;
}

/** Every file of a volume, by one of its tables. Returns whether all of them came out whole. */
function emitFiles(container: Blob, reading: Reading, tools: Tools): boolean {
  const { volume } = reading;
  const entered = new Set<number>();
  const folders: Iterable<Buffer>[] = [];
  if ("cluster" in volume.root) folders.push(contentOf(container, reading, volume.root.cluster));
  else folders.push([container.bytes(volume.root.start, volume.root.bytes)]);
  let isWhole = true;
  for (let folder = folders.pop(); folder; folder = folders.pop()) {
    // Linux goes on behind the mark of the end, where other programs stop: leftovers that make no sense may follow.
    let isOver = false;
    for (const bytes of folder) {
      tools.budget.addWork(bytes.length);
      for (let at = 0; at + ENTRY <= bytes.length; at += ENTRY) {
        const entry = bytes.subarray(at, at + ENTRY);
        const flags = entry.readUInt8(11);
        isOver ||= entry[0] === 0;
        if (entry[0] === 0 || entry[0] === 0xe5 || flags & FLAG.volume) continue;
        const cluster = entry.readUInt16LE(26) + (volume.bits === 32 ? entry.readUInt16LE(20) * 0x10000 : 0);
        if (!(flags & FLAG.folder)) {
          if (!emitFile(container, reading, { entry, cluster, tools }) && !isOver) isWhole = false;
          continue;
        }
        if (!entered.has(cluster)) folders.push(contentOf(container, reading, cluster));
        entered.add(cluster);
      }
    }
  }
  return isWhole;
}

function emitFile(
  container: Blob,
  reading: Reading,
  { entry, cluster, tools }: { entry: Buffer; cluster: number; tools: Tools },
): boolean {
  let left = entry.readUInt32LE(28);
  if (left === 0) return true;
  tools.sink.begin(entry.toString("latin1", 0, 11).trim());
  for (const bytes of contentOf(container, reading, cluster)) {
    tools.sink.write(bytes.subarray(0, left));
    left -= Math.min(left, bytes.length);
    if (left === 0) break;
  }
  tools.sink.end();
  return left === 0;
}

/** The bytes of a chain of clusters; those that follow each other are read at once. A chain that goes in a circle ends. */
function* contentOf(container: Blob, { volume, table, used }: Reading, cluster: number): Generator<Buffer> {
  const { clusterBytes, first, clusters, bits } = volume;
  const isCluster = (number: number): boolean => number >= FIRST_CLUSTER && number < clusters + FIRST_CLUSTER;
  let at = cluster;
  for (let steps = 0; isCluster(at) && steps < clusters; ) {
    const start = at;
    let next = start;
    do {
      at = next;
      used[at] = 1;
      steps += 1;
      next = entryOf(table, at, bits);
    } while (next === at + 1 && isCluster(next) && steps < clusters && (next - start) * clusterBytes < PIECE_BYTES);
    yield container.bytes(first + (start - FIRST_CLUSTER) * clusterBytes, (at + 1 - start) * clusterBytes);
    at = next;
  }
}

function entryOf(table: Buffer, cluster: number, bits: Volume["bits"]): number {
  const at = Math.floor((cluster * bits) / 8);
  if (at + Math.ceil(bits / 8) > table.length) return 0;
  if (bits === 32) return table.readUInt32LE(at) & 0x0fffffff;
  const word = table.readUInt16LE(at);
  if (bits === 16) return word;
  return cluster % 2 === 0 ? word & 0xfff : word >> 4;
}

/** Yields clusters that no chain leads to, unless they repeat one byte: deleted files, or hidden ones. */
function emitUnused(container: Blob, { volume, used }: Omit<Reading, "table">, { sink, budget }: Tools): void {
  const { clusterBytes, first, clusters } = volume;
  let isOpen = false;
  for (let cluster = FIRST_CLUSTER; cluster < clusters + FIRST_CLUSTER; cluster += 1) {
    if (used[cluster]) continue;
    const bytes = container.bytes(first + (cluster - FIRST_CLUSTER) * clusterBytes, clusterBytes);
    budget.addWork(bytes.length);
    if (bytes.equals(Buffer.alloc(bytes.length, bytes[0] ?? 0))) continue;
    if (!isOpen) sink.begin("free clusters", undefined, { leftover: true });
    isOpen = true;
    sink.write(bytes);
  }
  if (isOpen) sink.end();
}
