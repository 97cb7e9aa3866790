// How often the real file type is right, on files whose extension can be trusted; next to libmagic (Debian's `file`).
//   node scripts/file-type-score.mjs [--except hashes.txt] [--quiet] [--most N] folder…
// A name is right if it fits what the table below says of the extension. `--except` names a file of SHA-1 sums, one a
// line, of files whose extension is known to lie; `--most 100` takes at most so many files of an extension. Files with other
// extensions, empty files and links are left out.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { fail, ownNode } from "./setup.mjs";

const ZIP = "Zip archive|ZIP archive";
/** Extensions, and what a right name of such files has in it, be it ours or libmagic's. */
const RIGHT = new Map(
  Object.entries({
    pdf: "PDF",
    doc: "Microsoft (?:Office )?Word|Word 9|Word for|Rich Text",
    "docx dotx": "Microsoft Word (?:document|template|2007)",
    "docm dotm": "Microsoft Word (?:macro|2007)",
    "xls xlt xla": "Microsoft (?:Office )?Excel|Excel 9",
    "xlsx xltx": "Microsoft Excel (?:workbook|template|2007)",
    "xlsm xlsb xltm xlam": "Microsoft Excel (?:macro|binary|2007)",
    "ppt pps": "PowerPoint",
    "pptx ppsx potx": "PowerPoint (?:presentation|slide show|template|2007)",
    "pptm ppsm potm": "PowerPoint (?:macro|2007)",
    "odt odm": "OpenDocument (?:text|master)|OpenDocument Text",
    ods: "OpenDocument spreadsheet|OpenDocument Spreadsheet",
    odp: "OpenDocument presentation|OpenDocument Presentation",
    odg: "OpenDocument drawing|OpenDocument Drawing",
    odf: "OpenDocument formula|OpenDocument Formula",
    odb: "OpenDocument database|OpenDocument Database",
    odc: "OpenDocument chart|OpenDocument Chart",
    ott: "OpenDocument text template|OpenDocument Text Template",
    ots: "OpenDocument spreadsheet template|OpenDocument Spreadsheet Template",
    otp: "OpenDocument presentation template|OpenDocument Presentation Template",
    otg: "OpenDocument drawing template|OpenDocument Drawing Template",
    "fodt fods fodp fodg": "OpenDocument|XML",
    sxw: "OpenOffice.org 1.*(?:text|Writer)",
    sxc: "OpenOffice.org 1.*(?:spreadsheet|Calc)",
    sxi: "OpenOffice.org 1.*(?:presentation|Impress)",
    sxd: "OpenOffice.org 1.*(?:drawing|Draw)",
    sdw: "StarOffice Writer|StarWriter",
    sdc: "StarOffice Calc|StarCalc",
    "sdd sda": "StarOffice (?:Impress|Draw)|StarDraw|StarImpress",
    rtf: "Rich Text",
    "wps wks": "Works|Lotus",
    wri: "Microsoft Write|Windows Write",
    wpd: "WordPerfect|Word ?Perfect",
    wpg: "WordPerfect [Gg]raphic|WPG",
    pages: "Pages",
    numbers: "Numbers",
    key: "Keynote|[kK]ey|PGP",
    hwp: "Hangul|Hancom|HWP",
    hwpx: "Hangul|Hancom|HWPX?",
    vsd: "Visio",
    "vsdx vsdm": "Visio|Microsoft OOXML",
    pub: "Publisher",
    mpp: "Project",
    "msg oft": "Outlook",
    one: "OneNote",
    onetoc2: "OneNote",
    "wk1 wk3 wk4 123": "Lotus",
    "wb1 wb2 wb3 wq1 qpw": "Quattro",
    abw: "AbiWord",
    gnumeric: "Gnumeric|gzip",
    fb2: "FictionBook",
    epub: "EPUB",
    "mobi azw": "Mobipocket",
    lit: "Microsoft Reader",
    lrf: "BroadBand eBook|LRF",
    chm: "HTML [Hh]elp",
    "djvu djv": "DjVu",
    "xps oxps": "XPS|XML Paper|Microsoft OOXML",
    idml: "InDesign",
    indd: "InDesign",
    eml: "[Ee]?mail message|mail|news|MIME entity|MHTML|RFC 822",
    mbox: "mbox|mail|Mailbox",
    "mht mhtml": "MHTML|MIME entity|mail|Email",
    ics: "iCalendar|vCalendar",
    vcf: "vCard",
    "zip zipx": `${ZIP}|archive`,
    jar: `Java|JAR|${ZIP}`,
    war: `Java|JAR|${ZIP}`,
    apk: "Android",
    xpi: `Mozilla|${ZIP}`,
    crx: "Chrome",
    whl: `wheel|${ZIP}`,
    "3mf": "3D Manufacturing|Microsoft OOXML",
    "7z": "7-[Zz]ip",
    rar: "RAR",
    tar: "tar archive",
    tgz: "gzip",
    gz: "gzip|[sS]VG|SVGZ|AbiWord|Gnumeric",
    "bz2 tbz2": "bzip2",
    "xz txz": "XZ",
    zst: "Zstandard",
    lz4: "LZ4",
    lzo: "lzop",
    lz: "lzip",
    lzma: "LZMA",
    Z: "compress'd",
    arj: "ARJ",
    "lha lzh": "LHA|LHa|LHarc",
    cab: "Cabinet|InstallShield",
    zoo: "Zoo|ZOO",
    ace: "ACE archive",
    cpio: "cpio",
    deb: "Debian",
    rpm: "RPM",
    iso: "ISO 9660|UDF",
    vhd: "VHD|Virtual hard disk|Virtual PC",
    vhdx: "VHDX|Microsoft Disk Image",
    vmdk: "VMware",
    vdi: "VirtualBox",
    "qcow qcow2": "QCOW",
    "squashfs sqsh": "[Ss]quash[Ff][Ss]",
    xar: "[Xx]ar archive",
    "wim swm": "WIM|Windows imaging",
    sit: "StuffIt",
    hqx: "BinHex",
    "uu uue": "uuencoded",
    png: "PNG",
    "jpg jpeg": "JPEG",
    gif: "GIF",
    bmp: "bitmap|BMP",
    "tif tiff": "TIFF|BigTIFF",
    webp: "WebP|Web/P",
    "jp2 j2k jpx": "JPEG 2000",
    jxl: "JPEG XL",
    heic: "HEIC|HEIF|High Efficiency",
    avif: "AVIF",
    ico: "[iI]con",
    cur: "[cC]ursor",
    ani: "animated cursor",
    tga: "Targa",
    pcx: "PCX",
    psd: "Photoshop",
    xcf: "GIMP",
    svg: "SVG",
    svgz: "SVG|gzip",
    emf: "[eE]nhanced [mM]etafile|EMF",
    wmf: "metafile|WMF",
    "pict pct": "PICT",
    pbm: "Netpbm|PBM",
    pgm: "Netpbm|PGM",
    ppm: "Netpbm|PPM",
    pnm: "Netpbm|P[BGP]M",
    pam: "Netpbm|PAM",
    xpm: "X pixmap|XPM",
    xbm: "X bitmap|XBM|xbm image",
    dcm: "DICOM",
    fits: "FITS",
    dds: "DirectDraw|DDS",
    exr: "OpenEXR",
    sgi: "SGI",
    ras: "Sun raster",
    cr2: "Canon",
    nef: "Nikon|TIFF",
    arw: "Sony|TIFF",
    dng: "Digital Negative|DNG|TIFF",
    raf: "Fuji",
    orf: "Olympus",
    rw2: "Panasonic",
    "jb2 jbig2": "JBIG2",
    bpg: "BPG|Better Portable Graphics",
    blp: "BLP|Blizzard",
    icns: "[Ii]con",
    eps: "PostScript",
    ps: "PostScript",
    ai: "PDF|PostScript|Illustrator",
    dxf: "DXF|Drawing [Ee]xchange",
    dwg: "AutoCAD|DWG",
    stl: "STL|[Ss]tereolithography",
    ply: "PLY|[pP]olygon",
    glb: "glTF",
    "3ds": "3D Studio|3ds",
    blend: "Blender",
    dae: "COLLADA|XML",
    cgm: "CGM|Computer Graphics Metafile",
    cdr: "Corel",
    mp3: "MPEG ADTS, layer III|MP3|ID3",
    mp2: "MP2|layer II\\b|MPEG",
    aac: "AAC",
    m4a: "M4A|AAC|MPEG v4|ISO Media",
    flac: "FLAC",
    wav: "WAV",
    "aif aiff aifc": "AIFF|Audio Interchange",
    au: "Sun/NeXT audio",
    "mid midi": "MIDI",
    amr: "AMR|Adaptive Multi-Rate",
    "ogg oga ogv spx": "Ogg",
    opus: "Opus",
    ape: "Monkey's Audio",
    wv: "WavPack",
    caf: "Core Audio",
    ac3: "AC-3|ATSC A/52",
    "mp4 m4v": "MP4|MPEG-4|MPEG v4|M4V|ISO Media",
    mov: "QuickTime",
    "3gp": "3GPP|MPEG v4",
    mkv: "Matroska",
    webm: "WebM",
    avi: "AVI",
    flv: "Flash [vV]ideo",
    "wmv wma asf": "ASF|Microsoft ASF",
    "mpg mpeg": "MPEG",
    mts: "MPEG transport",
    mpc: "Musepack",
    tta: "True Audio",
    voc: "Creative (?:Labs )?[vV]oice",
    ttf: "TrueType|OpenType",
    otf: "OpenType|TrueType",
    ttc: "TrueType font collection|OpenType font collection",
    woff: "Web Open Font Format(?!.*2)",
    woff2: "Web Open Font Format.*2",
    eot: "Embedded OpenType",
    pfb: "PostScript Type 1|Type 1 font",
    pfa: "PostScript Type 1|Type 1 font",
    dfont: "Mac.*resource|resource fork|Mac OS X datafork font|DFONT|suitcase",
    pcf: "X11 Portable Compiled Font|PCF",
    bdf: "X11 BDF|BDF",
    "sqlite sqlite3": "SQLite",
    mdb: "Access",
    accdb: "Access",
    "pst ost": "Outlook",
    dbf: "dBASE|dBase|FoxBase|FoxPro",
    parquet: "Parquet",
    avro: "Avro",
    "hdf5 h5": "Hierarchical Data Format",
    nc: "NetCDF|Hierarchical Data Format",
    mat: "M[Aa][Tt][Ll][Aa][Bb]|Matlab",
    pcap: "[pP]acket capture|capture file",
    pcapng: "[pP]acket capture|capture file|pcapng",
    evtx: "[eE]vent log|Event Log",
    torrent: "BitTorrent",
    "mo gmo": "message catalog",
    class: "Java class",
    dex: "Dalvik|DEX",
    wasm: "WebAssembly",
    swf: "Flash",
    exe: "executable|program|assembly|PE32",
    dll: "dynamic link library|DLL|assembly",
    elf: "ELF",
    so: "ELF|text",
    o: "ELF|Mach-O|object|COFF|bitcode",
    lnk: "shortcut",
    "p7m p7s": "PKCS ?#?7|CMS|S/MIME|mail|MIME|PEM",
    "p12 pfx": "PKCS ?#?12",
    pem: "PEM|OpenSSH",
    asc: "PGP",
    gpg: "PGP",
    "html htm": "HTML",
    xhtml: "HTML",
    xml: "XML|RSS|Atom|SVG|OpenDocument|AbiWord|HTML|KML|property list|XSL",
    json: "JSON",
    csv: "CSV",
    tsv: "Tab-separated|TSV",
    "yaml yml": "YAML",
    vtt: "WebVTT",
    srt: "SubRip",
    m3u: "M3U",
    plist: "property list",
    reg: "[rR]egistry",
    url: "shortcut",
    desktop: "[dD]esktop [eE]ntry",
    kml: "KML|Keyhole",
    kmz: `KMZ|Keyhole|${ZIP}`,
    gpx: "GPS|GPX",
    js: "JavaScript|Node",
    py: "Python",
    sh: "[sS]hell script",
    pl: "Perl",
    rb: "Ruby",
    php: "PHP",
    lua: "Lua",
    ps1: "PowerShell",
    bat: "batch file",
    vbs: "VBScript|Visual Basic",
    sql: "SQL",
    tex: "TeX",
    md: "Markdown",
    css: "CSS|Cascading",
    "c h": "C source|C\\+\\+ source",
    java: "Java source",
  }).flatMap(([extensions, pattern]) => extensions.split(" ").map((extension) => [extension, new RegExp(pattern)])),
);

