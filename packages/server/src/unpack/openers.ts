import { unmarkedArj } from "./archives/arj.ts";
import { brotli } from "./archives/brotli.ts";
import { aixArchive, androidBackup, asar, headed, lbr, romfs } from "./archives/bundles.ts";
import { ciphertext } from "./archives/ciphertext.ts";
import { fat } from "./archives/fat.ts";
import { gitPack } from "./archives/git-pack.ts";
import { iso, rawDisc, shiftedIso } from "./archives/iso.ts";
import { lz4, mozLz4 } from "./archives/lz4.ts";
import { embeddedLzh, lzh } from "./archives/lzh.ts";
import { lzip, lzmaAlone } from "./archives/lzma-alone.ts";
import { lzop } from "./archives/lzop.ts";
import { appleDouble, macBinary } from "./archives/macintosh.ts";
import { png, woff, woff2, zisofs } from "./archives/packed-parts.ts";
import { unopenable } from "./archives/packed-programs.ts";
import { partitions } from "./archives/partitions.ts";
import { embeddedKinds, sevenZipKinds } from "./archives/seven-zip-kinds.ts";
import { snappy } from "./archives/snappy.ts";
import { embeddedGzip, embeddedZstd, gzip, zlib, zlibWithDictionary, zstd } from "./archives/streams.ts";
import { embeddedTar, tar } from "./archives/tar.ts";
import { unopenedKinds } from "./archives/unopened-kinds.ts";
import { httpAnswer, warc } from "./archives/warc.ts";
import { zip } from "./archives/zip.ts";
import { endsAtBack, startOfArchive } from "./archives/zip-headers.ts";
import type { Blob } from "./blob.ts";
import { askedBy, mayKnow } from "./byte-pattern.ts";
import { activeMime } from "./documents/activemime.ts";
import { lockedDocuments } from "./documents/locked-documents.ts";
import { mail } from "./documents/mail.ts";
import { embeddedOle, ole } from "./documents/ole.ts";
import { oleNative } from "./documents/ole-native.ts";
import { oneNote } from "./documents/onenote.ts";
import { openPgp } from "./documents/openpgp.ts";
import { signedText } from "./documents/openpgp-text.ts";
import { pdf } from "./documents/pdf.ts";
import { powerPoint } from "./documents/powerpoint.ts";
import { rtf } from "./documents/rtf.ts";
import { signedMessage } from "./documents/signed-message.ts";
import { sqlite } from "./documents/sqlite.ts";
import { tnef } from "./documents/tnef.ts";
import { vba } from "./documents/vba-source.ts";
import { workbook } from "./documents/workbook.ts";
import { binHex } from "./encodings/binhex.ts";
import { encodedRuns } from "./encodings/encoded-runs.ts";
import { hexRecords } from "./encodings/hex-records.ts";
import { numberLists } from "./encodings/number-lists.ts";
import type { Opener, Place } from "./opener.ts";
import { byteOf } from "./signature-search.ts";

/** Known by what they begin with. */
export const smallKinds: readonly Opener[] = [
  ...[aixArchive, asar, romfs, lbr, androidBackup, gitPack, lzh, mozLz4, headed],
  ...[appleDouble, macBinary, png, woff, woff2, zisofs],
];

/**
 * Asked about every content. A content may be several of these at once, and is then opened in each way.
 * @internal a test asks each of them about contents that it says it does not know
 */
export const OPENERS: readonly Opener[] = [
  zip,
  gzip,
  zstd,
  tar,
  ...unopenedKinds,
  ciphertext,
  ...sevenZipKinds,
  iso,
  rawDisc,
  fat,
  partitions,
  warc,
  httpAnswer,
  lzip,
  lzmaAlone,
  ...smallKinds,
  lz4,
  lzop,
  snappy,
  zlib,
  zlibWithDictionary,
  mail,
  binHex,
  pdf,
  rtf,
  tnef,
  ole,
  oleNative,
  powerPoint,
  workbook,
  ...lockedDocuments,
  vba,
  signedMessage,
  openPgp,
  signedText,
  oneNote,
  activeMime,
  sqlite,
  ...unopenable,
];

/** Asked about what is no archive for certain: an archive is its members, and what is left over is asked about by itself. */
const IN_TEXT: readonly Opener[] = [encodedRuns, numberLists, hexRecords];

/** The same: what may stand anywhere in a program, a picture, or the rest of something. */
const EMBEDDED: readonly Opener[] = [
  ...embeddedKinds,
  unmarkedArj,
  embeddedLzh,
  embeddedOle,
  embeddedGzip,
  embeddedZstd,
  embeddedTar,
];

/** Asked about what is no archive from its very beginning: one that is holds discs as members. */
const IN_FRONT: readonly Opener[] = [shiftedIso];

/** Known by no byte at all: asked about every content, as it may be something else as well. */
const ANYTHING: readonly Opener[] = [brotli];

const askOpeners = asker(OPENERS);
const askInFront = asker(IN_FRONT);
const askInText = asker(IN_TEXT);
const askEmbedded = asker(EMBEDDED);
const askAnything = asker(ANYTHING);

export interface Found {
  opener: Opener;
  place: Place;
}

/** In how many ways a content is a container, and where. */
export function containersIn(content: Blob): Found[] {
  const found = withoutPieces(askOpeners(content), content);
  const archives = (): Found[] => found.filter(({ opener, place }) => place.sure && opener.archive);
  if (archives().every(({ place }) => place.start > 0)) found.push(...askInFront(content));
  if (archives().length === 0) found.push(...askInText(content), ...askEmbedded(content));
  found.push(...askAnything(content));
  return found;
}

/**
 * A zip that seems to begin somewhere in a content whose members lie in pieces is one of its members, or a piece of it. Only the
 * one that programs find which look for it from the back may be one all the same, as a second reading.
 */
function withoutPieces(found: Found[], content: Blob): Found[] {
  const isScattered = found.some(({ opener, place }) => opener.scattered && place.sure);
  if (!isScattered || !found.some(({ opener }) => opener === zip)) return found;
  const starts = endsAtBack(content).flatMap((at) => startOfArchive(content, at) ?? []);
  const atBack = starts.slice(0, 1).map((start) => ({ opener: zip, place: { start, end: content.size, sure: false } }));
  return [...found.filter(({ opener }) => opener !== zip), ...atBack];
}

function asker(openers: readonly Opener[]): (content: Blob) => Found[] {
  const byByte = askedBy(openers);
  const always = openers.filter(({ knownBy }) => !knownBy);
  const order = new Map(openers.map((opener, index) => [opener, index]));
  return (content) => {
    const asked = [...always, ...mayKnow(byByte, byteOf(content))];
    asked.sort((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0));
    return asked.flatMap((opener) => opener.find(content).map((place) => ({ opener, place })));
  };
}
