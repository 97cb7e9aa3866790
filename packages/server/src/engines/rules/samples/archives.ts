import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32, gzipSync } from "node:zlib";

/** Archives with one file in them, made by 7-Zip or, where it only reads a format, by hand. */
const NAME = "sample.txt";

/** `7z a` with the file in a folder of its own; `flags` as on its command line, the extension decides the format. */
export function packedBy7z(content: Uint8Array, extension: string, flags: readonly string[] = []): Buffer {
  const folder = mkdtempSync(join(tmpdir(), `lazaret-test-${process.pid}-7z-`));
  try {
    mkdirSync(join(folder, "in"));
    writeFileSync(join(folder, "in", NAME), content);
    const target = join(folder, `out.${extension}`);
    execFileSync("7z", ["a", "-bso0", "-bsp0", ...flags, target, join(folder, "in", NAME)]);
    return readFileSync(target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function cpio(content: Uint8Array): Buffer {
  const entry = (name: string, data: Uint8Array): Buffer => {
    const fields = [1, 0o100644, 0, 0, 1, 0, data.length, 0, 0, 0, 0, name.length + 1, 0];
    const header = `070701${fields.map((field) => field.toString(16).padStart(8, "0")).join("")}${name}\0`;
    return Buffer.concat([padded(Buffer.from(header), 4), padded(data, 4)]);
  };
  return Buffer.concat([entry(NAME, content), entry("TRAILER!!!", Buffer.alloc(0))]);
}

export function ar(content: Uint8Array): Buffer {
  const header = `${`${NAME}/`.padEnd(16)}0           0     0     100644  ${String(content.length).padEnd(10)}\`\n`;
  return Buffer.concat([Buffer.from(`!<arch>\n${header}`), padded(content, 2)]);
}

/** Lead, an empty signature, an empty header, and a cpio archive. */
export function rpm(content: Uint8Array): Buffer {
  const lead = Buffer.alloc(96);
  lead.set([0xed, 0xab, 0xee, 0xdb, 3, 0, 0, 0, 0, 1]);
  lead.write("sample-1-1", 10);
  lead.writeUInt16BE(1, 76);
  lead.writeUInt16BE(5, 78);
  const empty = Buffer.from([0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  return Buffer.concat([lead, empty, empty, gzipSync(cpio(content))]);
}

/** One folder, one file, not compressed. */
export function cab(content: Uint8Array): Buffer {
  const name = Buffer.from(`${NAME}\0`);
  const dataStart = 36 + 8 + 16 + name.length;
  const header = Buffer.alloc(36);
  header.write("MSCF");
  header.writeUInt32LE(dataStart + 8 + content.length, 8);
  header.writeUInt32LE(36 + 8, 16);
  header.writeUInt16LE(0x0103, 24);
  header.writeUInt16LE(1, 26);
  header.writeUInt16LE(1, 28);
  const folder = Buffer.alloc(8);
  folder.writeUInt32LE(dataStart, 0);
  folder.writeUInt16LE(1, 4);
  const file = Buffer.alloc(16);
  file.writeUInt32LE(content.length, 0);
  const block = Buffer.alloc(8);
  block.writeUInt16LE(content.length, 4);
  block.writeUInt16LE(content.length, 6);
  return Buffer.concat([header, folder, file, name, block, content]);
}

/** Main header, one stored file, end. */
export function arj(content: Uint8Array): Buffer {
  const header = (type: number, name: string): Buffer => {
    const basic = Buffer.alloc(30);
    basic.set([30, 11, 1, 2, 0, 0, type]);
    basic.writeUInt32LE(type === 2 ? 0 : content.length, 12);
    basic.writeUInt32LE(type === 2 ? 0 : content.length, 16);
    basic.writeUInt32LE(type === 2 ? 0 : crc32(content), 20);
    const whole = Buffer.concat([basic, Buffer.from(`${name}\0\0`)]);
    const start = Buffer.from([0x60, 0xea, whole.length & 0xff, whole.length >> 8]);
    const check = Buffer.alloc(6);
    check.writeUInt32LE(crc32(whole));
    return Buffer.concat([start, whole, check]);
  };
  return Buffer.concat([header(2, "sample.arj"), header(0, NAME), content, Buffer.from([0x60, 0xea, 0, 0])]);
}

/** ISO 9660 with one file in its root. */
export function iso(content: Uint8Array): Buffer {
  const record = (extent: number, size: number, name: Buffer, folder: boolean): Buffer => {
    const bytes = Buffer.alloc(33 + name.length + ((name.length + 1) % 2));
    bytes.writeUInt8(bytes.length, 0);
    bytes.writeUInt32LE(extent, 2);
    bytes.writeUInt32BE(extent, 6);
    bytes.writeUInt32LE(size, 10);
    bytes.writeUInt32BE(size, 14);
    bytes.writeUInt8(folder ? 2 : 0, 25);
    bytes.writeUInt16LE(1, 28);
    bytes.writeUInt16BE(1, 30);
    bytes.writeUInt8(name.length, 32);
    name.copy(bytes, 33);
    return bytes;
  };
  const sectors = 20 + Math.ceil(content.length / 2048);
  const image = Buffer.alloc(sectors * 2048);
  const volume = image.subarray(16 * 2048);
  volume.write("\x01CD001\x01", "latin1");
  volume.writeUInt32LE(sectors, 80);
  volume.writeUInt32BE(sectors, 84);
  for (const [at, value] of [
    [120, 1],
    [124, 1],
    [128, 2048],
  ] as const) {
    volume.writeUInt16LE(value, at);
    volume.writeUInt16BE(value, at + 2);
  }
  record(18, 2048, Buffer.from([0]), true).copy(volume, 156);
  volume.writeUInt8(1, 881);
  image.write("\xffCD001\x01", 17 * 2048, "latin1");
  const own = record(18, 2048, Buffer.from([0]), true);
  const parent = record(18, 2048, Buffer.from([1]), true);
  Buffer.concat([own, parent, record(19, content.length, Buffer.from("SAMPLE.TXT;1"), false)]).copy(image, 18 * 2048);
  image.set(content, 19 * 2048);
  return image;
}

/** A compound file with one stream, whose sectors stand in reverse: only who reads the format sees it in one piece. */
export function compound(stream: string, content: Uint8Array): Buffer {
  const size = Math.max(4096, content.length);
  const count = Math.ceil(size / 512);
  const header = Buffer.alloc(512);
  header.set([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]);
  header.writeUInt16LE(0x3e, 24);
  header.writeUInt16LE(3, 26);
  header.writeUInt16LE(0xfffe, 28);
  header.writeUInt16LE(9, 30);
  header.writeUInt16LE(6, 32);
  header.writeUInt32LE(1, 44);
  header.writeUInt32LE(1, 48);
  header.writeUInt32LE(4096, 56);
  header.writeInt32LE(-2, 60);
  header.writeInt32LE(-2, 68);
  header.fill(0xff, 80);
  header.writeUInt32LE(0, 76);

  const table = Buffer.alloc(512, 0xff);
  table.writeInt32LE(-3, 0);
  table.writeInt32LE(-2, 4);
  // The chain runs from the last sector down to the third.
  for (let index = 2; index < 2 + count; index += 1) table.writeInt32LE(index === 2 ? -2 : index - 1, index * 4);

  const directory = Buffer.alloc(512);
  directoryEntry(directory, 0, { name: "Root Entry", kind: 5, child: 1, start: -2, size: 0 });
  directoryEntry(directory, 1, { name: stream, kind: 2, child: -1, start: 1 + count, size });
  directoryEntry(directory, 2, { name: "", kind: 0, child: -1, start: 0, size: 0 });
  directoryEntry(directory, 3, { name: "", kind: 0, child: -1, start: 0, size: 0 });

  const whole = Buffer.alloc(count * 512);
  whole.set(content);
  const sectors = Array.from({ length: count }, (_, index) => whole.subarray(index * 512, index * 512 + 512));
  return Buffer.concat([header, table, directory, ...sectors.reverse()]);
}

function directoryEntry(
  directory: Buffer,
  index: number,
  entry: { name: string; kind: number; child: number; start: number; size: number },
): void {
  const at = index * 128;
  const name = Buffer.from(entry.name === "" ? "" : `${entry.name}\0`, "utf16le");
  name.copy(directory, at);
  directory.writeUInt16LE(name.length, at + 64);
  directory.writeUInt8(entry.kind, at + 66);
  directory.writeUInt8(1, at + 67);
  directory.writeInt32LE(-1, at + 68);
  directory.writeInt32LE(-1, at + 72);
  directory.writeInt32LE(entry.child, at + 76);
  directory.writeInt32LE(entry.start, at + 116);
  directory.writeUInt32LE(entry.size, at + 120);
}

function padded(bytes: Uint8Array, to: number): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((to - (bytes.length % to)) % to)]);
}
