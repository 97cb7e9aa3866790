import { crc32 } from "node:zlib";
import { type Blob, joinedBlob, memoryBlob } from "../blob.ts";
import type { Budget } from "../budget.ts";

/**
 * How a container is shown to 7-Zip so that everything in it comes out: as it is (the first), and once more for each part that
 * 7-Zip passes over.
 */
export function viewsOf(container: Blob, type: string, budget: Budget): Blob[] {
  if (type === "Rar") return [container, ...servicesOfRar4(container, budget)];
  if (type === "QCOW") return [container, ...snapshotsOfQcow2(container, budget)];
  if (type === "VHD") return [withChecksums(container)];
  if (type === "Ext") return [withPlainLinks(container, budget)];
  if (type === "Cab") return [withoutFolders(container, budget)];
  if (type === "SWFc") return [withFlashVersion(container)];
  return [container];
}

interface Patch {
  at: number;
  bytes: Buffer;
}

/** The same bytes, but for some. Patches are in order. */
function patched(content: Blob, patches: readonly Patch[]): Blob {
  const parts: Blob[] = [];
  let done = 0;
  for (const { at, bytes } of patches) {
    parts.push(content.slice(done, at), memoryBlob(bytes));
    done = at + bytes.length;
  }
  return parts.length === 0 ? content : joinedBlob([...parts, content.slice(done, content.size)]);
}

/** A file of a cabinet may be marked as a folder: 7-Zip passes over it, bsdtar and cabextract do not look. */
function withoutFolders(container: Blob, budget: Budget): Blob {
  const header = container.bytes(0, 36);
  if (header.length < 36) return container;
  const patches: Patch[] = [];
  let at = header.readUInt32LE(16);
  for (let files = header.readUInt16LE(28); files > 0 && at + 16 < container.size; files -= 1) {
    const entry = container.bytes(at, 16 + CAB_NAME_BYTES);
    budget.addWork(entry.length);
    const attributes = entry.readUInt16LE(14);
    const nameEnd = entry.indexOf(0, 16);
    if (nameEnd < 0) break;
    const plain = Buffer.alloc(2);
    plain.writeUInt16LE(attributes & ~CAB_FOLDER);
    if (attributes & CAB_FOLDER) patches.push({ at: at + 14, bytes: plain });
    at += nameEnd + 1;
  }
  return patched(container, patches);
}

const CAB_FOLDER = 0x10;
const CAB_NAME_BYTES = 258;

/** 7-Zip opens versions that there will not be for long; other readers do not look. */
function withFlashVersion(container: Blob): Blob {
  const version = container.bytes(3, 1)[0] ?? 0;
  return version < FLASH_VERSIONS ? container : patched(container, [{ at: 3, bytes: Buffer.of(LZMA_FLASH) }]);
}

const FLASH_VERSIONS = 64;
/** The first that may be packed by LZMA. */
const LZMA_FLASH = 13;

const RAR4 = {
  mark: 7,
  encrypted: 0x80,
  hasData: 0x8000,
  isLarge: 0x100,
  main: 0x73,
  file: 0x74,
  oldService: 0x77,
  service: 0x7a,
} as const;

/**
 * Lists what WinRAR keeps beside the files: streams of NTFS, comments, lists of rights. Their blocks are made like those of files
 * and are shown as files. Recovery records are no content.
 */
function servicesOfRar4(container: Blob, budget: Budget): Blob[] {
  const parts: Blob[] = [];
  for (let at: number = RAR4.mark; at + 7 <= container.size; ) {
    budget.addWork(RAR4_FILE_HEADER);
    const start = container.bytes(at, RAR4_FILE_HEADER);
    const [type, flags, headerBytes] = [start.readUInt8(2), start.readUInt16LE(3), start.readUInt16LE(5)];
    if (headerBytes < 7 || (type === RAR4.main && flags & RAR4.encrypted)) break;
    const isLong = (type === RAR4.file || type === RAR4.service) && (flags & RAR4.isLarge) !== 0 && start.length >= 36;
    const low = flags & RAR4.hasData && start.length >= 11 ? start.readUInt32LE(7) : 0;
    const data = {
      start: at + headerBytes,
      end: at + headerBytes + low + (isLong ? start.readUInt32LE(32) * 2 ** 32 : 0),
    };
    const header = container.bytes(at, headerBytes);
    const asFile =
      type === RAR4.service ? fileOfService(header) : type === RAR4.oldService ? fileOfOld(header) : undefined;
    if (asFile && data.end > data.start) parts.push(memoryBlob(asFile), container.slice(data.start, data.end));
    at = data.end;
  }
  if (parts.length === 0) return [];
  return [joinedBlob([container.slice(0, RAR4.mark), memoryBlob(rar4Header(RAR4.main, Buffer.alloc(6))), ...parts])];
}

const RAR4_FILE_HEADER = 40;
/** The flags that say how much data there is and whether it is encrypted. The rest is about other volumes and files. */
const RAR4_KEPT_FLAGS = 0x8504;
/** The largest window that is none of a folder. */
const RAR4_WINDOW = 0xc0;

function fileOfService(header: Buffer): Buffer | undefined {
  const name = header.readUInt16LE(3) & RAR4.isLarge ? 40 : 32;
  if (header.length <= name || header.toString("latin1", name, name + 2) === "RR") return undefined;
  const fields = Buffer.from(header.subarray(7));
  fields.writeUInt32LE(0x20, 21);
  return rar4Header(RAR4.file, fields, (header.readUInt16LE(3) & RAR4_KEPT_FLAGS) | RAR4_WINDOW);
}

