import type { Blob, Range } from "../blob.ts";
import { type Budget, LimitExceeded } from "../budget.ts";
import { byteAt, bytePattern } from "../byte-pattern.ts";
import { inflateRaw } from "../inflate.ts";
import { looksLikeAnother } from "../look-alikes.ts";
import { emit, type Opener, type Outcome, type Tools } from "../opener.ts";
import { headOf, openWithin, placesWithin } from "../signature-search.ts";
import { type CompoundFile, type CompoundStream, readCompoundFile } from "./compound-file.ts";
import { type PackageCipher, packageCipher } from "./office-crypto.ts";

/**
 * Compound files (OLE): .doc, .xls, .ppt, .msg, .msi. Every stream is a member, named as 7-Zip names it. What no stream uses
 * comes out too: sectors that are free by the table, and what stands behind the end of a stream in its last sector. Programs
 * leave parts of older versions of the document there.
 */
export const ole: Opener = {
  kind: "ole",
  archive: true,
  scattered: true,
  knownBy: [byteAt(0, "d0")],
  find: (content) => (SIGNATURE(headOf(content)) ? [{ start: 0, end: content.size, sure: true }] : []),
  open,
};

/** The same anywhere in another content. */
export const embeddedOle: Opener = {
  kind: "ole",
  archive: true,
  find: (content) =>
    placesWithin(content, "compound", (position) => {
      const header = content.bytes(position, HEADER_BYTES);
      return header.length === HEADER_BYTES && header.readUInt16LE(28) === 0xfffe ? position : undefined;
    }),
  open: openWithin(open),
};

const SIGNATURE = bytePattern("d0 cf 11 e0 a1 b1 1a e1");
const HEADER_BYTES = 512;

/** By the book as far as clamd is concerned: version 3, sectors of 512 and 64 bytes, and zeros where it insists on them. */
const PLAIN = bytePattern("03 00 fe ff 09 00 06 00 00 00 00 00 00 00");

function open(container: Blob, tools: Tools): Outcome {
  const { budget, sink } = tools;
  const file = readCompoundFile(container, budget);
  if (!file) return { kind: "unreadable" };
  const isPlain = PLAIN(container.bytes(26, 14)) && !looksLikeAnother(container, "ole");
  const isHwp = hasHwpHeader(container, file, budget);
  let isDamaged = file.damaged;
  const taken = new Map<string, number>();
  let steps = file.entrySteps;
  for (const stream of file.streams) {
    const key = `${stream.start} ${stream.size} ${stream.mini}`;
    const known = taken.get(key);
    steps += known ?? 0;
    if (known !== undefined) continue;
    const measured = file.measure(stream);
    taken.set(key, measured.steps);
    steps += measured.steps;
    const missing = stream.size - measured.size;
    if (missing > 0 && stream.listed) isDamaged = true;
    const way = isPlain && stream.listed && missing === 0 ? "ole" : undefined;
    sink.begin(stream.path, way);
    write(container, file.placesOf(stream), tools);
    sink.end();
    if (isHwp && HWP_DEFLATED.test(stream.path)) takeDeflated(container, file, { stream, tools });
  }
  giveUnused(container, file, tools);
  const crowded = steps > STEPS_AT_MOST;
  const isRightsManaged = file.streams.some(({ name }) => name.toLowerCase() === RIGHTS_MANAGED);
  if (isRightsManaged || !takePackages(container, file, tools)) return { kind: "encrypted", crowded };
  if (isDamaged) return { kind: "unreadable", crowded };
  const isDecrypted = file.streams.some(({ name }) => name.toLowerCase() === ENCRYPTED_PACKAGE);
  return { kind: "opened", covered: [{ start: 0, end: file.end() }], crowded, ...(isDecrypted && { decrypted: true }) };
}

/**
 * For each short sector clamd goes along the chain of all of them from its beginning, which takes the square of their number:
 * 4 MB of short streams take it a minute or five seconds, by how busy the machine is. So many steps take it less than three.
 */
const STEPS_AT_MOST = 20_000_000;

/** A stream in one piece, or as much of it as one may have in memory. */
function contentOf(
  container: Blob,
  file: CompoundFile,
  { stream, most }: { stream: CompoundStream; most: number },
): Buffer {
  const pieces: Buffer[] = [];
  let left = most;
  for (const { start, end } of file.placesOf(stream)) {
    pieces.push(container.bytes(start, Math.min(left, end - start)));
    left -= end - start;
    if (left <= 0) break;
  }
  return Buffer.concat(pieces);
}

/** In this stream Office keeps what only some people may read. */
const RIGHTS_MANAGED = "[9]drmcontent";

const ENCRYPTED_PACKAGE = "encryptedpackage";

