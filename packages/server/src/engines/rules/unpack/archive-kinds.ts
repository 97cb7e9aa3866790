import { crc32 } from "node:zlib";
import type { Blob } from "../look/blob.ts";
import { CUT_ZIP, HEAD_BYTES, KNOWN_KINDS } from "./archive-signatures.ts";
import { type ListedMember, lastZip } from "./zip/zip-end.ts";

/** One way in which a file is an archive. A file may be one in several ways at once, and is then opened in each. */
export interface ArchiveKind {
  /** 7-Zip's name of the format, or one of ours; none if it is one we know by sight but cannot open. */
  type?: string;
  start: number;
  end: number;
  /** Whether we know: such a file is never clean unless it could be opened. Otherwise it is a try. */
  sure: boolean;
  /** Members of a zip that 7-Zip will not unpack. */
  passedOver?: readonly ListedMember[];
}

/** A file that claims to be more archives than this at once is beyond the limits. */
export const KINDS_AT_MOST = 16;

/**
 * What a file is an archive of, by its magic numbers. Programs are no archives, even though 7-Zip opens them; an
 * archive inside one or behind any other file (a self-extracting one, an installer, a picture with a zip at its end)
 * is found by its signature. Stops at one more than `KINDS_AT_MOST`.
 */
export function archiveKinds(content: Blob): ArchiveKind[] {
  const byHead = kindsByHead(content);
  const found = byHead.filter(({ type }) => type !== CUT_ZIP);
  let front = content;
  // A zip is found by its end; what stands before its first member may be another one.
  for (let zip = lastZip(front); zip && found.length <= KINDS_AT_MOST; zip = lastZip(front)) {
    found.push({ type: "zip", sure: true, ...zip });
    front = front.slice(0, zip.start);
  }
  found.push(
    ...byHead.filter(({ type }) => type === CUT_ZIP && front.size > 0).map((kind) => ({ ...kind, end: front.size })),
  );
  return found.length > 0 ? found.slice(0, KINDS_AT_MOST + 1) : embedded(content);
}

function kindsByHead(content: Blob): ArchiveKind[] {
  const head = content.bytes(0, HEAD_BYTES);
  const known = KNOWN_KINDS.filter((kind) => kind.fits(head, content));
  return known.map(({ fits, ...kind }) => ({ ...kind, start: 0, end: content.size }));
}

/** How far 7-Zip and WinRAR look for the archive in a self-extracting one. */
const EMBEDDED_WITHIN_BYTES = 8 * 1024 * 1024;

interface Embeddable {
  type: string;
  signature: Buffer;
  /** Where the archive begins, seen from the signature. */
  before: number;
  likely(from: Buffer): boolean;
}

/** Zip is not among these: it is found by its end. Signatures are short, for which the search is fastest. */
const EMBEDDABLE: readonly Embeddable[] = [
  embeddable(
    "7z",
    "7z\xbc\xaf\x27\x1c",
    (from) => from.length > 32 && crc32(from.subarray(12, 32)) === from.readUInt32LE(8),
  ),
  embeddable("Rar", "Rar!\x1a\x07\x00", (from) => from[9] === 0x73),
  embeddable("Rar5", "Rar!\x1a\x07\x01", (from) => from.length > 16 && from[7] === 0),
  embeddable(
    "Cab",
    "MSCF",
    (from) => from.length > 36 && from.readUInt32LE(4) === 0 && from.readUInt16LE(24) === 0x0103,
  ),
  { ...embeddable("Nsis", "Nullsof", (from) => from.toString("latin1", 0, 12) === "NullsoftInst"), before: 8 },
];

function embeddable(type: string, signature: string, likely: (from: Buffer) => boolean): Embeddable {
  return { type, signature: Buffer.from(signature, "latin1"), before: 0, likely };
}

function embedded(content: Blob): ArchiveKind[] {
  const bytes = content.bytes(0, EMBEDDED_WITHIN_BYTES);
  const found: ArchiveKind[] = [];
  for (const { type, signature, before, likely } of EMBEDDABLE) {
    for (let at = bytes.indexOf(signature); at >= 0; at = bytes.indexOf(signature, at + 1)) {
      if (at < before || !likely(bytes.subarray(at))) continue;
      found.push({ type, start: at - before, end: content.size, sure: false });
      if (found.length > KINDS_AT_MOST) return found;
    }
  }
  return found;
}
