/**
 * The source code of macros, which Office keeps compressed (MS-OVBA 2.4.1) in streams of a compound file. Rules for
 * macros would not find a word of it otherwise.
 */
export function vbaSources(stream: Buffer): Buffer[] {
  const sources: Buffer[] = [];
  for (let at = stream.indexOf(MARK); at >= 0 && sources.length < SOURCES_AT_MOST; at = stream.indexOf(MARK, at + 1)) {
    const start = at - 3;
    if (start >= 0 && stream[start] === CONTAINER) sources.push(decompress(stream.subarray(start + 1)));
  }
  return sources;
}

/** Every module's source begins with `Attribute`: a byte of flags, eight characters, the next flags, the ninth. */
const MARK = Buffer.from("\x00Attribut\x00e", "latin1");
const CONTAINER = 0x01;
const SOURCES_AT_MOST = 500;
const CHUNK_BYTES = 4096;
const SOURCE_BYTES_AT_MOST = 4 * 1024 * 1024;

/** As far as it goes: behind the source other things may stand, which are no chunks. */
function decompress(packed: Buffer): Buffer {
  const chunks: Buffer[] = [];
  let at = 0;
  while (at + 2 <= packed.length && chunks.length * CHUNK_BYTES < SOURCE_BYTES_AT_MOST) {
    const header = packed.readUInt16LE(at);
    if (((header >> 12) & 0x7) !== 0x3) break;
    const end = at + 3 + (header & 0xfff);
    const body = packed.subarray(at + 2, end);
    chunks.push((header & 0x8000) === 0 ? body : decompressChunk(body));
    at = end;
  }
  return Buffer.concat(chunks);
}

function decompressChunk(body: Buffer): Buffer {
  const out = Buffer.alloc(CHUNK_BYTES);
  let length = 0;
  let at = 0;
  while (at < body.length) {
    const flags = body.readUInt8(at);
    at += 1;
    for (let bit = 0; bit < 8 && at < body.length; bit += 1) {
      if ((flags & (1 << bit)) === 0) {
        if (length < CHUNK_BYTES) out[length] = body.readUInt8(at);
        length = Math.min(CHUNK_BYTES, length + 1);
        at += 1;
        continue;
      }
      if (at + 2 > body.length) return out.subarray(0, length);
      const { offset, count } = copyToken(body.readUInt16LE(at), length);
      at += 2;
      if (offset > length) return out.subarray(0, length);
      for (let i = 0; i < count && length < CHUNK_BYTES; i += 1, length += 1) out[length] = out[length - offset] ?? 0;
    }
  }
  return out.subarray(0, length);
}

/** How many bits are the offset and how many the length depends on how much of the chunk is out already. */
function copyToken(token: number, length: number): { offset: number; count: number } {
  const offsetBits = Math.max(4, Math.ceil(Math.log2(Math.max(1, length))));
  const countBits = 16 - offsetBits;
  return { offset: (token >> countBits) + 1, count: (token & ((1 << countBits) - 1)) + 3 };
}
