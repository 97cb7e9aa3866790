import { crc32 } from "node:zlib";
import { bytes, type Container, containers, glue, HARMLESS, latin1, noise, padTo, u16, u32, u64 } from "./container.ts";
import { lzmaRaw } from "./lzma-writer.ts";

/** Rar and 7z of one file, written by hand: stored, or by the simplest LZMA. */

function rar4(content: Buffer, method = 0x30, flags = 0): Buffer {
  const block = (head: Buffer): Buffer => glue(u16(crc32(head)), head);
  const name = latin1("sample.txt");
  const sizes = glue(u16(32 + name.length), u32(content.length), u32(content.length));
  const file = glue(
    bytes(0x74),
    u16(0x8000 | flags),
    sizes,
    bytes(2),
    u32(crc32(content)),
    u32(0x3b000000),
    bytes(29, method),
  );
  return glue(
    latin1("Rar!\x1a\x07\0"),
    block(glue(bytes(0x73, 0, 0, 13, 0), Buffer.alloc(6))),
    block(glue(file, u16(name.length), u32(0x20), name)),
    content,
    block(bytes(0x7b, 0, 0x40, 7, 0)),
  );
}

function rar5(content: Buffer, { encryption = Buffer.alloc(0) }: { encryption?: Buffer } = {}): Buffer {
  const number = (value: number): Buffer => {
    const out: number[] = [];
    let rest = value;
    for (; rest > 127; rest >>>= 7) out.push((rest & 127) | 128);
    return bytes(...out, rest);
  };
  const block = (fields: Buffer): Buffer => {
    const whole = glue(number(fields.length), fields);
    return glue(u32(crc32(whole)), whole);
  };
  const name = latin1("sample.txt");
  const size = number(content.length);
  const flags = encryption.length > 0 ? 3 : 2;
  const extra = encryption.length > 0 ? number(encryption.length) : Buffer.alloc(0);
  const file = [
    bytes(2, flags),
    extra,
    size,
    bytes(4),
    size,
    bytes(0x20),
    u32(crc32(content)),
    bytes(0, 1, name.length),
    name,
  ];
  return glue(
    latin1("Rar!\x1a\x07\x01\0"),
    block(bytes(1, 0, 0)),
    block(glue(...file, encryption)),
    content,
    block(bytes(5, 0, 0)),
  );
}

/** The record of an encrypted file: its own size, kind 1, version, flags, iterations, salt and start value. */
const RAR5_KEY = glue(bytes(36, 1, 0, 0, 15), noise(32));

const rars = containers(
  "rar",
  { extension: ".rar", readers: ["7z", "unar", "bsdtar", "unrar-free"] },
  {
    "4, stored": { ordinary: true, wrap: (content) => rar4(content) },
    "5, stored": { ordinary: true, wrap: (content) => rar5(content) },
    "4, behind a program": (content) => glue("MZ", noise(900), rar4(content)),
    "5, behind a program": { readers: ["7z", "7z-as-rar5"], wrap: (content) => glue("MZ", noise(900), rar5(content)) },
    "4, noise behind": (content) => glue(rar4(content), noise(300)),
    "5, noise behind": (content) => glue(rar5(content), noise(300)),
    "4, encrypted": {
      locked: true,
      readers: [],
      wrap: (content) =>
        rar4(
          padTo(
            content.map((byte) => byte ^ 0x5a),
            16,
          ),
          0x30,
          4,
        ),
    },
    "5, encrypted": {
      locked: true,
      readers: [],
      wrap: (content) =>
        rar5(
          padTo(
            content.map((byte) => byte ^ 0x5a),
            16,
          ),
          { encryption: RAR5_KEY },
        ),
    },
    "5, stored, then a zip-like end": (content) => glue(rar5(content), latin1("PK\x05\x06"), Buffer.alloc(18)),
  },
);

function number7z(value: number): Buffer {
  return value < 0x80 ? bytes(value) : glue(bytes(0xf0), u32(value));
}

/** A 7z of one file with a header that is not packed; the coder is Copy or LZMA. */
export function sevenZip(content: Buffer, { lzma = false, crc = crc32(content) } = {}): Buffer {
  const packed = lzma ? lzmaRaw(content) : content;
  const coder = lzma ? glue(bytes(0x23, 3, 1, 1, 5, 0x5d), u32(1 << 16)) : bytes(1, 0);
  const names = Buffer.from("sample.txt\0", "utf16le");
  const header = glue(
    ...[bytes(1, 4, 6, 0, 1, 9), number7z(packed.length), bytes(0)],
    ...[bytes(7, 11, 1, 0, 1), coder, bytes(12), number7z(content.length), bytes(10, 1), u32(crc), bytes(0, 0)],
    ...[bytes(5, 1, 0x11), number7z(names.length + 1), bytes(0), names, bytes(0, 0)],
  );
  const start = glue(u64(packed.length), u64(header.length), u32(crc32(header)));
  return glue(latin1("7z\xbc\xaf\x27\x1c\0\x04"), u32(crc32(start)), start, packed, header);
}

const sevenZips = containers(
  "7z by hand",
  { extension: ".7z", readers: ["7z", "bsdtar"] },
  {
    copy: { ordinary: true, wrap: (content) => sevenZip(content) },
    lzma: { ordinary: true, wrap: (content) => sevenZip(content, { lzma: true }) },
    "behind a program": {
      readers: ["7z-as-7z"],
      wrap: (content) => glue("MZ", noise(900), sevenZip(content, { lzma: true })),
    },
    "noise behind": (content) => glue(sevenZip(content, { lzma: true }), noise(500)),
    "a zip behind": (content) => glue(sevenZip(content, { lzma: true }), latin1("PK\x05\x06"), Buffer.alloc(18)),
    "a wrong checksum": {
      readers: ["7z"],
      wrap: (content) => sevenZip(content, { crc: 1 }),
    },
    "two, one after the other": {
      readers: [],
      wrap: (content) => glue(sevenZip(HARMLESS), sevenZip(content, { lzma: true })),
    },
    "a gap before its header": (content) => {
      const file = sevenZip(content, { lzma: true });
      const at = 32 + Number(file.readBigUInt64LE(12));
      const start = glue(u64(at - 32 + 300), file.subarray(20, 32));
      return glue(file.subarray(0, 8), u32(crc32(start)), start, file.subarray(32, at), noise(300), file.subarray(at));
    },
  },
);

export const rarAnd7z: readonly Container[] = [...rars, ...sevenZips];