if (Number(process.versions.node.split(".")[0]) < 24) {
  const again = spawnSync(ownNode, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: "inherit" });
  process.exit(again.status ?? 1);
}

const { values, positionals: folders } = parseArgs({
  options: { except: { type: "string" }, most: { type: "string" }, quiet: { type: "boolean" } },
  allowPositionals: true,
});
if (folders.length === 0) fail("no folder to look into", "node scripts/file-type-score.mjs folder…");
const most = Number(values.most ?? Number.POSITIVE_INFINITY);
const excepted = new Set(values.except ? readFileSync(values.except, "utf8").match(/[0-9a-f]{40}/g) : []);
const { fileTypeOf } = await import("../packages/server/src/engines/file-type/file-type.ts");
const { sampleOf } = await import("../packages/server/src/engines/file-type/sample.ts");

const files = atMost(folders.flatMap(filesOf).map((path) => ({ path, extension: extensionOf(path) })));
const magic = namesByLibmagic(files.map(({ path }) => path));
const score = { files: 0, ours: 0, libmagic: 0 };
for (const [index, { path, extension }] of files.entries()) {
  const bytes = readFileSync(path);
  if (bytes.length === 0 || excepted.has(createHash("sha1").update(bytes).digest("hex"))) continue;
  const name = fileTypeOf(sampleOf(bytes));
  const pattern = RIGHT.get(extension) ?? /$^/;
  const [isRight, isRightByMagic] = [pattern.test(name), pattern.test(magic[index] ?? "")];
  score.files += 1;
  score.ours += isRight ? 1 : 0;
  score.libmagic += isRightByMagic ? 1 : 0;
  if (!isRight && !values.quiet) console.log(`${path}: ${name} (libmagic: ${(magic[index] ?? "").slice(0, 60)})`);
}
const percent = (count) => `${((100 * count) / Math.max(1, score.files)).toFixed(2)} %`;
console.log(`${score.files} files: ours right ${score.ours} (${percent(score.ours)}),`);
console.log(`libmagic ${score.libmagic} (${percent(score.libmagic)})`);

/** Plain files, by name. */
function filesOf(folder) {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile());
  return entries.map(({ parentPath, name }) => join(parentPath, name)).sort();
}

/** Those whose extension the table has, at most so many of each. */
function atMost(found) {
  const counts = new Map();
  return found.filter(({ extension }) => {
    counts.set(extension, (counts.get(extension) ?? 0) + 1);
    return RIGHT.has(extension) && counts.get(extension) <= most;
  });
}

/** In lower case, but for the one that differs from another by its case. */
function extensionOf(path) {
  const extension = path.slice(path.lastIndexOf(".") + 1);
  return extension === "Z" ? extension : extension.toLowerCase();
}

function namesByLibmagic(paths) {
  const { stdout } = spawnSync("file", ["-b", "-f", "-"], {
    input: paths.join("\n"),
    maxBuffer: 2 ** 30,
    encoding: "utf8",
  });
  return stdout.split("\n");
}