/** The documents of today in here, which Office has encrypted. False if one could not be decrypted. */
function takePackages(container: Blob, file: CompoundFile, { sink, budget }: Tools): boolean {
  const most = budget.limits.memberInMemoryBytes;
  // Names are the same in capitals. Of several with one name only the reader knows which one it takes.
  const named = (wanted: string): CompoundStream[] => file.streams.filter(({ name }) => name.toLowerCase() === wanted);
  const packages = named(ENCRYPTED_PACKAGE);
  if (packages.length === 0) return true;
  const descriptions = named("encryptioninfo");
  if (packages.length > PACKAGES_AT_MOST || descriptions.length > PACKAGES_AT_MOST) return false;
  const infos = descriptions.map((stream) => contentOf(container, file, { stream, most: INFO_BYTES }));
  const distinct = [...new Map(infos.map((info) => [info.toString("latin1"), info])).values()];
  const ciphers = distinct.map((info) => packageCipher(info, budget));
  if (ciphers.length === 0) return false;
  for (const stream of packages) {
    if (stream.size > most) return false;
    const packed = contentOf(container, file, { stream, most });
    for (const cipher of ciphers) {
      budget.addWork(packed.length);
      const plain = cipher && decrypted(packed, cipher);
      // It is a zip, or was not encrypted by this key.
      if (plain?.toString("latin1", 0, 2) !== "PK") return false;
      // The size stands in front. Some readers go by it and cut what was filled up.
      const stated = packed.readUInt32LE(0);
      emit(sink, { name: "decrypted", content: plain.subarray(0, stated) });
      if (stated + BLOCK_BYTES <= plain.length) emit(sink, { name: "decrypted", content: plain });
    }
  }
  return true;
}

function decrypted(packed: Buffer, { segmentBytes, decrypt }: PackageCipher): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 8; at < packed.length; at += segmentBytes) {
    pieces.push(decrypt(packed.subarray(at, at + segmentBytes), pieces.length));
  }
  return Buffer.concat(pieces);
}

const INFO_BYTES = 64 * 1024;
const PACKAGES_AT_MOST = 4;
/** What is encrypted is filled up to whole blocks. */
const BLOCK_BYTES = 16;

/** Hangul Word Processor deflates the streams with these names, if its header says so. */
const HWP_DEFLATED = /^(DocInfo$|(BodyText|BinData|Scripts|DocHistory|XMLTemplate)\/)/i;

function hasHwpHeader(container: Blob, file: CompoundFile, budget: Budget): boolean {
  const stream = file.streams.find(({ path }) => path.toLowerCase() === "fileheader");
  const header = stream ? contentOf(container, file, { stream, most: HEADER_BYTES }) : Buffer.alloc(0);
  budget.addWork(header.length);
  return (
    header.length >= 40 &&
    header.toString("latin1", 0, 17) === "HWP Document File" &&
    (header.readUInt32LE(36) & 1) === 1
  );
}

/** As it is without compression; some are not compressed, whatever the header says. */
function takeDeflated(
  container: Blob,
  file: CompoundFile,
  { stream, tools }: { stream: CompoundStream; tools: Tools },
): void {
  const packed = contentOf(container, file, { stream, most: tools.budget.limits.memberInMemoryBytes });
  const inflated = inflateRaw(packed, tools.budget);
  if (inflated.kind === "too-large") throw new LimitExceeded("unpacked bytes of one member");
  if (inflated.content.length > 0) emit(tools.sink, { name: `${stream.path} inflated`, content: inflated.content });
}

function write(container: Blob, places: Iterable<Range>, { sink, budget }: Tools): void {
  for (const { start, end } of places) {
    budget.addWork(end - start);
    sink.write(container.bytes(start, end - start));
  }
}

/** So many stretches of unused sectors are members of their own, as they were when they belonged to something. */
const STRETCHES_AT_MOST = 64;
const PIECE_BYTES = 64 * 1024;
const LEAST_BYTES = 16;

function giveUnused(container: Blob, file: CompoundFile, tools: Tools): void {
  const unused = file.unused();
  const stretches = unused.sectors.flatMap((range) => withoutPadding(container, range, tools) ?? []);
  const rest = unused.rest.filter((range) => withoutPadding(container, range, tools));
  const groups = stretches.length > STRETCHES_AT_MOST ? [stretches] : stretches.map((range) => [range]);
  for (const group of [...groups, rest]) {
    if (group.length === 0) continue;
    tools.sink.begin(group === rest ? "slack" : `unused from ${group[0]?.start}`, undefined, { leftover: true });
    for (const range of group) write(container, piecesOf(range), tools);
    tools.sink.end();
  }
}

function* piecesOf({ start, end }: Range): Generator<Range> {
  for (let at = start; at < end; at += PIECE_BYTES) yield { start: at, end: Math.min(end, at + PIECE_BYTES) };
}

/**
 * From the first sector on that has something in it: empty ones hold zeros, or ones where sectors are numbered. Nothing if
 * there is less in all of it than anything could be made of.
 */
function withoutPadding(container: Blob, range: Range, { budget }: Tools): Range | undefined {
  let first: number | undefined;
  let count = 0;
  for (const { start, end } of piecesOf(range)) {
    const piece = container.bytes(start, end - start);
    budget.addWork(piece.length);
    for (let at = 0; at < piece.length; at += 1) {
      if (piece[at] === 0 || piece[at] === 0xff) continue;
      first ??= start + at - ((start + at - range.start) % HEADER_BYTES);
      count += 1;
      if (count === LEAST_BYTES) return { start: first, end: range.end };
    }
  }
  return undefined;
}
