import { isDbase, isDfont, isZlib } from "../checks.ts";
import type { KindTable } from "../signature.ts";

/** An X.690 SEQUENCE of any length that begins with an object identifier. */
const derOf = (oid: string): string =>
  ["30 80", "30 82 .. ..", "30 83 .. .. ..", "30 81 ..", "30 84 .. .. .. ..", "30 13-7f"]
    .map((start) => `${start} ${oid}`)
    .join(" | ");
const PKCS7 = "06 09 2a 86 48 86 f7 0d 01 07";
const IN_CERTIFICATE = "30 82 .. .. 30 82 .. ..";
const RSA_OID = "06 09 2a 86 48 86 f7 0d 01 01";

export const RECORDS = {
  // Fonts
  otf: ["OpenType font (OTF)", "'OTTO' 00"],
  ttf: ["TrueType font (TTF)", "00 01 00 00 00 01-40 & @6 00-04 | 'true' 00 | 'typ1' 00"],
  ttc: ["TrueType font collection (TTC)", "'ttcf' 00"],
  woff: ["Web Open Font Format (WOFF)", "'wOFF' 00-01 | 'wOFF' 'OTTO' | 'wOFF' 'true'"],
  woff2: ["Web Open Font Format 2 (WOFF2)", "'wOF2' 00-01 | 'wOF2' 'OTTO' | 'wOF2' 'true' | 'wOF2' 'ttcf'"],
  eot: ["Embedded OpenType font (EOT)", "@34 'LP' & @8 00-02 00 01-02 00"],
  pfb: ["PostScript Type 1 font (PFB)", "80 01 ..*4 '%!'"],
  pcf: ["X11 Portable Compiled Font (PCF)", "01 'fcp' 01-1f 00"],
  cff: ["Compact Font Format (CFF)", "01 00 04 01-04 00 01 01"],
  psf: ["Linux console font (PSF)", "36 04 00-03 | 72 b5 4a 86 00*4"],
  dfont: ["Mac OS X font suitcase (DFONT)", isDfont],
  bdf: ["X11 bitmap font (BDF)", /^STARTFONT \d/],
  afm: ["Adobe font metrics (AFM)", /^StartFontMetrics \d/],
  sfd: ["FontForge font (SFD)", /^SplineFontDB: \d/],

  // Stored records
  sqlite: ["SQLite database", "'SQLite format 3' 00"],
  "sqlite-wal": ["SQLite write-ahead log", "37 7f 06 82-83"],
  bdb: ["Berkeley DB database", "@12 62 31 05 00 | @12 00 05 31 62 | @12 61 15 06 00 | @12 00 06 15 61"],
  gdbm: ["GDBM database", "cd-cf 9a 57 13 | 13 57 9a cd-cf"],
  parquet: ["Apache Parquet", "'PAR1' & @-4 'PAR1'"],
  avro: ["Apache Avro", "'Obj' 01"],
  arrow: ["Apache Arrow", "'ARROW1' 00 00"],
  orc: ["Apache ORC", "'ORC' & @-4 'ORC' | 'ORC' & @3 00-1f"],
  hdf5: [
    "Hierarchical Data Format 5 (HDF5)",
    "89 'HDF' 0d 0a 1a 0a | @512 89 'HDF' 0d 0a 1a 0a | @1024 89 'HDF' 0d 0a",
  ],
  hdf4: ["Hierarchical Data Format 4 (HDF4)", "0e 03 13 01"],
  nc: ["NetCDF data set", "'CDF' 01-02 | 'CDF' 05"],
  grib: ["GRIB weather data", "'GRIB' & @7 01-02"],
  mat: ["MATLAB MAT-file", "'MATLAB ' 34-37 '.' 30-39 ' MAT-file'"],
  npy: ["NumPy array", "93 'NUMPY' 01-03"],
  rds: ["R data", "'RDX' 32-33 0a | 'RDA' 32-33 0a"],
  sav: ["SPSS data", "'$FL2@(#)' | '$FL3@(#)'"],
  dta: ["Stata data", "'<stata_dta>' | 72-73 01-02 01 00"],
  sas: ["SAS data", "00*12 c2 ea 81 60 b3 14 11 cf"],
  pcap: ["Packet capture (PCAP)", "d4 c3 b2 a1 | a1 b2 c3 d4 | 4d 3c b2 a1 | a1 b2 3c 4d | 34 cd b2 a1 | a1 b2 cd 34"],
  pcapng: ["Packet capture (PCAPNG)", "0a 0d 0d 0a ..*4 4d 3c 2b 1a | 0a 0d 0d 0a ..*4 1a 2b 3c 4d"],
  snoop: ["Packet capture (snoop)", "'snoop' 00 00 00"],
  evtx: ["Windows event log (EVTX)", "'ElfFile' 00"],
  evt: ["Windows event log (EVT)", "30 00 00 00 'LfLe'"],
  etl: ["Windows event trace (ETL)", "..*4 00*4 & @24 00*4 & @36 'Etw'"],
  dat: ["Windows registry hive", "'regf' 00-ff & @8 ..*4 & @20 01 00 00 00 | 'regf'"],
  prefetch: ["Windows prefetch file", "@4 'SCCA' | 'MAM' 04"],
  iecache: ["Internet Explorer cache index", "'Client UrlCache MMF'"],
  esedb: ["Extensible Storage Engine database (ESE)", "@4 ef cd ab 89"],
  dmp: ["Windows crash dump", "'MDMP' 93 a7 | 'PAGEDUMP' | 'PAGEDU64'"],
  pdb: [
    "Microsoft program database (PDB)",
    "'Microsoft C/C++ MSF 7.00' | 'Microsoft C/C++ program database'",
    "'BSJB' 01 00",
  ],
  bplist: ["Apple binary property list", "'bplist0'"],
  dsstore: ["Apple Desktop Services Store", "00 00 00 01 'Bud1'"],
  appledouble: ["AppleDouble file", "00 05 16 07 00 01-02 00 00"],
  applesingle: ["AppleSingle file", "00 05 16 00 00 01-02 00 00"],
  torrent: [
    "BitTorrent metainfo",
    "'d8:announce' | 'd13:announce-list' | 'd10:created by' | 'd7:comment' | 'd13:creation date' | 'd4:infod' | 'd5:nodes'",
  ],
  mo: ["GNU gettext message catalogue", "de 12 04 95 00-01 00 | 95 04 12 de 00 00-01"],
  gitpack: ["Git pack", "'PACK' 00 00 00 02-03"],
  gitindex: ["Git index", "'DIRC' 00 00 00 02-04"],
  shp: ["ESRI shapefile", "00 00 27 0a 00*16"],
  las: ["LIDAR points (LAS)", "'LASF' 00 00"],
  icc: ["ICC color profile", "@36 'acsp'"],
  xcursor: ["X11 cursor", "'Xcur' 10 00"],
  terminfo: ["Compiled terminal description (terminfo)", "1a 01 & @3 00-04 | 1e 02 & @3 00-04"],
  pickle: ["Python pickle", "80 02-05 95 ..*3 00 00 | 80 02-04 7d 71 | 80 02-04 63"],
  ser: ["Java serialized object", "ac ed 00 05"],
  jfr: ["Java flight recording", "'FLR' 00"],

  // Keys, certificates, what is encrypted
  pkcs7: ["PKCS #7 signed data (DER)", derOf(`${PKCS7} 02`)],
  "pkcs7-enveloped": ["PKCS #7 encrypted message (DER)", derOf(`${PKCS7} 03`)],
  "pkcs7-compressed": ["PKCS #7 compressed message (DER)", derOf("06 0b 2a 86 48 86 f7 0d 01 09 10 01 09")],
  "pkcs7-other": ["PKCS #7 message (DER)", derOf(`${PKCS7} 01-07`)],
  pkcs12: ["PKCS #12 key store", "30 82 .. .. 02 01 03 30 | 30 80 02 01 03 30 | 30 83 .. .. .. 02 01 03 30"],
  "crl-der": ["X.509 revocation list (DER)", `${IN_CERTIFICATE} 02 01 01 30 | 30 82 .. .. 30 81 .. 02 01 01 30`],
  "csr-der": ["X.509 certificate request (DER)", `${IN_CERTIFICATE} 02 01 00 30 | 30 82 .. .. 30 81 .. 02 01 00 30`],
  "x509-der": [
    "X.509 certificate (DER)",
    `${IN_CERTIFICATE} a0 03 02 01 02 | 30 82 .. .. 30 81 .. a0 03 02 01 02`,
    ["01 ..", "08 ..*8", "09 ..*9", "10 ..*16", "14 ..*20"]
      .map((serial) => `${IN_CERTIFICATE} 02 ${serial} 30`)
      .join(" | "),
  ],
  "key-der": [
    "Private or public key (DER)",
    "30 82 .. .. 02 01 00 02 | 30 81 .. 02 01 00 02 | 30 82 .. .. 02 01 00 30 | 30 81 .. 02 01 00 30 | 30 2e 02 01 00 30",
    `30 82 .. .. 30 0d ${RSA_OID} | 30 81 .. 30 0d ${RSA_OID} | 30 .. 02 01 01 04 20 | 30 59 30 13 06 07`,
    "30 82 .. .. 30 .. 06 09 2a 86 48 86 f7 0d 01 05",
  ],
  jks: ["Java key store (JKS)", "fe ed fe ed 00 00 00"],
  kdbx: ["KeePass database", "03 d9 a2 9a 65-67 fb 4b b5"],
  "pgp-binary": [
    "OpenPGP encrypted data",
    "85 .. .. 03 | 84 .. 03 & @11 01-12 | c1 c0 .. 03 | 8c 0d 04 .. 03 | 8c .. 04 & @3 01-0d 03 | c3 .. 04 & @3 01-0d 03",
  ],
  "pgp-message": ["OpenPGP compressed message", "a3 01-03"],
  "pgp-signature": ["OpenPGP signature", "88 .. 03-04 00-01 01-16 | 89 .. .. 03-04 00-01 01-16 | c2 c0-df .. 04 00-01"],
  "pgp-key": [
    "OpenPGP key",
    "99 .. .. 04 ..*4 01-16 | 98 .. 04 ..*4 01-16 | 95 .. .. 04 ..*4 01-16 | 94 .. 04 ..*4 01-16 | c6 c0-df .. 04 ..*4 01-16",
  ],
  "gpg-keybox": ["GnuPG keybox", "@8 'KBXf'"],
  "openssl-salted": ["OpenSSL encrypted data", "'Salted__'"],
  age: ["age encrypted file", "'age-encryption.org/v1'"],

  // No signature, or too short a one: after all others
  dbf: ["dBASE table (DBF)", isDbase],
  zlib: ["zlib compressed data", isZlib],
} as const satisfies KindTable;
