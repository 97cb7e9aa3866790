import { sevenZipKinds } from "./archives/seven-zip-kinds.ts";
import { brotli, gzip, zlib, zstd } from "./archives/streams.ts";
import { tar } from "./archives/tar.ts";
import type { Blob } from "./blob.ts";
import { tnef } from "./documents/tnef.ts";
import type { Opener } from "./opener.ts";
import { headOf, signaturesIn } from "./signature-search.ts";

/**
 * Whether a file may hold members: false only if it certainly holds none. For the main thread, where hostile bytes meet no
 * parser: signatures, and whether it is text, in which anything may be encoded.
 */
export function mayHoldMembers(file: Blob): boolean {
  if (file.size === 0) return false;
  const head = headOf(file);
  if (looksLikeText(head) || isProgram(head) || mayBeLzma(head)) return true;
  return BY_HEAD.some((opener) => opener.find(file).length > 0) || signaturesIn(file).size > 0;
}

/** Those that look at fixed places only. */
const BY_HEAD: readonly Opener[] = [gzip, zstd, tar, ...sevenZipKinds, zlib, tnef, brotli];

const TEXT_BYTES = 4096;
const TEXT_SHARE = 0.7;

/** Generous: a picture with so much text in front is looked at for nothing, a text that is taken for a picture would be missed. */
function looksLikeText(head: Buffer): boolean {
  const sample = head.subarray(0, TEXT_BYTES);
  let printable = 0;
  for (const byte of sample)
    if ((byte >= 0x20 && byte < 0x7f) || byte === 0x09 || byte === 0x0a || byte === 0x0d) printable += 1;
  return printable >= sample.length * TEXT_SHARE;
}

/** Packers and installers are looked for in programs. */
function isProgram(head: Buffer): boolean {
  const magic = head.toString("latin1", 0, 4);
  return magic.startsWith("MZ") || magic === "\x7fELF" || MACH_O.includes(magic);
}

const MACH_O: readonly string[] = [
  "\xfe\xed\xfa\xce",
  "\xfe\xed\xfa\xcf",
  "\xce\xfa\xed\xfe",
  "\xcf\xfa\xed\xfe",
  "\xca\xfe\xba\xbe",
];

/** No magic number: properties in the first byte, and the zero that every such stream begins with. */
function mayBeLzma(head: Buffer): boolean {
  return head.length > 18 && (head[0] ?? 255) < 225 && head[13] === 0;
}