/** Before RAR 3: the size of the data, a kind, a level, then the size, the version, the method and the checksum of a file. */
function fileOfOld(header: Buffer): Buffer | undefined {
  if (header.length < 24) return undefined;
  const fields = Buffer.alloc(26, 0);
  header.copy(fields, 0, 7, 11);
  header.copy(fields, 4, 14, 18);
  fields[8] = 2;
  header.copy(fields, 9, 20, 24);
  header.copy(fields, 17, 18, 20);
  fields.writeUInt16LE(1, 19);
  fields.writeUInt32LE(0x20, 21);
  fields.write("s", 25);
  return rar4Header(RAR4.file, fields, RAR4.hasData | RAR4_WINDOW);
}

function rar4Header(type: number, fields: Buffer, flags = 0): Buffer {
  const header = Buffer.concat([Buffer.of(0, 0, type, 0, 0, 0, 0), fields]);
  header.writeUInt16LE(flags, 3);
  header.writeUInt16LE(header.length, 5);
  header.writeUInt16LE(crc32(header.subarray(2)) & 0xffff, 0);
  return header;
}

/** The disk as it was at each snapshot: a table of clusters of its own instead of the current one. */
function snapshotsOfQcow2(container: Blob, budget: Budget): Blob[] {
  const header = container.bytes(0, QCOW2_HEADER);
  if (header.length < QCOW2_HEADER || header.readUInt32BE(4) < 2) return [];
  const views: Blob[] = [];
  let at = Number(header.readBigUInt64BE(64));
  for (let left = header.readUInt32BE(60); left > 0; left -= 1) {
    const entry = container.bytes(at, SNAPSHOT_ENTRY);
    if (entry.length < SNAPSHOT_ENTRY) break;
    budget.addMember();
    const table = Buffer.concat([entry.subarray(8, 12), entry.subarray(0, 8)]);
    views.push(patched(container, [{ at: 36, bytes: table }]));
    const length = SNAPSHOT_ENTRY + entry.readUInt32BE(36) + entry.readUInt16BE(12) + entry.readUInt16BE(14);
    at += Math.ceil(length / 8) * 8;
  }
  return views;
}

const QCOW2_HEADER = 72;
const SNAPSHOT_ENTRY = 40;

/** QEMU reads a disk whose checksums are wrong, and only warns. */
function withChecksums(container: Blob): Blob {
  const sectors = [
    { mark: "conectix", at: 0, bytes: 512, sum: 64 },
    { mark: "cxsparse", at: 512, bytes: 1024, sum: 36 },
    { mark: "conectix", at: container.size - 512, bytes: 512, sum: 64 },
  ];
  const patches = sectors.flatMap(({ mark, at, bytes, sum }) => {
    const sector = Buffer.from(container.bytes(at, bytes));
    if (sector.length < bytes || sector.toString("latin1", 0, mark.length) !== mark) return [];
    const announced = sector.readUInt32BE(sum);
    sector.fill(0, sum, sum + 4);
    const right = ~sector.reduce((total, byte) => total + byte, 0) >>> 0;
    if (announced === right) return [];
    sector.writeUInt32BE(right, sum);
    return [{ at, bytes: sector }];
  });
  return patched(container, patches);
}

/**
 * A short link stands in its inode. 7-Zip takes the block of its extended attributes for the link's, and finds nothing there: so
 * it is told that there is none.
 */
function withPlainLinks(container: Blob, budget: Budget): Blob {
  const head = container.bytes(1024, 256);
  const word = (at: number): number => head.readUInt32LE(at);
  const [inodes, inGroup, blockBytes] = [word(0), word(40), 1024 << word(24)];
  const inodeBytes = word(76) === 0 ? 128 : head.readUInt16LE(88);
  const descriptorBytes = word(96) & EXT_64BIT ? Math.max(32, head.readUInt16LE(254)) : 32;
  const descriptors = (word(20) + 1) * blockBytes;
  if (inodeBytes < 128 || inodeBytes > blockBytes) return container;
  const patches: Patch[] = [];
  for (let group = 0; group * inGroup < inodes; group += 1) {
    const descriptor = container.bytes(descriptors + group * descriptorBytes, descriptorBytes);
    if (descriptor.length < 32) break;
    const table = descriptor.readUInt32LE(8) * blockBytes;
    const bytes = container.bytes(table, Math.min(inGroup * inodeBytes, EXT_TABLE_BYTES));
    budget.addWork(descriptorBytes + bytes.length);
    for (let at = 0; at + 128 <= bytes.length; at += inodeBytes) {
      const isLink = bytes.readUInt16LE(at) >> 12 === 10 && bytes.readUInt32LE(at + 4) < 60;
      if (isLink && bytes.readUInt32LE(at + 104) !== 0) patches.push({ at: table + at + 28, bytes: Buffer.alloc(4) });
    }
  }
  return patched(
    container,
    patches.sort((a, b) => a.at - b.at).filter(({ at }, index, all) => at !== all[index - 1]?.at),
  );
}

const EXT_64BIT = 0x80;
/** Blocks of 64 KB have as many bits for inodes, of 256 bytes each. */
const EXT_TABLE_BYTES = 128 * 1024 * 1024;
