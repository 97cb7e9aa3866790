import { deflateSync, gzipSync } from "node:zlib";
import type { SampleFile } from "../sample-files.ts";
import { bytes, hex, mp3Frames, padded } from "./binaries.ts";
import { compoundFile } from "./documents.ts";
import { noise } from "./noise.ts";
import { makeZip } from "./zip-maker.ts";

const TGA = "Truevision Targa image (TGA)";
const PICT = "Apple QuickDraw picture (PICT)";
const WORKS = "Microsoft Works document (OLE2)";

/** A picture of 8 × 4 pixels in 24 bits, without the footer that newer ones have. */
const tga = (type: number, pixels: Uint8Array): Buffer =>
  bytes(hex(`0000${type.toString(16).padStart(2, "0")}`), 9, hex("080004001800"), pixels);
const pcx = (): Buffer => bytes(hex("0a050108"), hex("000000000700030048004800"), 48, hex("00010800"), 60, noise(64));
const pict = (version: string): Buffer => bytes(512, hex("00a00000000000200020"), hex(version), 80);
const stl = (triangles: number, size = 84 + 50 * triangles): Buffer => {
  const file = Buffer.alloc(size, 1);
  file.write("made by a test", 0);
  file.writeUInt32LE(triangles, 80);
  return file;
};

/** A resource fork in a file of its own, with one resource of a type. */
function resourceFork(type: string): Buffer {
  const map = Buffer.alloc(50);
  map.writeUInt16BE(28, 24);
  map.write(type, 30, "latin1");
  const header = Buffer.alloc(256);
  for (const [at, value] of [256, 300, 44, 50].entries()) header.writeUInt32BE(value, 4 * at);
  return bytes(header, hex("00000028"), 40, map);
}

/** ID3v2 before other sound; with a picture in it, it is larger than a sample. */
function tagged(sound: Uint8Array, tagBytes = 20): Buffer {
  const size = [21, 14, 7, 0].map((shift) => (tagBytes >> shift) & 0x7f);
  return bytes("ID3", hex("0300"), 1, Uint8Array.from(size), tagBytes, sound);
}
const aac = (): Buffer => bytes(...Array.from({ length: 9 }, () => bytes(hex("fff15080080000fc"), 56)));
const ac3 = (): Buffer => bytes(...Array.from({ length: 4 }, () => bytes(hex("0b77000000"), hex("40"), 122)));
const flac = (): Buffer => bytes("fLaC", hex("00000022"), 99);

/** Signed, enveloped or compressed data, with a length that is known or left open. */
const pkcs7 = (kind: string, length = "82040a"): Buffer =>
  bytes(hex(`30${length}06092a864886f70d0107${kind}`), noise(200));

/** The document record of an iWork '13 file: a chunk, its length, a literal, the identifier and the type of the first record. */
const iwa = (type: string): Buffer => bytes(hex("00400000500c0a0801120608"), hex(type), 60);
const iwork = (type: string, ...others: string[]): Buffer =>
  makeZip([
    { name: "Index/Document.iwa", content: iwa(type), stored: true },
    { name: "Index/CalculationEngine.iwa", stored: true },
    { name: "Index/Tables/DataList.iwa", stored: true },
    ...others.map((name) => ({ name, stored: true })),
  ]);
const oldIwork = (name: string, root: string, more = ""): Buffer =>
  makeZip([
    { name, content: `<?xml version="1.0"?>\n<${root} xmlns:sfa="http://developer.apple.com/namespaces/sfa">${more}` },
    { name: "thumbs/PageCapThumbV2-1.tiff" },
  ]);
const named = (mimetype: string, ...others: string[]): Buffer =>
  makeZip([{ name: "mimetype", content: mimetype, stored: true }, ...others.map((name) => ({ name, content: "x" }))]);
/** A compound file whose directory lies in the middle of it, out of both ends. */
function largeCompoundFile(stream: string): Buffer {
  const small = compoundFile("", [stream]);
  const file = Buffer.alloc(600_000);
  small.copy(file, 0, 0, 512);
  small.copy(file, 300_032, 1024, 1536);
  file.writeUInt32LE(300_032 / 512 - 1, 48);
  return file;
}

const PNG_START = hex("89504e470d0a1a0a");
const FITS = `SIMPLE  =${" ".repeat(20)}T${" ".repeat(50)}BITPIX  = 8`.padEnd(2880);

