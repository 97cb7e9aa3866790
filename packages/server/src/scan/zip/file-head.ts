/** What the engine takes a file for, by its first bytes. It decides whether and how it looks for a zip archive in it. */
export type HeadKind =
  /** The engine reads the archive by its directory, with offsets from the first byte of the file. */
  | "zip"
  /** Begins as a zip, but the engine sees something else in it and does not unpack it as a zip. */
  | "disguised zip"
  /** A program or package in front of an archive is ordinary: the engine unpacks such an archive by its local headers. */
  | "program"
  /** Holds other files as they are, so that a whole zip may lie in it; the engine unpacks it and finds that zip. */
  | "container"
  /** The engine passes these by without a look. */
  | "ignored"
  | "other";

/** As many of the first bytes as the answer depends on. */
export const HEAD_BYTES = 520;

/** The second one is a split archive that came out in one piece. */
const zipHeads = ["PK\x03\x04", "PK00PK\x03\x04"];
/** PE, ELF, scripts, Mach-O, browser extensions. */
const programHeads = ["MZ", "\x7fELF", "#!", "\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe", "Cr24"];
/** OLE2, PDF, gzip, xz, bzip2, 7z, rar, cpio (two kinds), ar, cab, xar. */
const containerHeads = [
  ...["\xd0\xcf\x11\xe0", "%PDF", "\x1f\x8b", "\xfd7zXZ\0", "BZh", "7z\xbc\xaf\x27\x1c", "Rar!"],
  ...["07070", "\xc7\x71", "!<arch>\n", "MSCF", "xar!"],
];
/** MP3 (two kinds), Ogg, RealMedia, SQLite databases, logs and journals: what ClamAV's own table of types calls ignored. */
const ignoredHeads = [
  ...["ID3", "\xff\xfb\x90", "OggS", ".RMF", "SQLite format 3\0"],
  ...["\x37\x7f\x06\x82\0\x2d\xe2\x18", "\x37\x7f\x06\x83\0\x2d\xe2\x18", "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"],
  ...["SIP-HIT (SIP/H", "SYMC\x01\0"],
];

const TAR_MARK = { at: 257, text: "ustar" };
const PARTITION_TABLE_MARK = { at: 512, text: "EFI PART" };

/** Heads are strings with one character for each byte: a copy that costs less than a buffer. */
export function beginsAsZip(head: string): boolean {
  return begins(head, zipHeads);
}

export function headKind(head: string): HeadKind {
  const isTar = head.startsWith(TAR_MARK.text, TAR_MARK.at);
  const isDisk = head.startsWith(PARTITION_TABLE_MARK.text, PARTITION_TABLE_MARK.at);

  if (beginsAsZip(head)) return isTar || isDisk ? "disguised zip" : "zip";
  if (isTar || begins(head, containerHeads)) return "container";
  if (begins(head, ignoredHeads)) return "ignored";
  if (isDisk) return "other";
  return begins(head, programHeads) ? "program" : "other";
}

/** Where the first local header of a file of kind zip stands. */
export function firstHeaderAt(head: string): number {
  return head.indexOf("PK\x03\x04");
}

function begins(head: string, starts: readonly string[]): boolean {
  return starts.some((start) => head.startsWith(start));
}
