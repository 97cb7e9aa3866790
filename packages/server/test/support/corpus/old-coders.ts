import { bytes, glue, latin1, u32 } from "./container.ts";

/** Coders of old formats, in their simplest valid form: every byte is coded by itself, at a place where no byte begins. */

interface Bits {
  /** The lowest bit first, or the highest with `highFirst`. */
  put(value: number, count: number): void;
  finish(): Buffer;
}

function bitWriter(highFirst = false): Bits {
  const out: number[] = [];
  let current = 0;
  let filled = 0;
  return {
    put(value, count) {
      for (let index = 0; index < count; index += 1) {
        const bit = (value >>> (highFirst ? count - 1 - index : index)) & 1;
        current |= bit << (highFirst ? 7 - filled : filled);
        filled += 1;
        if (filled === 8) {
          out.push(current);
          current = 0;
          filled = 0;
        }
      }
    },
    finish() {
      if (filled > 0) out.push(current);
      return Buffer.from(out);
    },
  };
}

/** Zip's method 1: nine bits for each byte. */
export function shrink(content: Uint8Array): Buffer {
  const bits = bitWriter();
  for (const byte of content) bits.put(byte, 9);
  return bits.finish();
}

/** Zip's method 2, with no followers at all; 144 announces a repetition unless a zero follows. */
export function reduce(content: Uint8Array): Buffer {
  const escaped = Buffer.from([...content].flatMap((byte) => (byte === 144 ? [144, 0] : [byte])));
  return glue(Buffer.alloc(192), escaped);
}

/** Zip's method 6, with two trees of which every code has six bits, and literals as they are. */
export function implode(content: Uint8Array): Buffer {
  const tree = [3, 0xf5, 0xf5, 0xf5, 0xf5];
  const bits = bitWriter();
  for (const byte of content) {
    bits.put(1, 1);
    bits.put(byte, 8);
  }
  return glue(bytes(...tree, ...tree), bits.finish());
}

/** The `compress` program's .Z, by literals and the code that clears the table before codes grow. */
export function compressZ(content: Uint8Array): Buffer {
  const bits = bitWriter();
  let codes = 0;
  for (const byte of content) {
    // Codes come in groups of eight: the clearing code is the last of its group.
    if (codes % 8 === 7 && codes >= 200) {
      bits.put(256, 9);
      codes = 0;
    }
    bits.put(byte, 9);
    codes += 1;
  }
  return glue(bytes(0x1f, 0x9d, 0x90), bits.finish());
}

/** LZW as in PDF and TIFF: the highest bit first, cleared before codes grow. */
export function pdfLzw(content: Uint8Array): Buffer {
  const bits = bitWriter(true);
  content.forEach((byte, at) => {
    if (at % 200 === 0) bits.put(256, 9);
    bits.put(byte, 9);
  });
  bits.put(257, 9);
  return bits.finish();
}

/** An LZ4 block of literals alone. */
function lz4Block(content: Uint8Array): Buffer {
  const rest = content.length - 15;
  if (rest < 0) return glue(bytes(content.length << 4), content);
  return glue(bytes(0xf0), Buffer.alloc(Math.floor(rest / 255), 0xff), bytes(rest % 255), content);
}

const LZ4_BLOCK_BYTES = 1 << 16;

export function lz4Frame(content: Uint8Array, { packed = true, withSize = false } = {}): Buffer {
  const size = withSize ? glue(u32(content.length), u32(0)) : Buffer.alloc(0);
  const descriptor = glue(bytes(withSize ? 0x68 : 0x60, 0x40), size);
  const blocks: Uint8Array[] = [];
  for (let at = 0; at < content.length; at += LZ4_BLOCK_BYTES) {
    const piece = content.subarray(at, at + LZ4_BLOCK_BYTES);
    // A block may not be larger than what it holds, other than one that says that it is not packed.
    const block = packed && piece.length < 60_000 ? lz4Block(piece) : piece;
    blocks.push(u32(block === piece ? (piece.length | 0x80000000) >>> 0 : block.length), block);
  }
  return glue(bytes(0x04, 0x22, 0x4d, 0x18), descriptor, bytes((xxh32(descriptor) >>> 8) & 0xff), ...blocks, u32(0));
}

/** The frame of the old `lz4` program, which the kernel still writes. */
export function lz4Legacy(content: Uint8Array): Buffer {
  const block = lz4Block(content);
  return glue(bytes(0x02, 0x21, 0x4c, 0x18), u32(block.length), block);
}

/** For inputs under 16 bytes, which is what a frame's header has. */
function xxh32(input: Uint8Array): number {
  const [p1, p2, p3, p4, p5] = [2654435761, 2246822519, 3266489917, 668265263, 374761393];
  const rotate = (value: number, by: number): number => (value << by) | (value >>> (32 - by));
  let sum = (p5 + input.length) | 0;
  let at = 0;
  for (; at + 4 <= input.length; at += 4) {
    sum = Math.imul(rotate((sum + Math.imul(Buffer.from(input).readInt32LE(at), p3)) | 0, 17), p4);
  }
  for (; at < input.length; at += 1) sum = Math.imul(rotate((sum + Math.imul(input[at] ?? 0, p5)) | 0, 11), p1);
  sum = Math.imul(sum ^ (sum >>> 15), p2);
  sum = Math.imul(sum ^ (sum >>> 13), p3);
  return (sum ^ (sum >>> 16)) >>> 0;
}

/** An LZX frame as in cabinets that is not packed: a bit for programs' calls, the block's kind and size, three distances. */
export function lzxFrame(content: Uint8Array): Buffer {
  const bits = bitWriter(true);
  bits.put(0, 1);
  bits.put(3, 3);
  bits.put(content.length, 24);
  bits.put(0, 4);
  // Sixteen bits at a time, the lower byte first.
  const head = bits.finish().swap16();
  return glue(head, u32(1), u32(1), u32(1), content, Buffer.alloc(content.length % 2));
}

/** Microsoft's old `compress.exe`: a byte of flags before eight literals. */
export function szdd(content: Uint8Array): Buffer {
  const groups: Uint8Array[] = [];
  for (let at = 0; at < content.length; at += 8) groups.push(bytes(0xff), content.subarray(at, at + 8));
  return glue(latin1("SZDD\x88\xf0\x27\x33A_"), u32(content.length), ...groups);
}

/** PackBits, PDF's RunLengthDecode: runs of at most 128 literals. */
export function runLength(content: Uint8Array): Buffer {
  const runs: Uint8Array[] = [];
  for (let at = 0; at < content.length; at += 50) {
    const run = content.subarray(at, at + 50);
    runs.push(bytes(run.length - 1), run);
  }
  return glue(...runs, bytes(128));
}

export function ascii85(content: Uint8Array): string {
  let out = "";
  for (let at = 0; at < content.length; at += 4) {
    const group = content.subarray(at, at + 4);
    let value = Buffer.concat([group, Buffer.alloc(4)]).readUInt32BE(0);
    if (value === 0 && group.length === 4) {
      out += "z";
      continue;
    }
    const digits: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      digits.unshift(String.fromCharCode(33 + (value % 85)));
      value = Math.floor(value / 85);
    }
    out += digits.slice(0, group.length + 1).join("");
  }
  return out;
}
