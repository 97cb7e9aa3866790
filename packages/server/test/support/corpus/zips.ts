import { constants, deflateRawSync, zstdCompressSync } from "node:zlib";
import {
  deflated,
  encrypted,
  type Member,
  packedAs,
  stored,
  withDescriptor,
  withZip64,
  type ZipShape,
  zip,
} from "../zip-writer.ts";
import {
  bytes,
  type Container,
  containers,
  glue,
  HARMLESS,
  latin1,
  madeBy,
  noise,
  patched,
  u16,
  u64,
} from "./container.ts";
import { lzmaInZip, xz } from "./lzma-writer.ts";
import { implode, reduce, shrink } from "./old-coders.ts";

/** Zip files as programs write them, in all methods and header forms. */

const READERS = ["7z", "unzip", "bsdtar", "python-zip", "bsdtar-stream", "busybox-unzip"];
const ENDS = { extension: ".zip", readers: READERS };

export const other = (): Member => deflated("notes.txt", HARMLESS);

function bySevenZip(...flags: string[]): { needs: string[]; wrap: (content: Buffer, name: string) => Buffer } {
  const wrap = (content: Buffer, name: string): Buffer =>
    madeBy([["7z", "a", "-bso0", "-bsp0", "-tzip", ...flags, "out.zip", `./in/${name}`]], {
      content,
      name,
      target: "out.zip",
    });
  return { needs: ["7z"], wrap };
}

/** One member, alone, by a method. */
function by(
  method: number,
  pack: (content: Buffer) => Uint8Array,
  flags = 0,
): (content: Buffer, name: string) => Buffer {
  return (content, name) =>
    zip([{ ...packedAs(method, { name, packed: pack(content), content }), version: 63, flags }]);
}

/** Deflate in blocks that the other end was sent early. */
function flushed(content: Buffer): Buffer {
  const half = content.length >> 1;
  const first = deflateRawSync(content.subarray(0, half), { finishFlush: constants.Z_SYNC_FLUSH });
  return Buffer.concat([first, deflateRawSync(content.subarray(half))]);
}

const methods = containers(
  "zip: methods",
  { ...ENDS, ordinary: true },
  {
    stored: (content, name) => zip([stored(name, content)]),
    deflate: (content, name) => zip([deflated(name, content)]),
    "deflate between others": (content, name) => zip([other(), deflated(name, content), stored("mimetype", HARMLESS)]),
    "deflate by fixed codes": by(8, (content) => deflateRawSync(content, { strategy: constants.Z_FIXED })),
    "deflate that packs nothing": by(8, (content) => deflateRawSync(content, { level: 0 })),
    "deflate flushed half-way": by(8, flushed),
    "deflate by codes alone": by(8, (content) => deflateRawSync(content, { strategy: constants.Z_HUFFMAN_ONLY })),
    "deflate64 by codes alone": by(9, (content) => deflateRawSync(content, { strategy: constants.Z_HUFFMAN_ONLY })),
    deflate64: bySevenZip("-mm=Deflate64"),
    bzip2: bySevenZip("-mm=BZip2"),
    lzma: bySevenZip("-mm=LZMA"),
    "lzma with an end marker": by(14, (content) => lzmaInZip(content, true), 2),
    "lzma without an end marker": by(14, (content) => lzmaInZip(content, false)),
    ppmd: bySevenZip("-mm=PPMd"),
    xz: by(95, (content) => xz(content)),
    zstd: by(93, (content) => zstdCompressSync(content)),
    "zstd by its old number": { ordinary: false, readers: [], wrap: by(20, (content) => zstdCompressSync(content)) },
    shrink: { ordinary: false, wrap: by(1, shrink) },
    reduce: { ordinary: false, readers: [], wrap: by(2, reduce) },
    implode: { ordinary: false, wrap: by(6, implode) },
  },
);

const locked = containers(
  "zip: encrypted",
  { extension: ".zip", locked: true },
  {
    "by PKZIP's cipher": (content, name) => zip([encrypted(name, content, "secret")]),
    "by PKZIP's cipher beside a readable one": (content, name) => zip([other(), encrypted(name, content, "secret")]),
    "by AES": bySevenZip("-psecret", "-mem=AES256"),
  },
);

