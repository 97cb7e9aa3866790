import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

/** One way to put a content into a file. The corpus is made of these, one in the other. */
export interface Container {
  /** The class: a row of the table, a test of the sample. */
  kind: string;
  /** What is special about this one. */
  name: string;
  /** How such a file's name ends, with the dot. */
  extension: string;
  /** People send such files: with a harmless content it must be clean. */
  ordinary: boolean;
  /** Nobody can get the content out without a key: it must be `no`. */
  locked: boolean;
  /** Programs that make it. Without any it is made by hand. */
  needs: readonly string[];
  /** Programs that people have, of which one gets the content out again; see proof/truth.ts. Without any, nobody is asked. */
  readers: readonly string[];
  /** The largest content that it can hold. */
  maxBytes: number;
  wrap(content: Buffer, name: string): Buffer;
}

export type Wrap = Container["wrap"];
type Special = Partial<Omit<Container, "kind" | "name" | "wrap">>;

/** Containers of one class, which share whatever their entry does not say otherwise. */
export function containers(
  kind: string,
  shared: Special,
  entries: Readonly<Record<string, Wrap | (Special & { wrap: Wrap })>>,
): Container[] {
  return Object.entries(entries).map(([name, entry]) => ({
    extension: ".bin",
    ordinary: false,
    locked: false,
    needs: [],
    readers: [],
    maxBytes: 2 ** 20,
    ...shared,
    ...(typeof entry === "function" ? { wrap: entry } : entry),
    kind,
    name,
  }));
}

/** What lies beside the payload. Never the payload itself, and nothing that any engine knows. */
export const HARMLESS = Buffer.from("Minutes of the meeting: nobody came, so nothing was decided.\n");

/** Bytes that look like nothing, the same in every run. */
export function noise(bytes: number, seed = "noise"): Buffer {
  const blocks = Array.from({ length: Math.ceil(bytes / 32) }, (_, index) =>
    createHash("sha256").update(`${seed} ${index}`).digest(),
  );
  return Buffer.concat(blocks).subarray(0, bytes);
}

/** Runs programs in a folder of their own that holds the content under its name, and returns the file that they made. */
export function madeBy(
  commands: readonly (readonly string[])[],
  { content, name, target }: { content: Buffer; name: string; target: string },
): Buffer {
  const folder = mkdtempSync(join(tmpdir(), `lazaret-test-${process.pid}-corpus-`));
  try {
    mkdirSync(join(folder, "in"));
    writeFileSync(join(folder, "in", basename(name)), content);
    for (const [program = "", ...args] of commands) {
      execFileSync(program, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"], maxBuffer: 2 ** 26 });
    }
    return readFileSync(join(folder, target));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export const bytes = (...values: number[]): Buffer => Buffer.from(values);
export const latin1 = (text: string): Buffer => Buffer.from(text, "latin1");
export const glue = (...pieces: (Uint8Array | string)[]): Buffer =>
  Buffer.concat(pieces.map((piece) => (typeof piece === "string" ? latin1(piece) : piece)));

export function u16(value: number): Buffer {
  return bytes(value & 0xff, (value >>> 8) & 0xff);
}

export function u32(value: number): Buffer {
  const four = Buffer.alloc(4);
  four.writeUInt32LE(value >>> 0);
  return four;
}

export function u64(value: number): Buffer {
  const eight = Buffer.alloc(8);
  eight.writeBigUInt64LE(BigInt(value));
  return eight;
}

export function be32(value: number): Buffer {
  return u32(value).reverse();
}

/** Zeros up to a multiple. */
export function padTo(content: Uint8Array, multiple: number): Buffer {
  return Buffer.concat([content, Buffer.alloc((multiple - (content.length % multiple)) % multiple)]);
}

/** A copy with other bytes at one place. */
export function patched(file: Buffer, at: number, replacement: Uint8Array): Buffer {
  const copy = Buffer.from(file);
  copy.set(replacement, at);
  return copy;
}

/** Text in lines of so many characters. */
export function lines(text: string, width: number, end = "\r\n"): string {
  const all: string[] = [];
  for (let at = 0; at < text.length; at += width) all.push(text.slice(at, at + width));
  return all.join(end);
}
