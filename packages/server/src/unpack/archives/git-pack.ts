import { createHash } from "node:crypto";
import { type Blob, piecesOf } from "../blob.ts";
import { byteAt, bytePattern } from "../byte-pattern.ts";
import { emit, type Opener, type Outcome, type Tools } from "../opener.ts";
import { headOf } from "../signature-search.ts";
import { unzlib } from "./packed-parts.ts";

/**
 * What git keeps and sends its objects in. Each is compressed by itself; many are written as the difference from another, and
 * come out as they are in the end. Bundles are packs behind a few lines of text.
 */
export const gitPack: Opener = {
  kind: "git-pack",
  archive: true,
  knownBy: [byteAt(0, "'P'", "'#'")],
  find(content) {
    const head = headOf(content);
    const bundle = BUNDLE.test(head.toString("latin1", 0, 20)) ? afterLines(content) : -1;
    const start = isPack(head) ? 0 : bundle < 0 ? undefined : bundle + 2;
    return start === undefined ? [] : [{ start, end: content.size, sure: true }];
  },
  open(container, tools) {
    const objects: Objects = { byPosition: new Map(), byDigest: new Map(), bytes: 0 };
    const count = headOf(container).readUInt32BE(8);
    let at = PACK_HEADER;
    for (let index = 0; index < count; index += 1) {
      const taken = takeObject(container, at, { objects, tools });
      if (typeof taken !== "number") return taken;
      at += taken;
    }
    const end = at + DIGEST_BYTES;
    return end > container.size ? { kind: "unreadable" } : { kind: "opened", covered: [{ start: 0, end }] };
  },
};

const BUNDLE = /^# v[23] git bundle\n/;
const PACK_AFTER_LINES = Buffer.from("\n\nPACK\0\0\0");
/** Behind a line for each branch and tag, of which there may be thousands. */
function afterLines(content: Blob): number {
  for (const { at, bytes } of piecesOf(content, PIECE_BYTES, PACK_AFTER_LINES.length - 1)) {
    const hit = bytes.indexOf(PACK_AFTER_LINES);
    if (hit >= 0) return at + hit;
  }
  return -1;
}

const PIECE_BYTES = 1024 * 1024;
const isPack = bytePattern("'PACK' 00*3 02-03 ..*4");
const PACK_HEADER = 12;
const DIGEST_BYTES = 20;
const HEADER_BYTES = 64;
const NAMES = ["", "commit", "tree", "blob", "tag"];
const BY_POSITION = 6;
const BY_DIGEST = 7;

/** What differences refer to. */
interface Objects {
  byPosition: Map<number, GitObject>;
  byDigest: Map<string, GitObject>;
  bytes: number;
}

interface GitObject {
  name: string;
  content: Buffer;
}

/** How many bytes the object at a position has in the pack, or why it cannot be read. */
function takeObject(
  container: Blob,
  start: number,
  { objects, tools }: { objects: Objects; tools: Tools },
): number | Outcome {
  const head = container.bytes(start, HEADER_BYTES);
  const type = ((head[0] ?? 0) >> 4) & 7;
  let at = 1;
  while ((head[at - 1] ?? 0) >= 0x80) at += 1;
  let base: GitObject | undefined;
  if (type === BY_POSITION) {
    let distance = (head[at] ?? 0) & 0x7f;
    for (; (head[at] ?? 0) >= 0x80; at += 1) distance = (distance + 1) * 128 + ((head[at + 1] ?? 0) & 0x7f);
    at += 1;
    base = objects.byPosition.get(start - distance);
  }
  if (type === BY_DIGEST) {
    base = objects.byDigest.get(head.toString("hex", at, at + DIGEST_BYTES));
    at += DIGEST_BYTES;
  }
  const unpacked = at <= HEADER_BYTES - DIGEST_BYTES ? unzlib(container, start + at, tools.budget) : undefined;
  if (unpacked === "too-large") return { kind: unpacked };
  if (!unpacked) return { kind: "unreadable" };
  const isDifference = type === BY_POSITION || type === BY_DIGEST;
  const content = isDifference ? base && patched(base.content, unpacked.content) : unpacked.content;
  const name = isDifference ? (base?.name ?? "") : (NAMES[type] ?? "");
  if (!content || name === "") {
    emit(tools.sink, { name: "difference", content: unpacked.content });
    return { kind: "unreadable" };
  }
  emit(tools.sink, { name, content });
  const object = { name, content };
  objects.byPosition.set(start, object);
  objects.byDigest.set(createHash("sha1").update(`${name} ${content.length}\0`).update(content).digest("hex"), object);
  objects.bytes += content.length + OBJECT_BYTES;
  if (objects.bytes > KEPT_BYTES) return { kind: "too-large" };
  return at + unpacked.taken;
}

/** What is kept costs so much besides its content, and may be so much in all: any later object may refer to any of them. */
const OBJECT_BYTES = 300;
const KEPT_BYTES = 128 * 1024 * 1024;

const SHORT_PIECE = 64;

/** The sizes of both, then in turns stretches of the old one and new bytes. Nothing if it makes no sense. */
function patched(base: Buffer, difference: Buffer): Buffer | undefined {
  let at = 0;
  for (let sizes = 0; sizes < 2; sizes += 1) {
    while ((difference[at] ?? 0) >= 0x80) at += 1;
    at += 1;
  }
  let room = Buffer.alloc(Math.min(KEPT_BYTES, base.length + difference.length));
  let bytes = 0;
  /** Pieces are as small as a byte: to keep each of them, or to call for each, would cost a hundred times their size. */
  const add = (from: Buffer, start: number, length: number): void => {
    if (bytes + length > room.length) room = Buffer.concat([room], 2 * (bytes + length));
    if (length > SHORT_PIECE) from.copy(room, bytes, start, start + length);
    else for (let index = 0; index < length; index += 1) room[bytes + index] = from[start + index] as number;
    bytes += length;
  };
  while (at < difference.length) {
    const command = difference[at] as number;
    at += 1;
    if (command < 0x80) {
      if (command === 0 || at + command > difference.length) return undefined;
      add(difference, at, command);
      at += command;
      continue;
    }
    let [offset, size] = [0, 0];
    for (let bit = 0; bit < 7; bit += 1) {
      if (!(command & (1 << bit))) continue;
      const byte = difference[at] ?? 0;
      if (bit < 4) offset += byte * 256 ** bit;
      else size += byte * 256 ** (bit - 4);
      at += 1;
    }
    const length = size === 0 ? 0x10000 : size;
    if (offset + length > base.length) return undefined;
    if (bytes + length > KEPT_BYTES) return undefined;
    add(base, offset, length);
  }
  return room.subarray(0, bytes);
}
