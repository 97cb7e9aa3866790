import { brotli } from "./archives/brotli.ts";
import { ciphertext } from "./archives/ciphertext.ts";
import { fat } from "./archives/fat.ts";
import { iso, rawDisc, shiftedIso } from "./archives/iso.ts";
import { lz4 } from "./archives/lz4.ts";
import { embeddedLzh } from "./archives/lzh.ts";
import { lzip, mayBeLzmaAlone } from "./archives/lzma-alone.ts";
import { lzop } from "./archives/lzop.ts";
import { unopenable } from "./archives/packed-programs.ts";
import { partitions } from "./archives/partitions.ts";
import { embeddedArj, sevenZipKinds } from "./archives/seven-zip-kinds.ts";
import { snappy } from "./archives/snappy.ts";
import { embeddedGzip, gzip, zlib, zlibWithDictionary, zstd } from "./archives/streams.ts";
import { tar } from "./archives/tar.ts";
import { unopenedKinds } from "./archives/unopened-kinds.ts";
import { httpAnswer, warc } from "./archives/warc.ts";
import type { Blob } from "./blob.ts";
import { askedBy, mayKnow } from "./byte-pattern.ts";
import { activeMime } from "./documents/activemime.ts";
import { lockedDocuments } from "./documents/locked-documents.ts";
import { beginsAsMail, mail, SHORT_MAIL_BYTES } from "./documents/mail.ts";
import { ole } from "./documents/ole.ts";
import { oleNative } from "./documents/ole-native.ts";
import { oneNote } from "./documents/onenote.ts";
import { openPgp } from "./documents/openpgp.ts";
import { pdf } from "./documents/pdf.ts";
import { mayBeRecords, powerPoint } from "./documents/powerpoint.ts";
import { rtf } from "./documents/rtf.ts";
import { signedMessage } from "./documents/signed-message.ts";
import { sqlite } from "./documents/sqlite.ts";
import { tnef } from "./documents/tnef.ts";
import { vba } from "./documents/vba-source.ts";
import { isWorkbook } from "./documents/workbook.ts";
import { hexRecords } from "./encodings/hex-records.ts";
import { numberLists } from "./encodings/number-lists.ts";
import { utf16Order } from "./encodings/text-regions.ts";
import type { Opener } from "./opener.ts";
import { smallKinds } from "./openers.ts";
import { headOf, isOnePiece, type Mark, type Needle, signaturesAndMarksIn } from "./signature-search.ts";

/**
 * Whether a file may hold members: false only if it certainly holds none. For the main thread, where hostile bytes meet no
 * parser: signatures, and whether it is text, in which anything may be encoded.
 */
export function mayHoldMembers(file: Blob): boolean {
  if (file.size === 0) return false;
  // What is on disk is not read here: it would hold up everybody else.
  if (!isOnePiece(file)) return true;
  const head = headOf(file);
  if (isProgram(head) || mayBeLzmaAlone(file) || isWorkbook(head)) return true;
  const found = signaturesAndMarksIn(file);
  // In a text anything may be encoded.
  if (!found) return true;
  if (isKnownByHead(file)) return true;
  for (const name of found.keys()) {
    const opener = ASKED[name];
    if (!opener || opener.find(file).length > 0) return true;
  }
  return mayHoldPieces(file, head);
}

/**
 * Who is asked where these stand, because they are short and stand anywhere by chance: each is the only one that would open
 * what begins there, besides those of `BY_HEAD`. All others are reason enough.
 */
const ASKED: Partial<Record<Needle | Mark, Opener>> = {
  arj: embeddedArj,
  gzip: embeddedGzip,
  oldGzip: embeddedGzip,
  lzh: embeddedLzh,
  rtf,
  pdfObject: pdf,
  postScript: pdf,
  powerPointObject: powerPoint,
  macro: vba,
  disc: shiftedIso,
};

/**
 * What its readers find where strange bytes break a text into short pieces, and records that are no text. All else that is known
 * by text has a stretch of it that is long enough: `=ybegin`, other marks, short mails and the first lines of others are those that need none.
 */
function mayHoldPieces(file: Blob, head: Buffer): boolean {
  if (utf16Order(file)) return true;
  if (beginsAsMail(file) || (file.size < SHORT_MAIL_BYTES && mail.find(file).length > 0)) return true;
  if (mayBeRecords(head, file.size) && powerPoint.find(file).length > 0) return true;
  return IN_PIECES.some((opener) => opener.find(file).length > 0);
}

const IN_PIECES: readonly Opener[] = [warc, hexRecords, numberLists, oleNative];

/** Those that look at fixed places only. */
const BY_HEAD: readonly Opener[] = [
  iso,
  rawDisc,
  fat,
  partitions,
  httpAnswer,
  gzip,
  zstd,
  tar,
  ...sevenZipKinds,
  ...smallKinds,
  zlib,
  zlibWithDictionary,
  lzip,
  lz4,
  lzop,
  snappy,
  tnef,
  ole,
  ...lockedDocuments,
  signedMessage,
  openPgp,
  oneNote,
  activeMime,
  sqlite,
  brotli,
  ...unopenable,
  ...unopenedKinds,
  ciphertext,
];

const ASKED_BY_BYTE = askedBy(BY_HEAD);
const KNOWN_BY_NO_BYTE = BY_HEAD.filter(({ knownBy }) => !knownBy);

/** Nearly all contents are nothing of all this, which a look at a few bytes tells without asking anybody. */
function isKnownByHead(file: Blob): boolean {
  const bytes = file.bytes(0, file.size);
  const isKnown = (opener: Opener): boolean => opener.find(file).length > 0;
  const asked = mayKnow(ASKED_BY_BYTE, (offset) => bytes[offset < 0 ? bytes.length + offset : offset]);
  return asked.some(isKnown) || KNOWN_BY_NO_BYTE.some(isKnown);
}

/** Packers and installers are looked for in programs. */
function isProgram(head: Buffer): boolean {
  if (head[0] === 0x4d && head[1] === 0x5a) return true;
  return head.length >= 4 && PROGRAMS.includes(head.readUInt32BE(0));
}

/** ELF, and Mach-O of all kinds. */
const PROGRAMS: readonly number[] = [0x7f454c46, 0xfeedface, 0xfeedfacf, 0xcefaedfe, 0xcffaedfe, 0xcafebabe];
