import { deflateRawSync, gzipSync, zstdCompressSync } from "node:zlib";
import { arj, cab, cpio, iso, rpm } from "../../../src/engines/rules/samples/archives.ts";
import {
  bytes,
  type Container,
  containers,
  glue,
  HARMLESS,
  latin1,
  noise,
  padTo,
  patched,
  u16,
  u32,
} from "./container.ts";
import { lzmaAlone, xz } from "./lzma-writer.ts";
import { lzxFrame } from "./old-coders.ts";
import { tarOf } from "./tars.ts";

/** Archives other than zip and tar, written by hand. */

function arMember(name: string, content: Uint8Array): Buffer {
  const header = `${name.padEnd(16)}0           0     0     100644  ${String(content.length).padEnd(10)}\`\n`;
  return glue(header, padTo(content, 2));
}

const arOf = (...members: Buffer[]): Buffer => glue("!<arch>\n", ...members);
const note = arMember("notes.txt/", HARMLESS);
const deb = (ending: string, data: Buffer): Buffer =>
  arOf(
    arMember("debian-binary", latin1("2.0\n")),
    arMember("control.tar.gz", gzipSync(tarOf(HARMLESS, "control"))),
    arMember(`data.tar${ending}`, data),
  );

const ars = containers(
  "ar and deb",
  { extension: ".a", readers: ["ar", "bsdtar", "7z"], ordinary: true },
  {
    "as in GNU": (content) => arOf(arMember("sample.txt/", content)),
    "as in BSD": (content) => arOf(arMember("#1/12", glue("long name.tx", content))),
    "a table of long names": (content) =>
      arOf(arMember("//", latin1("a_very_long_file_name.txt/\n")), arMember("/0", content)),
    "after another": (content) => arOf(note, arMember("sample.txt", content)),
    "noise behind": { ordinary: false, wrap: (content) => glue(arOf(arMember("a/", content), note), noise(100)) },
    "two with one name": (content) => arOf(arMember("a/", HARMLESS), arMember("a/", content)),
    "a deb of gzip": {
      extension: ".deb",
      readers: ["7z-twice", "bsdtar-twice"],
      wrap: (content, name) => deb(".gz", gzipSync(tarOf(content, name))),
    },
    "a deb of xz": {
      extension: ".deb",
      readers: ["7z-twice", "bsdtar-twice"],
      wrap: (content, name) => deb(".xz", xz(tarOf(content, name))),
    },
    "a deb of zstd": {
      extension: ".deb",
      readers: ["7z-twice", "bsdtar-twice"],
      wrap: (content, name) => deb(".zst", zstdCompressSync(tarOf(content, name))),
    },
    "a deb of lzma": {
      extension: ".deb",
      readers: ["7z-twice", "bsdtar-twice"],
      wrap: (content, name) => deb(".lzma", lzmaAlone(tarOf(content, name))),
    },
    "a deb of nothing": {
      extension: ".deb",
      readers: ["7z-twice", "bsdtar-twice"],
      wrap: (content, name) => deb("", tarOf(content, name)),
    },
  },
);

function oldCpio(content: Uint8Array, swapped: boolean): Buffer {
  const one = (name: string, data: Uint8Array): Buffer => {
    const size = [data.length >>> 16, data.length & 0xffff];
    const words = [0o070707, 1, 1, 0o100644, 0, 0, 1, 0, 0, 0, name.length + 1, ...size];
    const head = Buffer.concat(words.map((word) => u16(word)));
    return glue(swapped ? head.swap16() : head, padTo(latin1(`${name}\0`), 2), padTo(data, 2));
  };
  return padTo(glue(one("sample.txt", content), one("TRAILER!!!", Buffer.alloc(0))), 512);
}

function odcCpio(content: Uint8Array): Buffer {
  const one = (name: string, data: Uint8Array): Buffer => {
    const fields = [1, 1, 0o100644, 0, 0, 1, 0].map((field) => field.toString(8).padStart(6, "0")).join("");
    const sizes = `${"0".repeat(11)}${(name.length + 1).toString(8).padStart(6, "0")}${data.length.toString(8).padStart(11, "0")}`;
    return glue(`070707${fields}${sizes}${name}\0`, data);
  };
  return padTo(glue(one("sample.txt", content), one("TRAILER!!!", Buffer.alloc(0))), 512);
}

function crcCpio(content: Uint8Array, sum?: number): Buffer {
  const plain = cpio(content);
  const file = patched(plain, plain.lastIndexOf("070701"), latin1("070702"));
  const check = sum ?? content.reduce((total, byte) => (total + byte) >>> 0, 0);
  return patched(patched(file, 0, latin1("070702")), 102, latin1(check.toString(16).padStart(8, "0")));
}

const cpios = containers(
  "cpio and rpm",
  { extension: ".cpio", readers: ["cpio", "bsdtar", "7z"], ordinary: true },
  {
    newc: cpio,
    crc: (content) => crcCpio(content),
    "crc that is wrong": { ordinary: false, wrap: (content) => crcCpio(content, 1) },
    odc: odcCpio,
    binary: (content) => oldCpio(content, false),
    "binary, of the other order": (content) => oldCpio(content, true),
    "two, one after the other": {
      ordinary: false,
      readers: [],
      wrap: (content) => glue(cpio(HARMLESS), Buffer.alloc(512), cpio(content)),
    },
    "no trailer": { ordinary: false, wrap: (content) => cpio(content).subarray(0, -124) },
    "noise behind": { ordinary: false, wrap: (content) => glue(cpio(content), noise(700)) },
    "an rpm of gzip": { extension: ".rpm", readers: ["7z-twice", "bsdtar"], wrap: rpm },
    "an rpm of xz": {
      extension: ".rpm",
      readers: ["7z-twice", "bsdtar"],
      wrap: (content) => glue(rpm(content).subarray(0, 128), xz(cpio(content))),
    },
    "an rpm of zstd": {
      extension: ".rpm",
      readers: ["7z-twice", "bsdtar"],
      wrap: (content) => glue(rpm(content).subarray(0, 128), zstdCompressSync(cpio(content))),
    },
  },
);

