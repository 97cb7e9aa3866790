import type { Blob } from "../blob.ts";
import { byteAt, bytePattern } from "../byte-pattern.ts";
import type { Opener, Tools } from "../opener.ts";
import { headOf } from "../signature-search.ts";
import { openFrames, type SlidingOutput } from "./lz4.ts";

/** Files of Snappy in its framing format (`.sz`): chunks, of which the first says what it is. */
export const snappy: Opener = {
  kind: "snappy",
  archive: true,
  knownBy: [byteAt(0, "ff")],
  find: (content) => (isSnappy(headOf(content)) ? [{ start: 0, end: content.size, sure: true }] : []),
  open: (container, tools) =>
    openFrames(container, tools, (at, output) =>
      isSnappy(container.bytes(at, 10))
        ? { kind: "frame", ...readChunks(container, at, { output, tools }) }
        : undefined,
    ),
};

const isSnappy = bytePattern("ff 06 00 00 'sNaPpY'");
const CHUNK = { packed: 0, plain: 1, firstSkipped: 0x80, padding: 0xfe } as const;
const CHUNK_HEADER = 4;
const CHECKSUM_BYTES = 4;
const CHUNK_WORK = 64;

function readChunks(
  container: Blob,
  start: number,
  { output, tools }: { output: SlidingOutput; tools: Tools },
): { at: number; damaged: boolean } {
  for (let at = start; ; ) {
    const head = container.bytes(at, CHUNK_HEADER);
    const type = head[0] ?? CHUNK.padding;
    const isStart = isSnappy(container.bytes(at, 10));
    // What is no chunk that anybody knows is left over.
    if (head.length < CHUNK_HEADER || (type > CHUNK.plain && type < CHUNK.padding) || (type === 0xff && !isStart))
      return { at, damaged: false };
    const length = head.readUIntLE(1, 3);
    const chunk = container.bytes(at + CHUNK_HEADER, length);
    tools.budget.addWork(chunk.length + CHUNK_WORK);
    const content = chunk.subarray(CHECKSUM_BYTES);
    output.forget();
    if (type === CHUNK.plain) output.bytes(content, 0, content.length);
    else if (type === CHUNK.packed && !readBlock(content, output)) return { at, damaged: true };
    if (chunk.length < length) return { at, damaged: true };
    at += CHUNK_HEADER + length;
  }
}

/** The size, then literals and references. Says whether all of it made sense. */
function readBlock(block: Buffer, output: SlidingOutput): boolean {
  let at = 0;
  while ((block[at] ?? 0) >= 0x80) at += 1;
  at += 1;
  while (at < block.length) {
    const token = block[at] as number;
    const kind = token & 3;
    const value = token >> 2;
    at += 1;
    if (kind === 0) {
      const bytes = Math.max(0, value - 59);
      if (at + bytes > block.length) return false;
      const length = 1 + (bytes > 0 ? block.readUIntLE(at, bytes) : value);
      at += bytes;
      output.bytes(block, at, at + length);
      at += length;
      continue;
    }
    const bytes = kind === 3 ? 4 : kind;
    if (at + bytes > block.length) return false;
    const distance = block.readUIntLE(at, bytes) + (kind === 1 ? (value >> 3) * 256 : 0);
    at += bytes;
    if (!output.repeat(distance, kind === 1 ? 4 + (value & 7) : 1 + value)) return false;
  }
  return at === block.length;
}
