import type { Kind } from "../kinds.ts";
import { bytesAt, type Sample } from "../sample.ts";

/**
 * Kinds that a few bytes at a fixed place give away. Patterns are hexadecimal, `..` is any byte; a place may be
 * anywhere in the head. The first that fits wins, so the longer pattern of two stands first.
 */
const SIGNATURES: readonly (readonly [kind: Kind, offset: number, pattern: string])[] = [
  ["png", 0, "89504e470d0a1a0a"],
  ["jls", 0, "ffd8fff7"],
  ["jpg", 0, "ffd8ff"],
  ["gif", 0, ascii("GIF87a")],
  ["gif", 0, ascii("GIF89a")],
  ["webp", 0, `${ascii("RIFF")}........${ascii("WEBP")}`],
  ["wav", 0, `${ascii("RIFF")}........${ascii("WAVE")}`],
  ["avi", 0, `${ascii("RIFF")}........${ascii("AVI ")}`],
  ["ani", 0, `${ascii("RIFF")}........${ascii("ACON")}`],
  ["psd", 0, ascii("8BPS")],
  ["xcf", 0, ascii("gimp xcf ")],
  ["ico", 0, "00000100..00......00"],
  ["cur", 0, "00000200..00......00"],
  ["icns", 0, ascii("icns")],
  ["jp2", 0, "0000000c6a5020200d0a870a"],
  ["j2c", 0, "ff4fff51"],
  ["jxl", 0, "0000000c4a584c200d0a870a"],
  ["jxl", 0, "ff0a"],
  ["jxr", 0, "4949bc"],
  ["raf", 0, ascii("FUJIFILMCCD-RAW")],
  ["dwg", 0, ascii("AC10")],
  ["emf", 0, `01000000${"..".repeat(36)}${ascii(" EMF")}`],
  ["wmf", 0, "d7cdc69a"],
  ["dcm", 128, ascii("DICM")],
  ["djvu", 0, ascii("AT&TFORM")],
  ["eps", 0, "c5d0d3c6"],
  ["wpd", 0, "ff575043"],
  ["one", 0, "e4525c7b8cd8a74daeb15378d02996d3"],
  ["mdb", 0, `00010000${ascii("Standard Jet DB")}`],
  ["accdb", 0, `00010000${ascii("Standard ACE DB")}`],
  ["pst", 0, ascii("!BDN")],
  ["tnef", 0, "789f3e22"],
  ["mobi", 60, ascii("BOOKMOBI")],
  ["chm", 0, `${ascii("ITSF")}03000000`],
  ["7z", 0, "377abcaf271c"],
  ["rar", 0, `${ascii("Rar!")}1a07`],
  ["bz2", 0, `${ascii("BZh")}..314159265359`],
  ["bz2", 0, `${ascii("BZh")}..177245385090`],
  ["xz", 0, "fd377a585a00"],
  ["zst", 0, "28b52ffd"],
  ["lz4", 0, "04224d18"],
  ["lz", 0, `${ascii("LZIP")}01`],
  ["lzo", 0, "894c5a4f000d0a1a0a"],
  ["Z", 0, "1f9d"],
  ["szdd", 0, "535a444488f02733"],
  ["cab", 0, `${ascii("MSCF")}00000000`],
  ["lzh", 2, `${ascii("-lh")}..${ascii("-")}`],
  ["cpio", 0, ascii("070701")],
  ["cpio", 0, ascii("070702")],
  ["cpio", 0, ascii("070707")],
  ["ace", 7, ascii("**ACE**")],
  ["deb", 0, ascii("!<arch>\ndebian-binary")],
  ["ar", 0, ascii("!<arch>\n")],
  ["rpm", 0, "edabeedb"],
  ["xar", 0, `${ascii("xar!")}001c`],
  ["tar", 257, `${ascii("ustar")}00`],
  ["tar", 257, `${ascii("ustar")}2020`],
  ["iso", 32769, ascii("CD001")],
  ["udf", 32769, ascii("BEA01")],
  ["wim", 0, `${ascii("MSWIM")}000000`],
  ["vhd", 0, ascii("conectix")],
  ["vhdx", 0, ascii("vhdxfile")],
  ["vmdk", 0, ascii("KDMV")],
  ["vdi", 0, ascii("<<< Oracle VM VirtualBox Disk Image >>>")],
  ["qcow2", 0, "514649fb"],
  ["squashfs", 0, ascii("hsqs")],
  ["luks", 0, `${ascii("LUKS")}babe`],
  ["dex", 0, `${ascii("dex\n0")}....00`],
  ["wasm", 0, "0061736d01000000"],
  ["llvm", 0, "4243c0de"],
  ["lnk", 0, "4c0000000114020000000000c000000000000046"],
  ["flac", 0, ascii("fLaC")],
  ["mid", 0, `${ascii("MThd")}00000006`],
  ["aif", 0, `${ascii("FORM")}........${ascii("AIF")}`],
  ["au", 0, `${ascii(".snd")}00`],
  ["amr", 0, ascii("#!AMR")],
  ["ape", 0, ascii("MAC ")],
  ["wv", 0, ascii("wvpk")],
  ["caf", 0, `${ascii("caff")}0001`],
  ["flv", 0, `${ascii("FLV")}01`],
  ["asf", 0, "3026b2758e66cf11a6d900aa0062ce6c"],
  ["mpg", 0, "000001ba"],
  ["mpg", 0, "000001b3"],
  ["otf", 0, `${ascii("OTTO")}00`],
  ["ttc", 0, `${ascii("ttcf")}00`],
  ["woff", 0, ascii("wOFF")],
  ["woff2", 0, ascii("wOF2")],
  ["sqlite", 0, `${ascii("SQLite format 3")}00`],
  ["parquet", 0, ascii("PAR1")],
  ["avro", 0, `${ascii("Obj")}01`],
  ["arrow", 0, `${ascii("ARROW1")}0000`],
  ["orc", 0, ascii("ORC")],
  ["hdf5", 0, "894844460d0a1a0a"],
  ["mat", 0, ascii("MATLAB 5.0 MAT-file")],
  ["pcap", 0, "d4c3b2a1"],
  ["pcap", 0, "a1b2c3d4"],
  ["pcap", 0, "4d3cb2a1"],
  ["pcapng", 0, "0a0d0d0a........4d3c2b1a"],
  ["pcapng", 0, "0a0d0d0a........1a2b3c4d"],
  ["evtx", 0, `${ascii("ElfFile")}00`],
  ["dat", 0, ascii("regf")],
  ["prefetch", 4, `${ascii("SCCA")}`],
  ["prefetch", 0, `${ascii("MAM")}04`],
  ["bplist", 0, ascii("bplist0")],
  ["dsstore", 0, `00000001${ascii("Bud1")}`],
  ["torrent", 0, ascii("d8:announce")],
  ["mo", 0, "de120495"],
  ["mo", 0, "950412de"],
  ["gitpack", 0, `${ascii("PACK")}000000`],
  ["glb", 0, ascii("glTF")],
  ["blend", 0, ascii("BLENDER")],
  ["shp", 0, "0000270a"],
  ["x509-der", 0, "3082....3082....a003020102"],
  ["pkcs7", 0, "3082....06092a864886f70d010702"],
  ["pkcs12", 0, "3082....0201033082"],
  ["jks", 0, "feedfeed000000"],
  ["kdbx", 0, "03d9a29a67fb4bb5"],
  ["pgp-binary", 0, "85....03"],
  ["pgp-binary", 0, "c1c0..03"],
  ["pgp-binary", 0, "8c0d04..03"],
  ["pgp-key", 0, "99....04........01"],
  ["openssl-salted", 0, ascii("Salted__")],
  ["age", 0, ascii("age-encryption.org/v1")],
];