/** A cabinet of one folder and one file, in blocks of 32 KB. */
function cabBy(method: number, pack: (block: Buffer, first: boolean) => Buffer, content: Buffer): Buffer {
  const blocks: Buffer[] = [];
  for (let at = 0; at < content.length || at === 0; at += 0x8000) {
    const block = content.subarray(at, at + 0x8000);
    const packed = pack(block, at === 0);
    blocks.push(glue(u32(0), u16(packed.length), u16(block.length), packed));
  }
  const name = latin1("sample.txt\0");
  const start = 36 + 8 + 16 + name.length;
  const data = Buffer.concat(blocks);
  return glue(
    ...["MSCF", u32(0), u32(start + data.length), u32(0), u32(44), u32(0), bytes(3, 1), u16(1), u16(1), u16(0)],
    ...[u16(0), u16(0), u32(start), u16(blocks.length), u16(method)],
    ...[u32(content.length), u32(0), u16(0), u16(0), u16(0), u16(0x20), name, data],
  );
}

const mszip = (content: Buffer): Buffer => cabBy(1, (block) => glue("CK", deflateRawSync(block)), content);
const CAB = { extension: ".cab", readers: ["7z", "cabextract", "bsdtar"] };

const cabs = containers("cab", CAB, {
  stored: { ordinary: true, maxBytes: 30_000, wrap: cab },
  "stored in blocks": { ordinary: true, wrap: (content) => cabBy(0, (block) => block, content) },
  MSZIP: { ordinary: true, wrap: mszip },
  LZX: { ordinary: true, maxBytes: 30_000, wrap: (content) => cabBy(0x1503, (block) => lzxFrame(block), content) },
  "behind a program": (content) => glue("MZ", noise(600), mszip(content)),
  "noise behind": (content) => glue(mszip(content), noise(600)),
  "two, one after the other": { readers: ["cabextract"], wrap: (content) => glue(mszip(HARMLESS), mszip(content)) },
  "a size that is wrong": (content) => patched(mszip(content), 8, u32(60)),
});

/** Level 0, 1 and 2 of LHA's header, stored. */
function lzh(content: Buffer, level: 0 | 1 | 2): Buffer {
  const crc = u16(crc16(content));
  const sizes = glue(u32(content.length), u32(content.length));
  const name = glue(bytes(10), "sample.txt");
  if (level === 2) {
    const head = glue("-lh0-", sizes, u32(0x3b000000), bytes(0x20, 2), crc, "U");
    const extra = glue(u16(13), bytes(1), "sample.txt", u16(0));
    const whole = glue(head, extra, bytes(0));
    return glue(u16(whole.length + 2), whole, content, bytes(0));
  }
  const fields = glue(
    "-lh0-",
    sizes,
    bytes(0, 0, 0x21, 0, 0x20, level),
    name,
    crc,
    level === 1 ? glue("U", u16(0)) : "",
  );
  const sum = fields.reduce((total, byte) => (total + byte) & 0xff, 0);
  return glue(bytes(fields.length, sum), fields, content, bytes(0));
}

function crc16(content: Uint8Array): number {
  let sum = 0;
  for (const byte of content) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? (sum >>> 1) ^ 0xa001 : sum >>> 1;
  }
  return sum;
}

const olds = containers(
  "arj, lzh, iso",
  {},
  {
    "arj, stored": { extension: ".arj", ordinary: true, readers: ["7z", "arj"], wrap: arj },
    "arj behind a program": {
      extension: ".exe",
      readers: ["7z", "arj"],
      wrap: (content) => glue("MZ", noise(900), arj(content)),
    },
    "arj, noise behind": {
      extension: ".arj",
      readers: ["7z", "arj"],
      wrap: (content) => glue(arj(content), noise(300)),
    },
    "lzh, level 0": {
      extension: ".lzh",
      ordinary: true,
      readers: ["7z", "lha", "bsdtar"],
      wrap: (content) => lzh(content, 0),
    },
    "lzh, level 1": {
      extension: ".lzh",
      ordinary: true,
      readers: ["7z", "lha", "bsdtar"],
      wrap: (content) => lzh(content, 1),
    },
    "lzh, level 2": {
      extension: ".lzh",
      readers: ["lha"],
      wrap: (content) => lzh(content, 2),
    },
    "lzh, noise behind": {
      extension: ".lzh",
      readers: ["7z", "lha"],
      wrap: (content) => glue(lzh(content, 0), noise(300)),
    },
    iso: { extension: ".iso", ordinary: true, readers: ["7z", "bsdtar"], wrap: iso },
    "iso with noise behind": {
      extension: ".iso",
      readers: ["7z", "bsdtar"],
      wrap: (content) => glue(iso(content), noise(3000)),
    },
    "a zip before the iso's descriptors": {
      extension: ".iso",
      readers: [],
      wrap: (content) => patched(iso(HARMLESS), 0, gzipSync(content.subarray(0, 20_000))),
      maxBytes: 20_000,
    },
  },
);

export const archives: readonly Container[] = [...ars, ...cpios, ...cabs, ...olds];
