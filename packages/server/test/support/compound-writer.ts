import { bytes, glue, latin1, padTo, u16, u32 } from "./corpus/container.ts";

/** A stream of a compound file; storages around it are in its path, with slashes between. */
interface Stream {
  name: string;
  content: Buffer;
}

interface Shape {
  /** In which order the sectors of a stream are written: only who follows the chain has the content in one piece. */
  order?: "forwards" | "backwards" | "even first";
  /** 512 in version 3, 4096 in version 4. */
  sectorBytes?: 512 | 4096;
  /** Stands behind the end of the streams, where there is room for it in their last sector. */
  slack?: Buffer;
  /** Stands in sectors that the table calls free. */
  free?: Buffer;
}

const MINI = 64;
const CUTOFF = 4096;
const IN_HEADER = 109;
const [FREE, CHAIN_END, TABLE_SECTOR, LIST_SECTOR] = [0xffffffff, 0xfffffffe, 0xfffffffd, 0xfffffffc];

/** A compound file (OLE); short streams lie in its mini stream, as they should. */
export function compoundFile(
  streams: readonly Stream[],
  { order = "forwards", sectorBytes = 512, slack = Buffer.alloc(0), free = Buffer.alloc(0) }: Shape = {},
): Buffer {
  const table: number[] = [];
  const sectors: Buffer[] = [];
  const miniTable: number[] = [];
  const mini: Buffer[] = [];
  const perSector = sectorBytes / 4;

  const chain = (into: number[], pieces: Buffer[], content: Buffer, size: number): number => {
    const count = Math.ceil(content.length / size);
    const first = into.length;
    const parts = Array.from({ length: count }, (_, index) =>
      padTo(content.subarray(index * size, index * size + size), size),
    );
    if (count > 0 && content.length + slack.length <= count * size)
      slack.copy(parts.at(-1) as Buffer, content.length % size);
    const written = [...parts.keys()];
    if (order === "backwards") written.reverse();
    if (order === "even first") written.sort((a, b) => (a % 2) - (b % 2) || a - b);
    const placeOf = new Map(written.map((index, place) => [index, first + place]));
    for (const index of written) {
      into.push(placeOf.get(index + 1) ?? CHAIN_END);
      pieces.push(parts[index] as Buffer);
    }
    return placeOf.get(0) ?? CHAIN_END;
  };

  const entries = directoryOf(streams);
  for (const entry of entries.filter(({ kind }) => kind === 2)) {
    const { content } = entry;
    const small = content.length < CUTOFF;
    entry.start = small ? chain(miniTable, mini, content, MINI) : chain(table, sectors, content, sectorBytes);
  }
  const [root] = entries as [Entry];
  root.content = Buffer.concat(mini);
  root.start = chain(table, sectors, root.content, sectorBytes);
  const miniTableStart = chain(table, sectors, tableOf(miniTable, sectorBytes), sectorBytes);
  for (const piece of cut(padTo(free, sectorBytes), sectorBytes)) {
    sectors.push(piece);
    table.push(FREE);
  }
  const directory = padTo(Buffer.concat(entries.map(entryBytes)), sectorBytes);
  const directoryStart = chain(table, sectors, directory, sectorBytes);

  let [tables, lists] = [1, 0];
  while (tables * perSector < table.length + tables + lists) {
    tables += 1;
    lists = Math.ceil(Math.max(0, tables - IN_HEADER) / (perSector - 1));
  }
  const firstTable = table.length;
  const numbers = Array.from({ length: tables }, (_, index) => firstTable + index);
  for (const _ of numbers) table.push(TABLE_SECTOR);
  const firstList = table.length;
  for (let index = 0; index < lists; index += 1) table.push(LIST_SECTOR);
  const listed = Array.from({ length: lists }, (_, index) => {
    const from = IN_HEADER + index * (perSector - 1);
    const part = numbers.slice(from, from + perSector - 1);
    const filled = [...part, ...Array<number>(perSector - 1 - part.length).fill(FREE)];
    return glue(...filled.map(u32), u32(index === lists - 1 ? CHAIN_END : firstList + index + 1));
  });

  const places = Array.from({ length: IN_HEADER }, (_, index) => u32(numbers[index] ?? FREE));
  const wide = sectorBytes === 4096;
  const header = glue(
    ...[latin1("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), Buffer.alloc(16), u16(0x3e), u16(wide ? 4 : 3), u16(0xfffe)],
    ...[u16(wide ? 12 : 9), u16(6), Buffer.alloc(6), u32(wide ? directory.length / sectorBytes : 0), u32(tables)],
    ...[u32(directoryStart), u32(0), u32(CUTOFF), u32(miniTableStart)],
    ...[u32(Math.ceil(miniTable.length / perSector)), u32(lists > 0 ? firstList : CHAIN_END), u32(lists)],
    ...places,
  );
  return glue(padTo(header, sectorBytes), ...sectors, tableOf(table, sectorBytes), ...listed);
}

function tableOf(numbers: readonly number[], sectorBytes: number): Buffer {
  const content = Buffer.concat(numbers.map(u32));
  return Buffer.concat([content, Buffer.alloc(-content.length & (sectorBytes - 1), 0xff)]);
}

function cut(content: Buffer, size: number): Buffer[] {
  return Array.from({ length: content.length / size }, (_, index) =>
    content.subarray(index * size, (index + 1) * size),
  );
}

interface Entry {
  name: string;
  kind: number;
  content: Buffer;
  start: number;
  right: number;
  child: number;
}

/** The entries of a storage hang on each other to the right, which is a tree that every reader takes. */
function directoryOf(streams: readonly Stream[]): Entry[] {
  const entry = (name: string, kind: number, content: Buffer = Buffer.alloc(0)): Entry => {
    return { name, kind, content, start: kind === 2 ? CHAIN_END : 0, right: FREE, child: FREE };
  };
  const root = entry("Root Entry", 5);
  const entries = [root];
  const storages = new Map([["", root]]);
  const lastOf = new Map<Entry, Entry>();
  const add = (folder: string, added: Entry): void => {
    const storage = storages.get(folder) ?? addStorage(folder);
    const last = lastOf.get(storage);
    if (last) last.right = entries.length;
    else storage.child = entries.length;
    lastOf.set(storage, added);
    entries.push(added);
  };
  const addStorage = (path: string): Entry => {
    const storage = entry(path.replace(/^.*\//, ""), 1);
    add(path.includes("/") ? path.replace(/\/[^/]*$/, "") : "", storage);
    storages.set(path, storage);
    return storage;
  };
  for (const { name, content } of streams) {
    const folder = name.includes("/") ? name.replace(/\/[^/]*$/, "") : "";
    if (!storages.has(folder)) addStorage(folder);
    add(folder, entry(name.replace(/^.*\//, ""), 2, content));
  }
  return entries;
}

function entryBytes({ name, kind, content, start, right, child }: Entry): Buffer {
  const written = Buffer.from(`${name}\0`, "utf16le");
  return glue(
    ...[
      written,
      Buffer.alloc(64 - written.length),
      u16(written.length),
      bytes(kind, 1),
      u32(FREE),
      u32(right),
      u32(child),
    ],
    ...[Buffer.alloc(36), u32(start), u32(content.length), u32(0)],
  );
}