const both = (content: Buffer, name: string): Member => withZip64(deflated(name, content), "both");

const headers = containers(
  "zip: zip64 and descriptors",
  { ...ENDS, ordinary: true },
  {
    "zip64 in both headers": (content, name) => zip([both(content, name)], { zip64End: true }),
    "zip64 in both headers, small end": (content, name) => zip([both(content, name)]),
    "zip64 in the local header": (content, name) => zip([withZip64(deflated(name, content), "local")]),
    "zip64 in the directory": (content, name) => zip([withZip64(deflated(name, content), "central")]),
    "zip64 stored": (content, name) => zip([withZip64(stored(name, content), "both")], { zip64End: true }),
    "zip64 end alone": (content, name) => zip([deflated(name, content)], { zip64End: true }),
    "zip64 end that alone tells the number": (content, name) =>
      zip([deflated(name, content)], {
        zip64End: true,
        end: { entries: 0xffff, entriesHere: 0xffff, directoryBytes: 0xffffffff, directoryOffset: 0xffffffff },
      }),
    "a descriptor": (content, name) => zip([withDescriptor(deflated(name, content))]),
    "a descriptor without its mark": (content, name) => {
      const member = withDescriptor(deflated(name, content));
      return zip([{ ...member, descriptor: member.descriptor.subarray(4) }, other()]);
    },
    "a descriptor of zip64": (content, name) => {
      const member = withDescriptor(deflated(name, content));
      const sizes = glue(u64(member.packedBytes), u64(member.unpackedBytes));
      return zip([{ ...member, version: 45, descriptor: glue(member.descriptor.subarray(0, 8), sizes) }, other()]);
    },
    "descriptors of several": (content, name) => zip([other(), deflated(name, content), other()].map(withDescriptor)),
    "a descriptor after stored": (content, name) => zip([withDescriptor(stored(name, content)), other()]),
    "a descriptor after sizes that are there": (content, name) => {
      const member = withDescriptor(deflated(name, content));
      return zip([{ ...member, local: {} }]);
    },
  },
);

/** The members alone, without a directory. */
export function bodyOf(...members: Member[]): Buffer {
  const file = zip(members);
  return file.subarray(0, file.readUInt32LE(file.length - 6));
}

const hiddenIn =
  (shape: (hidden: Buffer) => ZipShape) =>
  (content: Buffer, name: string): Buffer =>
    zip([other()], shape(bodyOf(deflated(name, content))));

const STREAM = { extension: ".zip", readers: ["bsdtar-stream", "7z", "unzip"] };

const unlisted = containers("zip: members not listed", STREAM, {
  "before the listed one": hiddenIn((hidden) => ({ prefix: hidden, prefixCounted: true })),
  "before, not counted": hiddenIn((hidden) => ({ prefix: hidden })),
  "after the listed one": hiddenIn((hidden) => ({ beforeDirectory: hidden })),
  "between the directory and its end": { readers: [], wrap: hiddenIn((hidden) => ({ beforeEnd: hidden })) },
  "in the comment": { readers: [], wrap: hiddenIn((hidden) => ({ comment: hidden })) },
  "after the end": { readers: [], wrap: hiddenIn((hidden) => ({ trailing: hidden })) },
  "stored, before the listed one": (content, name) =>
    zip([other()], { prefix: bodyOf(stored(name, content)), prefixCounted: true }),
  "streamed, after the listed one": (content, name) =>
    zip([other()], { beforeDirectory: bodyOf(withDescriptor(deflated(name, content))) }),
  "no directory at all": (content, name) => bodyOf(other(), deflated(name, content)),
  "a directory that is empty": (content, name) => {
    const end = zip([]);
    return glue(bodyOf(deflated(name, content)), end);
  },
  "cut in the directory": (content, name) => zip([other(), deflated(name, content)]).subarray(0, -60),
  "an end that tells no entries": (content, name) =>
    zip([deflated(name, content)], { end: { entries: 0, entriesHere: 0 } }),
  "an end that tells fewer entries": (content, name) =>
    zip([other(), deflated(name, content)], { end: { entries: 1, entriesHere: 1 } }),
  "an end that tells more entries": (content, name) =>
    zip([deflated(name, content)], { end: { entries: 7, entriesHere: 7 } }),
  "an end that tells another offset": (content, name) =>
    zip([deflated(name, content)], { end: { directoryOffset: 3 } }),
});

