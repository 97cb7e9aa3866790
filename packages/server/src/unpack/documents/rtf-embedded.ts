import type { Range } from "../opener.ts";

/** The header of an embedded object and that of a package in it are no longer than this. */
const HEAD_BYTES = 16 * 1024;
const MAGICS: readonly { name: string; bytes: Buffer }[] = [
  { name: "compound file", bytes: Buffer.from("d0cf11e0a1b11ae1", "hex") },
  { name: "zip", bytes: Buffer.from("504b0304", "hex") },
];

/**
 * The files in an object as OLE 1 has it: what the object holds (its native data), the file in it if it is a package, and
 * what begins like a compound file or a zip. `decode` gives the bytes of the object, as often as it is asked.
 */
export function embeddedFiles(decode: (target: (byte: number) => void) => void): { name: string; range: Range }[] {
  const head = Buffer.alloc(HEAD_BYTES);
  const found = new Map<string, number>();
  const matched = MAGICS.map(() => 0);
  let size = 0;
  decode((byte) => {
    if (size < HEAD_BYTES) head[size] = byte;
    for (const [index, magic] of MAGICS.entries()) {
      const at = matched[index] ?? 0;
      // None of these repeats its first byte, so a mismatch begins anew at this byte.
      const next = byte === magic.bytes[at] ? at + 1 : byte === magic.bytes[0] ? 1 : 0;
      matched[index] = next === magic.bytes.length ? 0 : next;
      if (next === magic.bytes.length && !found.has(magic.name)) found.set(magic.name, size - next + 1);
    }
    size += 1;
  });
  const files: { name: string; range: Range }[] = [];
  const known = new Set<number>([0]);
  function add(name: string, start: number, end: number): void {
    if (start >= size || end <= start || known.has(start)) return;
    known.add(start);
    files.push({ name, range: { start, end: Math.min(end, size) } });
  }
  const native = nativeData(head.subarray(0, Math.min(size, HEAD_BYTES)));
  if (native) {
    add("native data", native.start, native.end);
    const file = packagedFile(head.subarray(native.start, Math.min(size, HEAD_BYTES)));
    if (file) add("packaged file", native.start + file.start, native.start + file.end);
  }
  for (const [name, start] of found) add(name, start, size);
  return files;
}

/** Reads numbers and strings one after the other; nothing is read beyond the end. */
function reader(bytes: Buffer): {
  number(size: 2 | 4): number;
  skip(count: number): void;
  string(): void;
  at(): number;
} {
  let at = 0;
  return {
    number(size) {
      const value = at + size <= bytes.length ? bytes.readUIntLE(at, size) : 0;
      at += size;
      return value;
    },
    skip(count) {
      at += count;
    },
    string() {
      const end = bytes.indexOf(0, at);
      at = end < 0 ? bytes.length : end + 1;
    },
    at: () => at,
  };
}

/** Version, format (2: embedded), class, topic, item, each with its length before it; then the size of the data. */
function nativeData(head: Buffer): Range | undefined {
  const fields = reader(head);
  fields.skip(4);
  if (fields.number(4) !== 2) return undefined;
  for (const _ of ["class", "topic", "item"]) fields.skip(fields.number(4));
  const size = fields.number(4);
  return fields.at() > head.length || size === 0 ? undefined : { start: fields.at(), end: fields.at() + size };
}

/** Two bytes of type, label, path, two numbers, the path of a temporary copy with its length; then the size of the file. */
function packagedFile(native: Buffer): Range | undefined {
  const fields = reader(native);
  if (fields.number(2) !== 2) return undefined;
  fields.string();
  fields.string();
  fields.skip(4);
  fields.skip(fields.number(4));
  const size = fields.number(4);
  return fields.at() > native.length || size === 0 ? undefined : { start: fields.at(), end: fields.at() + size };
}
