import { BINARIES } from "./sample-files/binaries.ts";
import { DOCUMENTS } from "./sample-files/documents.ts";
import { RARER_FILES } from "./sample-files/rarer-kinds.ts";
import { TEXT_FILES } from "./sample-files/texts.ts";

/** What it is for people, the name a detector must give it, and the bytes, made when they are asked for. */
export type SampleFile = readonly [what: string, name: string, make: () => Uint8Array];

/** Files of as many kinds as we know how to make, for tests. */
export const SAMPLE_FILES: readonly SampleFile[] = [...DOCUMENTS, ...BINARIES, ...RARER_FILES, ...TEXT_FILES];

const PE = "Windows executable (PE32, 32-bit)";
const CPIO = "cpio archive";
const TGZ = "gzip compressed tar archive";

/** The files of Debian's package clamav-testfiles. */
export const CLAMAV_FILES: readonly (readonly [file: string, name: string])[] = [
  ...["aspack", "fsg", "mew", "nsis", "pespin", "petite", "upack", "upx", "wwpack", "yc"].map(
    (packer) => [`clam-${packer}.exe`, PE] as const,
  ),
  ...[".ea05", ".ea06", "", "_IScab_ext", "_IScab_int", "_ISmsi_ext", "_ISmsi_int"].map(
    (variant) => [`clam${variant}.exe`, PE] as const,
  ),
  ...["bin-be", "bin-le", "newc", "odc"].map((variant) => [`clam.${variant}.cpio`, CPIO] as const),
  ...[".bz2", ".d64", ".impl", ""].map((method) => [`clam${method}.zip`, "ZIP archive"] as const),
  ["clam.7z", "7-Zip archive"],
  ["clam.arj", "ARJ archive"],
  ["clam.cab", "Microsoft Cabinet archive"],
  ["clam.chm", "Microsoft compiled HTML help (CHM)"],
  ["clam.exe.binhex", "BinHex 4.0 text"],
  ["clam.exe.bz2", "bzip2 compressed data"],
  ["clam.exe.html", "HTML document"],
  ["clam.exe.mbox.base64", "Mailbox (mbox)"],
  ["clam.exe.mbox.uu", "Mailbox (mbox)"],
  ["clam.exe.rtf", "Rich Text Format (RTF)"],
  ["clam.exe.szdd", "Microsoft compress archive (SZDD)"],
  ["clam.mail", "Email message (RFC 822)"],
  ["clam.ole.doc", "Microsoft Word 97-2003 document (OLE2)"],
  ["clam.pdf", "Adobe Portable Document Format (PDF)"],
  ["clam.ppt", "Microsoft PowerPoint 97-2003 presentation (OLE2)"],
  ["clam.sis", "Symbian installation file"],
  ["clam.tar.gz", TGZ],
  ["clam.tnef", "Transport Neutral Encapsulation Format (TNEF)"],
  ["clam_cache_emax.tgz", TGZ],
];

/** Files that programs of any Debian, and 7z, make of a text `a.txt` and a folder `package`. */
export const TOOL_FILES: readonly (readonly [file: string, name: string, command: readonly [string, ...string[]]])[] = [
  ["a.tar", "tar archive", ["tar", "-cf", "a.tar", "a.txt"]],
  ["v7.tar", "tar archive", ["tar", "--format=v7", "-cf", "v7.tar", "a.txt"]],
  ["a.tgz", TGZ, ["tar", "-czf", "a.tgz", "a.txt"]],
  ["a.txt.gz", "gzip compressed data", ["gzip", "-k", "a.txt"]],
  ["a.txt.bz2", "bzip2 compressed data", ["bzip2", "-k", "a.txt"]],
  ["a.txt.xz", "XZ compressed data", ["xz", "-k", "a.txt"]],
  ["a.7z", "7-Zip archive", ["7z", "a", "a.7z", "a.txt"]],
  ["a.zip", "ZIP archive", ["7z", "a", "a.zip", "a.txt"]],
  ["locked.zip", "ZIP archive", ["7z", "a", "-psecret", "locked.zip", "a.txt"]],
  ["a.wim", "Windows imaging format (WIM)", ["7z", "a", "a.wim", "a.txt"]],
  ["a.deb", "Debian package", ["dpkg-deb", "--build", "package", "a.deb"]],
];
