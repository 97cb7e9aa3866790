import type { Blob } from "../blob.ts";
import { byteAt, bytePattern } from "../byte-pattern.ts";
import type { Opener, Tools } from "../opener.ts";
import { headOf } from "../signature-search.ts";
import { openFrames, type SlidingOutput } from "./lz4.ts";

/** Files of lzop: one or more, each with its header and blocks of LZO. */
export const lzop: Opener = {
  kind: "lzop",
  archive: true,
  knownBy: [byteAt(0, "89")],
  find: (content) => (isLzop(headOf(content)) ? [{ start: 0, end: content.size, sure: true }] : []),
  open: (container, tools) =>
    openFrames(container, tools, (at, output) => {
      const header = headerAt(container, at);
      if (!header) return undefined;
      const end = readBlocks(container, header, { output, tools });
      return { kind: "frame", at: end ?? container.size, damaged: end === undefined };
    }),
};

const isLzop = bytePattern("89 'LZO' 00 0d 0a 1a 0a");
const MAGIC_BYTES = 9;
/** The version from which a header says which version is needed, the level, and the time in eight bytes. */
const NEW_VERSION = 0x940;
const FLAG = { adlerOut: 1, adlerIn: 2, extra: 0x40, crcOut: 0x100, crcIn: 0x200, filter: 0x800 } as const;
/** Three of LZO's, which unpack alike. */
const METHODS: readonly number[] = [1, 2, 3];
/** Everything but the extra field. */
const HEADER_AT_MOST = 512;
/** The program takes no larger ones. */
const BLOCK_BYTES = 64 * 1024 * 1024;
const WORD = 4;

interface Header {
  end: number;
  flags: number;
  isKnown: boolean;
}

function headerAt(container: Blob, start: number): Header | undefined {
  const head = container.bytes(start, HEADER_AT_MOST);
  if (!isLzop(head) || head.length < MAGIC_BYTES + 25) return undefined;
  const isNew = head.readUInt16BE(MAGIC_BYTES) >= NEW_VERSION;
  let at = MAGIC_BYTES + (isNew ? 6 : 4);
  const method = head.readUInt8(at);
  at += isNew ? 2 : 1;
  const flags = head.readUInt32BE(at);
  at += WORD + (flags & FLAG.filter ? WORD : 0) + (isNew ? 12 : 8);
  // The name, and a checksum.
  at += 1 + (head[at] ?? 0) + WORD;
  if (flags & FLAG.extra) {
    const length = container.bytes(start + at, WORD);
    at += WORD + (length.length < WORD ? 0 : length.readUInt32BE(0)) + WORD;
  }
  return { end: start + at, flags, isKnown: METHODS.includes(method) && (flags & FLAG.filter) === 0 };
}

/** Says where the blocks end, or nothing if they break off. */
function readBlocks(
  container: Blob,
  { end, flags, isKnown }: Header,
  { output, tools }: { output: SlidingOutput; tools: Tools },
): number | undefined {
  const always = (flags & FLAG.adlerOut ? WORD : 0) + (flags & FLAG.crcOut ? WORD : 0);
  const packedOnly = (flags & FLAG.adlerIn ? WORD : 0) + (flags & FLAG.crcIn ? WORD : 0);
  for (let at = end; ; ) {
    const head = container.bytes(at, WORD * 2);
    if (head.length >= WORD && head.readUInt32BE(0) === 0) return at + WORD;
    if (head.length < WORD * 2 || !isKnown) return undefined;
    const [size, packedSize] = [head.readUInt32BE(0), head.readUInt32BE(WORD)];
    if (packedSize > Math.min(BLOCK_BYTES, tools.budget.limits.memberInMemoryBytes)) return undefined;
    const start = at + WORD * 2 + always + (packedSize < size ? packedOnly : 0);
    const block = container.bytes(start, packedSize);
    tools.budget.addWork(block.length + BLOCK_WORK);
    // Each block is packed by itself.
    output.forget();
    if (packedSize >= size) output.bytes(block, 0, packedSize);
    else if (!readLzo(block, output)) return undefined;
    if (block.length < packedSize) return undefined;
    at = start + packedSize;
  }
}

const BLOCK_WORK = 64;
/** What a short reference means depends on what came before it: a reference, so many literals, or a long run of these. */
const AFTER_RUN = 4;

/** LZO1X. Says whether it made sense up to its end mark. */
function readLzo(block: Buffer, output: SlidingOutput): boolean {
  let at = 0;
  let state = 0;
  const next = (): number => {
    at += 1;
    return block[at - 1] ?? 0;
  };
  /** A length of zero goes on in the next bytes. */
  function longer(length: number, full: number): number {
    if (length > 0) return length;
    let sum = full;
    let byte = 0;
    while (at < block.length && byte === 0) {
      byte = next();
      sum += byte === 0 ? 255 : byte;
    }
    return sum;
  }
  function literals(count: number, after: number): void {
    output.bytes(block, at, at + count);
    at += count;
    state = after;
  }

  const first = block[0] ?? 0;
  if (first > 17) {
    at = 1;
    literals(first - 17, Math.min(first - 17, AFTER_RUN));
  }
  while (at < block.length) {
    const token = next();
    let [distance, length, trailing] = [0, 0, token & 3];
    if (token >= 64) {
      length = (token >> 5) + 1;
      distance = 1 + ((token >> 2) & 7) + next() * 8;
    } else if (token >= 16) {
      const isNear = token >= 32;
      length = 2 + (isNear ? longer(token & 31, 31) : longer(token & 7, 7));
      const word = next() + next() * 256;
      trailing = word & 3;
      distance = isNear ? 1 + (word >> 2) : ((token & 8) << 11) + (word >> 2);
      if (!isNear && distance === 0) return at <= block.length;
      if (!isNear) distance += 0x4000;
    } else if (state === 0) {
      literals(longer(token, 15) + 3, AFTER_RUN);
      continue;
    } else {
      length = state === AFTER_RUN ? 3 : 2;
      distance = 1 + (token >> 2) + next() * 4 + (state === AFTER_RUN ? 0x800 : 0);
    }
    if (at > block.length || !output.repeat(distance, length)) return false;
    literals(trailing, trailing);
  }
  return false;
}