/** What one header says instead, of an honest member between two others. */
const lying =
  (lie: (member: Member) => Partial<Member>) =>
  (content: Buffer, name: string): Buffer => {
    const member = deflated(name, content);
    return zip([other(), { ...member, ...lie(member) }, other()]);
  };

const disagreeing = containers(
  "zip: headers that disagree",
  { ...ENDS },
  {
    "the directory says stored": lying(() => ({ central: { method: 0 } })),
    "the local header says stored": lying(() => ({ local: { method: 0 } })),
    "the local header says lzma": lying(() => ({ local: { method: 14 } })),
    "the directory says a smaller size": lying(() => ({ central: { unpackedBytes: 10 } })),
    "the local header says a smaller size": lying(() => ({ local: { unpackedBytes: 10 } })),
    "the local header says a smaller packed size": lying(() => ({ local: { packedBytes: 10 } })),
    "the directory says a smaller packed size": lying(() => ({ central: { packedBytes: 10 } })),
    "the local header says no sizes": lying(() => ({ local: { packedBytes: 0, unpackedBytes: 0, crc: 0 } })),
    "the local header says huge sizes": lying(() => ({
      local: { packedBytes: 0x7fffffff, unpackedBytes: 0x7fffffff },
    })),
    "the directory says no sizes": lying(() => ({ central: { packedBytes: 0, unpackedBytes: 0 } })),
    "both say a size too small": lying(() => ({ unpackedBytes: 20 })),
    "both say a size too large": lying((member) => ({ unpackedBytes: member.unpackedBytes + 1000 })),
    "the directory says encrypted": lying(() => ({ central: { flags: 1 } })),
    "the local header says encrypted": lying(() => ({ local: { flags: 1 } })),
    "the directory points to another member": lying(() => ({ central: { offset: 0 } })),
    "the directory points behind the file": lying(() => ({ central: { offset: 0x00ffffff } })),
    "the local header has another name": (content, name) => {
      const file = zip([deflated(name, content)]);
      return patched(file, 30, latin1("x".repeat(name.length)));
    },
    "a wrong checksum in both": lying(() => ({ crc: 0x12345678 })),
    "a wrong checksum in the local header": lying(() => ({ local: { crc: 1 } })),
    "a checksum of zero": lying(() => ({ crc: 0 })),
    "bytes after the packed stream, counted": (content, name) => {
      const packed = glue(deflateRawSync(content), noise(100));
      return zip([packedAs(8, { name, packed, content }), other()]);
    },
    "a descriptor that lies": (content, name) => {
      const member = withDescriptor(deflated(name, content));
      return zip([{ ...member, descriptor: patched(member.descriptor as Buffer, 4, Buffer.alloc(12, 9)) }, other()]);
    },
    "a broken mark in the directory": (content, name) => {
      const file = zip([deflated(name, content)]);
      return patched(file, file.lastIndexOf(latin1("PK\x01\x02")), bytes(0));
    },
    "a directory flag on extra that is cut": lying(() => ({ extra: glue(u16(0x7075), u16(500), bytes(1)) })),
    "an extra field of zip64 that nobody asked for": lying((member) => ({
      extra: glue(u16(1), u16(16), u64(5), u64(member.packedBytes)),
    })),
    "zip64 sizes that lie": (content, name) => {
      const member = withZip64(deflated(name, content), "both");
      return zip([{ ...member, local: { ...member.local, extra: glue(u16(1), u16(16), u64(1), u64(1)) } }]);
    },
    "a patch in the middle of the checksum": lying((member) => ({ central: { crc: (member.crc ^ 0xffff) >>> 0 } })),
    "a method that nobody knows in the directory": lying(() => ({ central: { method: 77 } })),
    "a large version": lying(() => ({ version: 0xffff })),
    "another disk": (content, name) => zip([deflated(name, content)], { end: { disk: 3 } }),
  },
);

export const zips: readonly Container[] = [...methods, ...locked, ...headers, ...unlisted, ...disagreeing];