/** Kinds whose letters at the start mean what they say in a file that is text throughout, too. */
const TEXTUAL: ReadonlySet<Kind> = new Set<Kind>(["ar", "deb", "torrent", "age", "openssl-salted", "vmdk"]);

interface Signature {
  kind: Kind;
  offset: number;
  /** -1 stands for any byte. */
  bytes: Int16Array;
  /** It could as well be the start of a sentence. */
  readable: boolean;
}

const signatures: readonly Signature[] = SIGNATURES.map(([kind, offset, pattern]) => {
  const bytes = Int16Array.from(pattern.match(/../g) ?? [], (pair) => (pair === ".." ? -1 : Number.parseInt(pair, 16)));
  const readable = !TEXTUAL.has(kind) && bytes.every((byte) => byte < 0 || byte === 10 || (byte >= 32 && byte < 127));
  return { kind, offset, bytes, readable };
});

/** The kind by the bytes at its start; `isText` is asked only when the letters found might be those of a text. */
export function bySignature(sample: Sample, isText: () => boolean): Kind | undefined {
  const { head } = sample;
  const found = signatures.find(({ bytes, offset, readable }) => fits(head, bytes, offset) && !(readable && isText()));
  if (found) return found.kind;

  // Apple and Microsoft put the header of these disk images at the end.
  const trailer = bytesAt(sample, sample.sizeBytes - 512, 8);
  if (fits(trailer, TRAILERS.dmg, 0)) return "dmg";
  if (fits(trailer, TRAILERS.vhd, 0)) return "vhd";
  return undefined;
}

const TRAILERS = { dmg: Int16Array.from(Buffer.from("koly")), vhd: Int16Array.from(Buffer.from("conectix")) };

function fits(head: Uint8Array, bytes: Int16Array, offset: number): boolean {
  if (offset + bytes.length > head.length) return false;
  for (let at = 0; at < bytes.length; at++) {
    const wanted = bytes[at];
    if (wanted !== -1 && wanted !== head[offset + at]) return false;
  }
  return true;
}

function ascii(text: string): string {
  return Buffer.from(text, "latin1").toString("hex");
}
