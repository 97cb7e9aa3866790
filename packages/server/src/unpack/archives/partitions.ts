import type { Blob, Range } from "../blob.ts";
import { byteAt } from "../byte-pattern.ts";
import { emitStored, type Opener } from "../opener.ts";
import { headOf } from "../signature-search.ts";
import { isFat } from "./fat.ts";

const SECTOR = 512;
const TABLE = 446;
const ENTRY = 16;

/** Reads the table of four partitions in the first sector: those that begin inside the disk. */
function partitionsOf(content: Blob): Range[] {
  const head = headOf(content);
  if (head.length < SECTOR || head.readUInt16BE(SECTOR - 2) !== 0x55aa) return [];
  return [0, 1, 2, 3].flatMap((index) => {
    const entry = head.subarray(TABLE + index * ENTRY, TABLE + (index + 1) * ENTRY);
    const [start, sectors] = [entry.readUInt32LE(8) * SECTOR, entry.readUInt32LE(12)];
    if (entry[4] === 0 || start === 0 || sectors === 0 || start >= content.size) return [];
    return [{ start, end: Math.min(content.size, start + sectors * SECTOR) }];
  });
}

/** Whether 7-Zip accepts the table: each entry is marked as active or not, and the sector is no boot sector of FAT as well. */
export function isDisk(content: Blob): boolean {
  const flags = [0, 1, 2, 3].map((index) => headOf(content)[TABLE + index * ENTRY]);
  return flags.every((flag) => flag === 0 || flag === 0x80) && partitionsOf(content).length > 0 && !isFat(content);
}

/**
 * Disks whose table 7-Zip does not accept, because of a flag or beside a FAT volume in the same bytes. A guess: what is no
 * disk has other numbers in those places.
 */
export const partitions: Opener = {
  kind: "partitions",
  knownBy: [byteAt(SECTOR - 2, "55")],
  find: (content) =>
    partitionsOf(content).length > 0 && !isDisk(content) ? [{ start: 0, end: content.size, sure: false }] : [],
  open(container, tools) {
    const covered = partitionsOf(container);
    for (const [index, { start, end }] of covered.entries()) {
      emitStored(tools.sink, { name: `partition ${index + 1}`, content: container.slice(start, end) });
    }
    return { kind: "opened", covered };
  },
};
