import type { Blob } from "./blob.ts";
import { bytePattern } from "./byte-pattern.ts";
import { headOf } from "./signature-search.ts";

/**
 * clamd takes a content for one thing only, by what stands at certain places in it, and opens it as that or not at all. A tar
 * whose first name begins with `GIF8` is a picture to it, a gzip with `EFI PART` in its name a disk.
 */
const LOOKS: readonly (readonly [kind: string, offset: number, ...spelled: string[]])[] = [
  ["zip", 0, "'PK' 03 04", "'PK00PK' 03 04"],
  ["gzip", 0, "1f 8b"],
  ["bzip2", 0, "'BZh'"],
  ["xz", 0, "fd '7zXZ' 00"],
  ["tar", 257, "'ustar'"],
  ["pdf", 0, "'%PDF-'"],
  ["ole", 0, "d0 cf 11 e0 a1 b1 1a e1"],
  ["mail", 0, "'From'", "'>From '", "'To: '", "'Date: '", "'Subject: '", "'Received'", "'Return-'", "'Deliver'"],
  ["mail", 0, "'Envelope-to: '", "'For: '", "'Message-I'", "'X-'", "'Hi. This is the qmail-send'", "'v:'"],
  ["another", 0, "'GIF'", "89 'PNG'", "ff d8 ff", "'II*' 00", "'MM'", "'BM'", "00 00 00 0c 'jP'"],
  ["another", 0, "'FWS'", "'CWS'", "'ZWS'", "'ID3'", "ff fb 90", "'OggS'", "'RIF' 46-58", "'.RMF'", "00 00 01 b3-ba"],
  ["another", 0, "'MZ'", "7f 'ELF'", "fe ed fa", "ce-cf fa ed fe", "ca fe ba be", ".. .. 0d 0a", "'L' 00 00 00"],
  [
    "another",
    0,
    "'7z' bc af",
    "'Rar!'",
    "60 ea",
    "'MSCF'",
    "'SZDD'",
    "'ITSF'",
    "'xar!'",
    "'EGGA'",
    "'ALZ' 01",
    "'SIP-HIT'",
  ],
  ["another", 0, "'07070'", "71 c7", "c7 71", "78 9f 3e 22", "b6 b9 ac ae", "'begin '", "'#@~^'", "'(This file must'"],
  [
    "another",
    0,
    "'{' 5c 'rt'",
    "'%!PS'",
    "'{ \"Magic'",
    "'{' 0a '  \"Magic'",
    "'HWP Doc'",
    "e4 52 5c 7b",
    "'[aliases]'",
  ],
  ["another", 0, "'SYMC'", "'SQLite '", "37 7f 06", "d9 d5 05 f9", "'<?xml'", "'<%@'", "02-03 09 99 00"],
  ["another", 2, "'-lh'", "'-lz'", "'-pm'"],
  ["another", 4, "d0 cf 11 e0 a1 b1 1a e1"],
  ["another", 8, "19 04 00 10"],
  ["another", 12, "19 04 00 10"],
  ["another", 512, "'EFI PART'"],
];

const PATTERNS = LOOKS.flatMap(([kind, offset, ...spelled]) =>
  spelled.map((one) => ({ kind, offset, fits: bytePattern(one) })),
);

/** Whether a content of this kind has anything about it by which clamd knows other kinds. */
export function looksLikeAnother(content: Blob, kind: string): boolean {
  const head = headOf(content);
  return PATTERNS.some((one) => one.kind !== kind && one.fits(head, one.offset));
}
