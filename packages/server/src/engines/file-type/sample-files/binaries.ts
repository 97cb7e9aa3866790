import { readFileSync } from "node:fs";
import { deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import type { SampleFile } from "../sample-files.ts";
import { noise } from "./noise.ts";

/** Bytes given as hexadecimal or as text, one after another, and then some that say nothing. */
export function bytes(...pieces: readonly (string | Uint8Array | number)[]): Buffer {
  return Buffer.concat(pieces.map((piece) => (typeof piece === "number" ? Buffer.alloc(piece) : Buffer.from(piece))));
}
export const hex = (digits: string): Buffer => Buffer.from(digits, "hex");
export const padded = (start: string | Uint8Array, length = 200): Buffer => bytes(start, length);
const at = (offset: number, piece: string | Uint8Array): Buffer => bytes(offset, piece, 300);

interface PeHeader {
  wide?: boolean;
  subsystem?: number;
  library?: boolean;
  clr?: boolean;
}

function pe({ wide = false, subsystem = 2, library = false, clr = false }: PeHeader): Buffer {
  const file = Buffer.alloc(1024);
  file.write("MZ");
  file.writeUInt16LE(4, 8);
  file.writeUInt32LE(128, 60);
  file.write("PE\0\0", 128, "latin1");
  file.writeUInt16LE(library ? 0x2102 : 0x102, 128 + 22);
  const optional = 128 + 24;
  file.writeUInt16LE(wide ? 0x20b : 0x10b, optional);
  file.writeUInt16LE(subsystem, optional + 68);
  const directories = optional + (wide ? 112 : 96);
  file.writeUInt32LE(16, directories - 4);
  if (clr) file.writeUInt32LE(0x2008, directories + 14 * 8);
  return file;
}

function elf(type: number, interpreter = false): Buffer {
  const file = Buffer.alloc(512);
  hex("7f454c46020101").copy(file);
  file.writeUInt16LE(type, 16);
  file.writeUInt32LE(64, 32);
  file.writeUInt16LE(2, 56);
  file.writeUInt32LE(6, 64);
  file.writeUInt32LE(interpreter ? 3 : 1, 64 + 56);
  return file;
}

function tar(mark: string): Buffer {
  const header = Buffer.alloc(512);
  header.write("a.txt");
  header.write("0000644\x000000000\x000000000\x0000000000001\x0000000000000\0        0", 100, "latin1");
  header.write(mark, 257, "latin1");
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return bytes(header, "x", 511, 1024);
}

function png(...chunks: readonly string[]): Buffer {
  const parts = ["IHDR", ...chunks, "IDAT", "IEND"].map((name) => bytes(hex("0000000d"), name, 17));
  return bytes(hex("89504e470d0a1a0a"), ...parts);
}

const riff = (form: string): Buffer => bytes("RIFF", hex("24000000"), form, "fmt ", 60);
const ftyp = (brand: string, more = ""): Buffer => bytes(hex("00000020"), "ftyp", brand, 4, more.padEnd(16, "\0"), 99);
const ogg = (codec: string | Uint8Array): Buffer => bytes("OggS", hex("0002"), 20, hex("01"), hex("1e"), codec, 64);
/** Sound that is not music: 20 frames of MPEG layer III at 128 kbit/s, 44.1 kHz, all silent. */
export const mp3Frames = (): Buffer => bytes(...Array.from({ length: 20 }, () => bytes(hex("fffb9000"), 413)));
const transportStream = (): Buffer => bytes(...Array.from({ length: 20 }, () => bytes(hex("47400010"), 184)));

export const BINARIES: readonly SampleFile[] = [
  ["nothing", "empty", () => new Uint8Array(0)],
  ["one zero", "data", () => bytes(1)],
  ["zeros", "data", () => bytes(5000)],
  ["encrypted bytes", "data", () => noise(200_000)],
  ["zlib stream", "zlib compressed data", () => deflateSync(Buffer.alloc(9999, "abcdefghijk"))],
  ["node itself", "ELF executable", () => readFileSync(process.execPath).subarray(0, 200_000)],
  ["PE32", "Windows executable (PE32, 32-bit)", () => pe({})],
  ["PE32+", "Windows executable (PE32+, 64-bit)", () => pe({ wide: true, subsystem: 3 })],
  ["DLL", "Windows dynamic link library (PE32, 32-bit)", () => pe({ library: true })],
  ["64-bit DLL", "Windows dynamic link library (PE32+, 64-bit)", () => pe({ wide: true, library: true })],
  ["driver", "Windows driver (PE)", () => pe({ wide: true, subsystem: 1 })],
  ["UEFI", "UEFI program (PE)", () => pe({ wide: true, subsystem: 10 })],
  [".NET", ".NET assembly (PE)", () => pe({ clr: true })],
  ["DOS program", "MS-DOS executable", () => bytes("MZ", hex("9000030000000400"), 300)],
  ["ELF program", "ELF executable", () => elf(2)],
  ["position-independent program", "ELF executable", () => elf(3, true)],
  ["ELF library", "ELF shared library", () => elf(3)],
  ["ELF object", "ELF object file", () => elf(1)],
  ["ELF core", "ELF core dump", () => elf(4)],
  ["Mach-O", "Mach-O binary", () => padded(hex("cffaedfe0c000001"))],
  ["Mach-O universal", "Mach-O universal binary", () => padded(hex("cafebabe00000002"))],
  ["Java class", "Java class file", () => padded(hex("cafebabe00000041"))],
  ["DEX", "Android Dalvik executable (DEX)", () => padded("dex\n035\0")],
  ["WebAssembly", "WebAssembly module", () => padded(hex("0061736d01000000"))],
  ["shortcut", "Windows shortcut (LNK)", () => padded(hex("4c0000000114020000000000c000000000000046"))],
  ["Flash", "Adobe Flash (SWF)", () => padded("CWS\x0a")],
  ["gzip", "gzip compressed data", () => gzipSync("hello ".repeat(99))],
  ["tar.gz", "gzip compressed tar archive", () => gzipSync(tar("ustar\x0000"))],
  ["tar", "tar archive", () => tar("ustar\x0000")],
  ["old tar", "tar archive", () => tar("")],
  ["Zstandard", "Zstandard compressed data", () => zstdCompressSync("hello")],
  ["LZ4", "LZ4 compressed data", () => padded(hex("04224d18"))],
  ["7-Zip", "7-Zip archive", () => padded(hex("377abcaf271c0004"))],
  ["RAR 4", "RAR archive", () => padded("Rar!\x1a\x07\0")],
  ["RAR 5", "RAR archive", () => padded("Rar!\x1a\x07\x01\0")],
  ["cabinet", "Microsoft Cabinet archive", () => padded(bytes("MSCF", 4))],
  ["LHA", "LHA archive", () => padded("\x20\x10-lh5-")],
  ["cpio", "cpio archive", () => padded(`070701${"0".repeat(104)}`)],
  ["ar", "Unix ar archive", () => padded("!<arch>\na.o/            0           0     0     644     4         `\n")],
  ["RPM", "RPM package", () => padded(hex("edabeedb03000000"))],
  ["ISO 9660", "ISO 9660 disc image", () => at(32_769, "CD001\x01")],
  ["UDF", "UDF disc image", () => at(32_769, "BEA01\x01")],
  ["DMG, known by its end", "Apple disk image (DMG)", () => bytes(100_000, "koly", hex("00000004"), 504)],
  ["VHD, known by its end", "Virtual hard disk (VHD)", () => bytes(100_000, "conectix", 504)],
  ["VMDK", "VMware disk image (VMDK)", () => padded(bytes("KDMV", hex("01000000")))],
  ["QCOW", "QEMU disk image (QCOW)", () => padded(hex("514649fb00000003"))],
  ["SquashFS", "SquashFS file system", () => padded(bytes("hsqs", 4))],
  ["PNG", "Portable Network Graphics (PNG)", () => png()],
  ["moving PNG", "Animated Portable Network Graphics (APNG)", () => png("acTL")],
  ["JPEG", "JPEG image", () => padded(bytes(hex("ffd8ffe00010"), "JFIF\0"))],
  ["GIF", "Graphics Interchange Format (GIF)", () => padded("GIF89a\x01\0\x01\0")],
  ["bitmap", "Windows bitmap (BMP)", () => bytes("BM", hex("46000000"), 4, hex("36000000"), hex("28000000"), 60)],
  ["WebP", "WebP image", () => riff("WEBP")],
  [
    "TIFF",
    "Tagged Image File Format (TIFF)",
    () => bytes("II*\0", hex("08000000"), hex("0100"), hex("000104000100000001000000"), 64),
  ],
  ["PSD", "Adobe Photoshop document (PSD)", () => padded(bytes("8BPS", hex("0001")))],
  ["icon", "Windows icon (ICO)", () => padded(hex("0000010001002020000001002000300000001600000028000000"))],
  ["JPEG 2000", "JPEG 2000 image", () => padded(hex("0000000c6a5020200d0a870a"))],
  ["JPEG XL", "JPEG XL image", () => padded(hex("0000000c4a584c200d0a870a"))],
  ["HEIC", "High Efficiency Image File (HEIC)", () => ftyp("heic", "mif1heic")],
  ["AVIF", "AV1 Image File Format (AVIF)", () => ftyp("mif1", "avifmif1")],
  ["DICOM", "DICOM medical image", () => at(128, "DICM")],
  ["WAV", "Waveform audio (WAV)", () => riff("WAVE")],
  ["AVI", "Audio Video Interleave (AVI)", () => riff("AVI ")],
  ["MP3 with tag", "MPEG layer 3 audio (MP3)", () => bytes("ID3", hex("04000000000000"), mp3Frames())],
  ["MP3 without tag", "MPEG layer 3 audio (MP3)", mp3Frames],
  ["FLAC", "Free Lossless Audio Codec (FLAC)", () => padded(bytes("fLaC", hex("00000022")))],
  ["FLAC with tag", "Free Lossless Audio Codec (FLAC)", () => bytes("ID3", hex("04000000000004"), 4, "fLaC", 99)],
  ["Ogg Vorbis", "Ogg audio", () => ogg("\x01vorbis")],
  ["Ogg Opus", "Ogg Opus audio", () => ogg("OpusHead")],
  ["Ogg Theora", "Ogg video", () => ogg(Buffer.from("\x80theora", "latin1"))],
  ["MIDI", "MIDI sequence", () => padded(bytes("MThd", hex("00000006")))],
  ["MP4", "MPEG-4 video (MP4)", () => ftyp("isom", "isomiso2mp41")],
  ["M4A", "MPEG-4 audio (M4A)", () => ftyp("M4A ")],
  ["QuickTime", "QuickTime video (MOV)", () => ftyp("qt  ")],
  ["3GP", "3GPP multimedia (3GP)", () => ftyp("3gp5")],
  ["Matroska", "Matroska video (MKV)", () => padded(bytes(hex("1a45dfa3934282"), "\x88matroska"))],
  ["WebM", "WebM video", () => padded(bytes(hex("1a45dfa39f4282"), "\x84webm"))],
  ["FLV", "Flash video (FLV)", () => padded(bytes("FLV\x01", hex("0500000009")))],
  ["ASF", "Advanced Systems Format (ASF, WMV, WMA)", () => padded(hex("3026b2758e66cf11a6d900aa0062ce6c"))],
  ["MPEG", "MPEG video", () => padded(hex("000001ba44000400"))],
  ["transport stream", "MPEG transport stream", transportStream],
  ["WOFF", "Web Open Font Format (WOFF)", () => padded(bytes("wOFF", hex("00010000")))],
  ["WOFF2", "Web Open Font Format 2 (WOFF2)", () => padded(bytes("wOF2", hex("00010000")))],
  ["OpenType", "OpenType font (OTF)", () => padded(bytes("OTTO", hex("000b0080")))],
  ["TrueType", "TrueType font (TTF)", () => padded(bytes(hex("00010000000b008000030030"), "OS/2"))],
  ["SQLite", "SQLite database", () => padded("SQLite format 3\0")],
  ["Parquet", "Apache Parquet", () => bytes("PAR1", hex("1504"), 50, "PAR1")],
  ["HDF5", "Hierarchical Data Format 5 (HDF5)", () => padded(hex("894844460d0a1a0a"))],
  ["pcap", "Packet capture (PCAP)", () => padded(hex("d4c3b2a102000400"))],
  ["pcapng", "Packet capture (PCAPNG)", () => padded(hex("0a0d0d0a1c0000004d3c2b1a"))],
  ["registry hive", "Windows registry hive", () => padded(bytes("regf", hex("01000000")))],
  ["event log", "Windows event log (EVTX)", () => padded("ElfFile\0")],
  ["binary plist", "Apple binary property list", () => padded(bytes("bplist00", hex("d101")))],
  [
    "torrent",
    "BitTorrent metainfo",
    () => bytes("d8:announce20:http://example.com/a4:infod6:pieces20:", hex("00ff"), 18, "ee"),
  ],
  ["message catalogue", "GNU gettext message catalogue", () => padded(hex("de12049500000000"))],
  ["certificate in DER", "X.509 certificate (DER)", () => padded(hex("308203a030820288a003020102"))],
  ["PKCS #12", "PKCS #12 key store", () => padded(hex("308209a60201033082096c06092a"))],
  ["public key of OpenPGP", "OpenPGP key", () => bytes(hex("99010d04653f1a2b0108"), noise(269))],
  ["KeePass", "KeePass database", () => padded(hex("03d9a29a67fb4bb5"))],
  ["OpenSSL", "OpenSSL encrypted data", () => bytes("Salted__", noise(400))],
  ["age", "age encrypted file", () => bytes("age-encryption.org/v1\n-> X25519 x\n", noise(400))],
];
