import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { be32, bytes, type Container, containers, glue, HARMLESS, latin1, padTo, u16, u32 } from "./container.ts";
import { tarOf } from "./tars.ts";

/** Formats that are little more than a list and what it lists, written by hand. */

const be16 = (value: number): Buffer => u16(value).reverse();

/** An archive of Electron. The list is JSON; places count from where it ends. */
export function asarOf(list: unknown, ...files: Buffer[]): Buffer {
  const json = Buffer.from(JSON.stringify(list));
  const padded = padTo(json, 4);
  return glue(u32(4), u32(padded.length + 8), u32(padded.length + 4), u32(json.length), padded, ...files);
}

export const romfsHead: Buffer = glue("-rom1fs-", be32(1024), be32(0), padTo(latin1("disk\0"), 16));

/** A file of romfs: the next one and the kind in one number, where a folder begins, the size, a checksum, the name. */
export function romfsFile(next: number, file: { first?: number; name?: string; content?: Buffer }): Buffer {
  const { first = 0, name = "a", content = Buffer.alloc(0) } = file;
  const head = glue(be32(next), be32(first), be32(content.length), be32(0), padTo(latin1(`${name}\0`), 16));
  return padTo(glue(head, content), 16);
}

/** AppleSingle or AppleDouble, by its mark: the data and the resources of a file. */
export function appleOf(mark: string, data: Buffer, resources: Buffer): Buffer {
  const start = 26 + 24;
  const entries = [1, start, data.length, 2, start + data.length, resources.length].map(be32);
  return glue(Buffer.from(mark, "hex"), be32(0x20000), Buffer.alloc(16), be16(2), ...entries, data, resources);
}

export function macBinaryOf(data: Buffer, checksum: number): Buffer {
  const head = Buffer.alloc(128);
  head.write("\x08file.txtTEXTttxt", 1, "latin1");
  head.write("TEXTttxt", 65);
  head.writeUInt32BE(data.length, 83);
  head.writeUInt32BE(9, 87);
  head.writeUInt16BE(checksum, 124);
  return glue(head, padTo(data, 128), padTo(latin1("resources"), 128));
}

export function woffOf(packed: Buffer, size: number): Buffer {
  const head = glue("wOFF", be32(0x10000), be32(0), be16(1), Buffer.alloc(30));
  return glue(head, "glyf", be32(64), be32(packed.length), be32(size), be32(0), packed);
}

/** The type and the size of an object of git, four and then seven bits at a time. */
export function gitObjectHead(type: number, size: number): Buffer {
  const head = [(type << 4) | (size & 15) | (size > 15 ? 0x80 : 0)];
  for (let left = size >> 4; left > 0; left >>= 7) head.push((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
  return Buffer.from(head);
}

export function gitPackOf(...objects: Buffer[]): Buffer {
  return glue("PACK", be32(2), be32(objects.length), ...objects, Buffer.alloc(20));
}

const gitBlob = (content: Buffer): Buffer => glue(gitObjectHead(3, content.length), deflateSync(content));

export function lbrOf(content: Buffer): Buffer {
  const entry = (name: string, index: number, { sectors, pad = 0 }: { sectors: number; pad?: number }): Buffer =>
    padTo(glue("\0", name.padEnd(11), u16(index), u16(sectors), Buffer.alloc(10), bytes(pad)), 32);
  const sectors = Math.ceil(content.length / 128);
  const list = glue(
    entry("", 0, { sectors: 1 }),
    entry("A       TXT", 1, { sectors, pad: sectors * 128 - content.length }),
  );
  return glue(padTo(list, 128), content);
}

/** A library of AIX. Of a member: size, next, previous, date, user, group, mode, length of the name. */
export function aixOf(...contents: Buffer[]): Buffer {
  let at = 128;
  const members = contents.map((content, index) => {
    const length = 112 + 6 + 2 + content.length + (content.length % 2);
    const next = index === contents.length - 1 ? 0 : at + length;
    const numbers = [content.length, next, 0].map((value) => `${value}`.padEnd(20)).join("");
    at += length;
    return padTo(glue(numbers, "0".padEnd(12).repeat(4), "5   ", "name.\0`\n", content), 2);
  });
  const numbers = [0, 0, 0, 128, 0, 0].map((value) => `${value}`.padEnd(20)).join("");
  return glue("<bigaf>\n", numbers, ...members);
}

/** One block of literals. */
export function mozLz4Of(content: Buffer): Buffer {
  const more = content.length - 15;
  const lengths = glue(Buffer.alloc(Math.floor(more / 255), 255), bytes(more % 255));
  return glue("mozLz40\0", u32(content.length), bytes(0xf0), lengths, content);
}

/** A picture with a compressed text. */
function pngOf(content: Buffer): Buffer {
  const chunk = (type: string, inside: Buffer): Buffer => glue(be32(inside.length), type, inside, be32(0));
  const text = glue("Comment\0\0", deflateSync(content));
  return glue(
    "\x89PNG\r\n\x1a\n",
    chunk("IHDR", Buffer.alloc(13)),
    chunk("zTXt", text),
    chunk("IEND", Buffer.alloc(0)),
  );
}

/** A tar whose first header, of the oldest form, has a wrong checksum. */
function damagedFirst(content: Buffer, name: string): Buffer {
  const first = Buffer.from(tarOf(HARMLESS, "first")).subarray(0, 1024);
  first.fill(0, 257, 265);
  return glue(first, tarOf(content, name));
}

function inHalves(content: Buffer): Buffer {
  const middle = content.length >> 1;
  return glue(gzipSync(content.subarray(0, middle)), gzipSync(content.subarray(middle)));
}

export const smallKinds: readonly Container[] = containers(
  "small archives",
  { ordinary: true },
  {
    asar: {
      extension: ".asar",
      wrap: (content) => asarOf({ files: { a: { files: { b: { size: content.length, offset: "0" } } } } }, content),
    },
    romfs: (content) => glue(romfsHead, romfsFile(0x02, { content })),
    AppleDouble: (content) => appleOf("00051607", content, HARMLESS),
    "AppleSingle, in the resources": (content) => appleOf("00051600", HARMLESS, content),
    MacBinary: (content) => macBinaryOf(content, 0),
    LBR: { maxBytes: 2 ** 16, wrap: lbrOf },
    "a backup of Android": (content, name) => glue("ANDROID BACKUP\n5\n1\nnone\n", deflateSync(tarOf(content, name))),
    "a font for the web": { extension: ".woff", wrap: (content) => woffOf(deflateSync(content), content.length * 100) },
    "a pack of git": (content) => gitPackOf(gitBlob(HARMLESS), gitBlob(content)),
    "a bundle of git": (content) => glue("# v2 git bundle\n0 HEAD\n\n", gitPackOf(gitBlob(content))),
    "a library of AIX": (content) => aixOf(HARMLESS, content),
    mozLz4: mozLz4Of,
    "the text of a picture": { extension: ".png", wrap: pngOf },
    "a tar in two streams of gzip": (content, name) => inHalves(tarOf(content, name)),
    "a tar with a damaged first header": { ordinary: false, wrap: damagedFirst },
    "brotli with a byte behind it": { ordinary: false, wrap: (content) => glue(brotliCompressSync(content), "x") },
  },
);
