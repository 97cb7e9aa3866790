import { createHash } from "node:crypto";
import { createReadStream, type Stats } from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

/** One file of signatures in clamd's folder. */
export interface SignatureDatabase {
  /** `daily.cld` */
  name: string;
  path: string;
  bytes: number;
  /** When the file was written, which says nothing of how old its signatures are. */
  changedAt: number;
  /** What .cvd, .cld and .cud say of themselves; other files say nothing. */
  header?: DatabaseHeader;
}

export interface DatabaseHeader {
  version: number;
  /** Milliseconds since 1970. */
  builtAt: number;
  signatures: number;
  builder: string;
}

const HEADER_BYTES = 512;
/** All that ClamAV 1.4 and 1.5 load from a folder, and the signatures of .cvd files that 1.5 wants beside them. */
const EXTENSIONS =
  /\.(?:cvd|cld|cud|[hmn]d[bu]|[hm]s[bu]|ld[bu]|db|fp|sfp|sdb|zmd|rmd|pdb|gdb|wdb|cbc|ftm|cfg|cdb|cat|crb|idb|ioc|yara?|pwdb|ign2?|imp|sign)$/i;

function isDatabaseName(name: string): boolean {
  return !name.startsWith(".") && EXTENSIONS.test(name);
}

/** ClamAV's own, signed by it: clamd refuses to load them if a byte is not theirs. */
export function isOfficial(name: string): boolean {
  return /^(?:daily|main|bytecode)\.c[vl]d$/.test(name);
}

/** The files of signatures in a folder, by name. Throws when it cannot be read. */
export async function databasesIn(folder: string): Promise<SignatureDatabase[]> {
  const names = (await readdir(folder)).filter(isDatabaseName).sort();
  const found = await Promise.all(names.map((name) => databaseAt(join(folder, name), name)));
  return found.filter((database) => database !== undefined);
}

async function databaseAt(path: string, name: string): Promise<SignatureDatabase | undefined> {
  let found: Stats;
  try {
    found = await stat(path);
  } catch {
    // freshclam replaces files: this one has just gone.
    return undefined;
  }
  if (!found.isFile()) return undefined;
  const header = /\.c[vlu]d$/.test(name) ? await headerOf(path) : undefined;
  return { name, path, bytes: found.size, changedAt: found.mtimeMs, ...(header && { header }) };
}

async function headerOf(path: string): Promise<DatabaseHeader | undefined> {
  try {
    await using file = await open(path);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
    return readHeader(buffer.toString("latin1", 0, bytesRead));
  } catch {
    return undefined;
  }
}

/**
 * `ClamAV-VDB:14 Nov 2026 09-30 +0000:27815:2065432:90:<md5>:<signature>:<builder>:1794648600`
 * @internal tested by table
 */
export function readHeader(text: string): DatabaseHeader | undefined {
  const [magic, time = "", version = "", signatures = "", , , , builder = "", seconds = ""] = text.trim().split(":");
  if (magic !== "ClamAV-VDB" || !/^\d+$/.test(version)) return undefined;
  const builtAt = /^\d+$/.test(seconds) ? Number(seconds) * 1000 : Date.parse(time.replace(/(\d\d)-(\d\d)/, "$1:$2"));
  if (Number.isNaN(builtAt)) return undefined;
  return { version: Number(version), builtAt, signatures: Number(signatures) || 0, builder: builder.trim() };
}

/** SHA-256 of a file, in hex. */
export async function sha256Of(path: string): Promise<string> {
  const digest = createHash("sha256");
  await pipeline(createReadStream(path), digest);
  return digest.digest("hex");
}