export const RARER_FILES: readonly SampleFile[] = [
  ["TGA", TGA, () => tga(2, noise(96))],
  ["TGA, packed", TGA, () => tga(10, noise(70))],
  ["TGA by its end", TGA, () => bytes(noise(100), "TRUEVISION-XFILE.", 1)],
  ["a header of a TGA without room for its pixels", "data", () => tga(2, noise(40))],
  ["cursor", "Windows cursor (CUR)", () => padded(hex("0000020001002020000001002000300000001600000028000000"))],
  ["PCX", "PC Paintbrush image (PCX)", pcx],
  ["a line feed and more bytes", "data", () => bytes(hex("0a05010800000000ffff"), noise(200))],
  ["PICT 2", PICT, () => pict("001102ff0c00")],
  ["PICT 1", PICT, () => pict("110101000a")],
  ["JBIG2", "JBIG2 image", () => padded(hex("974a42320d0a1a0a01"))],
  ["BPG", "Better Portable Graphics (BPG)", () => padded(hex("425047fb2000"))],
  ["BLP 1", "Blizzard texture (BLP)", () => padded(bytes("BLP1", hex("01000000")))],
  ["BLP 2", "Blizzard texture (BLP)", () => padded(bytes("BLP2", hex("01000000")))],
  ["PBM, bits", "Portable bitmap (PBM)", () => bytes("P4\n# made by hand\n8 8\n", noise(8))],
  ["PGM, text", "Portable graymap (PGM)", () => Buffer.from("P2\n2 2\n255\n0 1\n2 3\n")],
  ["PPM, bytes", "Portable pixmap (PPM)", () => bytes("P6 4 4 255\n", noise(48))],
  ["a text about P4", "ASCII text", () => Buffer.from("P4 is the name of a bitmap with bits.\n")],
  ["XPM", "X pixmap (XPM)", () => Buffer.from('/* XPM */\nstatic char *x[] = {\n"1 1 1 1",\n"a c #000",\n"a"};\n')],
  [
    "XBM",
    "X bitmap (XBM)",
    () => Buffer.from("#define a_width 8\n#define a_height 1\nstatic char a_bits[] = { 0x1 };\n"),
  ],
  ["FITS", "Flexible Image Transport System (FITS)", () => bytes(FITS, 2880)],
  [
    "DXF",
    "AutoCAD Drawing Exchange Format (DXF)",
    () => Buffer.from("  0\r\nSECTION\r\n  2\r\nHEADER\r\n  0\r\nEOF\r\n"),
  ],
  ["STL", "Stereolithography model (STL)", () => stl(3)],
  [
    "STL as text",
    "Stereolithography model (STL)",
    () => Buffer.from("solid a\n facet normal 0 0 1\n endfacet\nendsolid a\n"),
  ],
  ["what has the count of an STL, and another size", "data", () => stl(3, 300)],
  ["old WMF", "Windows metafile (WMF)", () => padded(hex("0100090000034d00000004000900"))],
  ["AC-3", "Dolby Digital audio (AC-3)", ac3],
  ["one frame of AC-3 and noise", "data", () => bytes(hex("0b7700000040"), noise(400))],
  ["AAC", "Advanced Audio Coding (AAC)", aac],
  ["AAC behind ID3", "Advanced Audio Coding (AAC)", () => tagged(aac())],
  [
    "FLAC behind ID3 with a large picture",
    "Free Lossless Audio Codec (FLAC)",
    () => bytes(tagged(flac(), 200_000), 200_000),
  ],
  [
    "MP3 behind ID3 with a large picture",
    "MPEG layer 3 audio (MP3)",
    () => bytes(tagged(mp3Frames(), 200_000), 200_000),
  ],
  [
    "MP4 with sound alone",
    "MPEG-4 audio (M4A)",
    () => bytes(hex("00000018"), "ftypisom", 12, hex("00000020"), "hdlr", 8, "soun", 99),
  ],
  [
    "HEIC that hides its brand",
    "High Efficiency Image File (HEIC)",
    () => bytes(hex("00000018"), "ftyp        heic", 99),
  ],
  ["dfont", "Mac OS X font suitcase (DFONT)", () => resourceFork("sfnt")],
  ["a resource fork without fonts", "data", () => resourceFork("PICT")],
  ["zlib, best", "zlib compressed data", () => deflateSync(noise(500), { level: 9 })],
  ["zlib, no compression", "zlib compressed data", () => deflateSync(noise(500), { level: 0 })],
  ["two bytes like those of zlib", "data", () => bytes(hex("789c07"), noise(300))],
  [
    "dBASE",
    "dBASE table (DBF)",
    () => bytes(hex("0378071f02000000410006000000"), 18, "NAME", 7, "C", 20, hex("0d"), " ab   ", " cd   "),
  ],
  ["p7m, signed", "PKCS #7 signed data (DER)", () => pkcs7("02")],
  ["p7m, signed, written to a stream", "PKCS #7 signed data (DER)", () => pkcs7("02", "80")],
  ["p7m, encrypted", "PKCS #7 encrypted message (DER)", () => pkcs7("03")],
  ["another object of ASN.1", "data", () => bytes(hex("3082040a06032a0304"), noise(200))],
  ["message catalogue, newer", "GNU gettext message catalogue", () => padded(hex("de12049501000100"))],
  ["RAR 1.4", "RAR archive", () => padded(hex("52457e5e0700"))],
  ["LZMA", "LZMA compressed data", () => bytes(hex("5d00008000ffffffffffffffff00"), noise(60))],
  ["LZMA of known size", "LZMA compressed data", () => bytes(hex("5d00008000100000000000000000"), noise(60))],
  ["last part of a ZIP", "ZIP archive", () => bytes(noise(300), "PK\x05\x06", 18)],
  ["RIFF of another kind", "Resource Interchange File Format (RIFF)", () => bytes("RIFF", hex("24000000"), "XYZW", 60)],
  ["large doc", "Microsoft Word 97-2003 document (OLE2)", () => largeCompoundFile("WordDocument")],
  ["large ppt", "Microsoft PowerPoint 97-2003 presentation (OLE2)", () => largeCompoundFile("PowerPoint Document")],
  ["Works, text", WORKS, () => compoundFile("", ["MatOST", "MM", "CompObj"])],
  ["Works, spreadsheet", WORKS, () => compoundFile("", ["WksSSWorkBook"])],
  ["Project", "Microsoft Project plan (OLE2)", () => compoundFile("3a8fb774c8c8d111be1100c04fb6faf1", ["Props9"])],
  ["Project by its streams", "Microsoft Project plan (OLE2)", () => compoundFile("", ["Props14", "   114"])],
  ["HWP 5", "Hancom Hangul document (OLE2)", () => compoundFile("", ["FileHeader", "\x05HwpSummaryInformation"])],
  ["HWP 3", "Hancom Hangul document (HWP 3)", () => padded("HWP Document File V3.00 \x1a\x01\x02\x03\x04\x05")],
  ["HWPX", "Hancom Hangul document (HWPX)", () => named("application/hwp+zip", "Contents/content.hpf")],
  ["sdw", "StarOffice Writer document (OLE2)", () => compoundFile("", ["StarWriterDocument"])],
  ["sdc", "StarOffice Calc spreadsheet (OLE2)", () => compoundFile("", ["StarCalcDocument"])],
  ["sdd", "StarOffice Impress presentation (OLE2)", () => compoundFile("", ["StarDrawDocument3"])],
  [
    "sda",
    "StarOffice Draw drawing (OLE2)",
    () => compoundFile("a005892ebd85d11189d0008029e4b0b1", ["StarDrawDocument3"]),
  ],
  ["sxw", "OpenOffice.org 1 text (SXW)", () => named("application/vnd.sun.xml.writer", "content.xml")],
  ["Quattro Pro 7 and later", "Quattro Pro spreadsheet (OLE2)", () => compoundFile("", ["NativeContent_MAIN"])],
  ["Quattro Pro for DOS", "Quattro Pro spreadsheet (WQ1)", () => padded(hex("000002002051"))],
  ["Quattro Pro 1 for Windows", "Quattro Pro spreadsheet (WB1)", () => padded(hex("000002000110"))],
  ["Quattro Pro 5", "Quattro Pro spreadsheet (WB2)", () => padded(hex("000002000210"))],
  ["WordPerfect in OLE2", "WordPerfect document (OLE2)", () => compoundFile("", ["PerfectOffice_MAIN"])],
  ["WordPerfect graphics", "WordPerfect graphics (WPG)", () => padded(hex("ff575043100000000116"))],
  ["Lotus WK1", "Lotus 1-2-3 spreadsheet (WK1)", () => padded(hex("0000020006040600"))],
  ["Lotus WK3", "Lotus 1-2-3 spreadsheet (WK3)", () => padded(hex("00001a0000100400"))],
  ["Lotus WK4", "Lotus 1-2-3 spreadsheet (WK4)", () => padded(hex("00001a0002100400"))],
  ["Works spreadsheet before OLE2", "Microsoft Works spreadsheet", () => padded(hex("ff00020004040554"))],
  ["Word 2", "Microsoft Word document (before Word 97)", () => padded(hex("dba52d00"))],
  ["Word for DOS", "Microsoft Write or Word for DOS document", () => padded(hex("31be000000ab"))],
  ["Excel 4", "Microsoft Excel workbook (before Excel 97)", () => padded(hex("0904060000001000"))],
  [
    "patch of an installer",
    "Windows Installer patch (MSP)",
    () => compoundFile("86100c0000000000c000000000000046", []),
  ],
  [
    "Outlook template",
    "Microsoft Outlook message template (OLE2)",
    () => compoundFile("46f0060000000000c000000000000046", []),
  ],
  ["Thumbs.db", "Windows thumbnail cache (OLE2)", () => compoundFile("", ["1", "Catalog"])],
  ["Pages '13", "Apple Pages document", () => iwork("904e")],
  ["Numbers '13", "Apple Numbers spreadsheet", () => iwork("01")],
  ["Keynote '13 with a table", "Apple Keynote presentation", () => iwork("01", "Index/Slide.iwa")],
  ["Pages '09", "Apple Pages document", () => oldIwork("index.xml", "sl:document")],
  ["Numbers '09", "Apple Numbers spreadsheet", () => oldIwork("index.xml", "ls:document")],
  [
    "a large Numbers '09",
    "Apple Numbers spreadsheet",
    () => oldIwork("index.xml", "ls:document", "<sf:cell/>".repeat(200_000)),
  ],
  ["Monkey's Audio 3.90", "Monkey's Audio (APE)", () => bytes("MAC ", hex("3c0fa00f16000200"), 90)],
  ["Keynote '09", "Apple Keynote presentation", () => oldIwork("index.apxl", "key:presentation")],
  [
    "the part of a Keynote '08 bundle",
    "Apple Keynote presentation",
    () => gzipSync('<?xml version="1.0"?><key:presentation xmlns:key="k"/>'),
  ],
  ["a ZIP with an index", "ZIP archive", () => makeZip([{ name: "index.html" }, { name: "Index/a.txt" }])],
  [
    "IDML",
    "Adobe InDesign markup document (IDML)",
    () => named("application/vnd.adobe.indesign-idml-package", "META-INF/container.xml", "designmap.xml"),
  ],
  [
    "SVGZ",
    "Scalable Vector Graphics, gzip compressed (SVGZ)",
    () => gzipSync('<svg xmlns="http://www.w3.org/2000/svg"/>'),
  ],
  ["AbiWord", "AbiWord document", () => Buffer.from('<?xml version="1.0"?>\n<abiword version="1.0"></abiword>\n')],
  [
    "a picture with a PDF behind it",
    "Portable Network Graphics (PNG)",
    () => bytes(PNG_START, 99, "%PDF-1.4\n1 0 obj\n<<>>\nendobj\n%%EOF\n"),
  ],
  [
    "PostScript without its first line",
    "PostScript document",
    () => Buffer.from("% a library\n/square { dup mul } bind def\n/pi 3.1415 def\n"),
  ],
  [
    "a script for an unknown interpreter",
    "Script with an interpreter line",
    () => Buffer.from("#!/opt/own/thing\nx\n"),
  ],
  [
    "YAML with shell in it",
    "YAML text",
    () => Buffer.from("on: push\njobs:\n  a:\n    run: |\n      if [ -e x ]; then\n        rm x\n      fi\n"),
  ],
  ["JSON with a mistake", "JSON text", () => Buffer.from('{\n  "a": [1, 2,],\n}\n')],
  ["table with rows that end early", "CSV text", () => Buffer.from("a,b,c,d\n1,2,3\n4,5,6\n7,8,9,10\n")],
  ["Markdown by its title", "Markdown text", () => Buffer.from("# Title\n\nA text with `code` in it.\n\n## More\n")],
];
