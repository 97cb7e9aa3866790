import { brotli } from "./archives/brotli.ts";
import { aixArchive, androidBackup, asar, lbr, romfs } from "./archives/bundles.ts";
import { gitPack } from "./archives/git-pack.ts";
import { iso } from "./archives/iso.ts";
import { lz4, mozLz4 } from "./archives/lz4.ts";
import { embeddedLzh, lzh } from "./archives/lzh.ts";
import { lzip, lzmaAlone } from "./archives/lzma-alone.ts";
import { lzop } from "./archives/lzop.ts";
import { appleDouble, macBinary } from "./archives/macintosh.ts";
import { png, woff, woff2, zisofs } from "./archives/packed-parts.ts";
import { unopenable } from "./archives/packed-programs.ts";
import { embeddedKinds, sevenZipKinds } from "./archives/seven-zip-kinds.ts";
import { snappy } from "./archives/snappy.ts";
import { embeddedGzip, embeddedZstd, gzip, zlib, zlibWithDictionary, zstd } from "./archives/streams.ts";
import { embeddedTar, tar } from "./archives/tar.ts";
import { unopenedKinds } from "./archives/unopened-kinds.ts";
import { warc } from "./archives/warc.ts";
import { zip } from "./archives/zip.ts";
import { endsAtBack, startOfArchive } from "./archives/zip-headers.ts";
import type { Blob } from "./blob.ts";
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
import { mayBe } from "./signature-search.ts";

/** Known by what they begin with. */
export const smallKinds: readonly Opener[] = [
  ...[aixArchive, asar, romfs, lbr, androidBackup, gitPack, lzh, mozLz4],
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
  ...sevenZipKinds,
  iso,
  warc,
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
  embeddedLzh,
  embeddedOle,
  embeddedGzip,
  embeddedZstd,
  embeddedTar,
];

/** Asked when nobody else knows what it is. */
const LAST: readonly Opener[] = [brotli];

export interface Found {
  opener: Opener;
  place: Place;
}

/** In how many ways a content is a container, and where. */
export function containersIn(content: Blob): Found[] {
  const found = withoutPieces(ask(OPENERS, content), content);
  if (found.some(({ opener, place }) => place.sure && opener.archive)) return found;
  found.push(...ask(IN_TEXT, content), ...ask(EMBEDDED, content));
  if (found.length === 0) found.push(...ask(LAST, content));
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

function ask(openers: readonly Opener[], content: Blob): Found[] {
  const found: Found[] = [];
  for (const opener of openers) {
    if (opener.knownBy && !mayBe(opener.knownBy, content)) continue;
    for (const place of opener.find(content)) found.push({ opener, place });
  }
  return found;
}
