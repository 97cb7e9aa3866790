import type { SampleFile } from "../sample-files.ts";
import { noise } from "./noise.ts";
import { makeZip, type ZipEntry } from "./zip-maker.ts";

const OFFICE = "application/vnd.openxmlformats-officedocument.";

interface OfficeParts {
  /** Content type of the main part. */
  type: string;
  folder: string;
  main: string;
  macros?: string;
  extra?: readonly ZipEntry[];
}

/** An Office document: parts, and the list of their content types, at the start or, as some writers do, at the end. */
function office({ type, folder, main, macros, extra = [] }: OfficeParts, listLast = false): Buffer {
  const macroType = macros
    ? `<Override PartName="/${folder}/${macros}" ContentType="application/vnd.ms-office.vbaProject"/>`
    : "";
  const list: ZipEntry = {
    name: "[Content_Types].xml",
    content: `<?xml version="1.0"?><Types><Override PartName="/${folder}/${main}" ContentType="${type}"/>${macroType}</Types>`,
  };
  const parts: ZipEntry[] = [
    { name: "_rels/.rels", content: "<Relationships/>" },
    { name: `${folder}/${main}`, content: "<x/>".repeat(50) },
    ...(macros ? [{ name: `${folder}/${macros}`, content: "macro" }] : []),
    ...extra,
  ];
  return makeZip(listLast ? [...parts, list] : [list, ...parts]);
}

const word = (type: string, macros?: string): OfficeParts => ({
  type,
  folder: "word",
  main: "document.xml",
  ...(macros ? { macros } : {}),
});
const excel = (type: string, macros?: string): OfficeParts => ({
  type,
  folder: "xl",
  main: "workbook.xml",
  ...(macros ? { macros } : {}),
});
const slides = (type: string, macros?: string): OfficeParts => ({
  type,
  folder: "ppt",
  main: "presentation.xml",
  ...(macros ? { macros } : {}),
});

/** 300 KB that do not shrink: pushes what follows out of the first 64 KB. */
const picture = (): ZipEntry => ({ name: "word/media/image1.png", content: noise(300_000), stored: true });
const DOCX = `${OFFICE}wordprocessingml.document.main+xml`;
const DOCM = "application/vnd.ms-word.document.macroEnabled.main+xml";

function openDocument(kind: string): Buffer {
  return makeZip([
    { name: "mimetype", content: `application/vnd.oasis.opendocument.${kind}`, stored: true },
    { name: "content.xml", content: "<office:document-content/>" },
    { name: "META-INF/manifest.xml", content: "<manifest:manifest/>" },
  ]);
}

/** A compound file with a root of the given class and streams of the given names. */
export function compoundFile(rootClass: string, streams: readonly string[]): Buffer {
  const header = Buffer.alloc(512);
  Buffer.from("d0cf11e0a1b11ae1", "hex").copy(header);
  header.writeUInt16LE(0x3e, 24);
  header.writeUInt16LE(3, 26);
  header.writeUInt16LE(0xfffe, 28);
  header.writeUInt16LE(9, 30);
  header.writeUInt32LE(1, 44);
  header.writeUInt32LE(1, 48);
  const entries = ["Root Entry", ...streams].map((name, place) => {
    const entry = Buffer.alloc(128);
    entry.write(name, "utf16le");
    entry.writeUInt16LE(2 * name.length + 2, 64);
    entry[66] = place === 0 ? 5 : 2;
    if (place === 0) Buffer.from(rootClass, "hex").copy(entry, 80);
    return entry;
  });
  return Buffer.concat([header, Buffer.alloc(512, 0xff), ...entries, Buffer.alloc(2048)]);
}

const zip = (...names: string[]): Buffer => makeZip(names.map((name) => ({ name, content: `content of ${name}` })));
const rels = ["[Content_Types].xml", "_rels/.rels"];

export const DOCUMENTS: readonly SampleFile[] = [
  [
    "PDF",
    "Adobe Portable Document Format (PDF)",
    () => Buffer.from("%PDF-1.7\n1 0 obj\n<<>>\nendobj\nstartxref\n9\n%%EOF\n"),
  ],
  [
    "PDF behind other bytes",
    "Adobe Portable Document Format (PDF)",
    () =>
      Buffer.concat([Buffer.alloc(700, 0x80), Buffer.from("%PDF-1.4\n1 0 obj\n<<>>\nendobj\nstartxref\n9\n%%EOF\n")]),
  ],
  ["docx", "Microsoft Word document (OOXML)", () => office(word(DOCX))],
  ["docx with its list last", "Microsoft Word document (OOXML)", () => office(word(DOCX), true)],
  [
    "docm with its list behind 300 KB of picture",
    "Microsoft Word macro-enabled document (OOXML)",
    () => office({ ...word(DOCM, "vbaProject.bin"), extra: [picture()] }, true),
  ],
  [
    "docm whose macros have another name",
    "Microsoft Word macro-enabled document (OOXML)",
    () => office(word(DOCM, "m.bin")),
  ],
  ["docx with macros", "Microsoft Word macro-enabled document (OOXML)", () => office(word(DOCX, "vbaProject.bin"))],
  ["dotx", "Microsoft Word template (OOXML)", () => office(word(`${OFFICE}wordprocessingml.template.main+xml`))],
  [
    "dotm",
    "Microsoft Word macro-enabled template (OOXML)",
    () => office(word("application/vnd.ms-word.template.macroEnabledTemplate.main+xml", "vbaProject.bin")),
  ],
  ["xlsx", "Microsoft Excel workbook (OOXML)", () => office(excel(`${OFFICE}spreadsheetml.sheet.main+xml`))],
  [
    "xlsm",
    "Microsoft Excel macro-enabled workbook (OOXML)",
    () => office(excel("application/vnd.ms-excel.sheet.macroEnabled.main+xml", "vbaProject.bin")),
  ],
  ["xltx", "Microsoft Excel template (OOXML)", () => office(excel(`${OFFICE}spreadsheetml.template.main+xml`))],
  ["xlsb", "Microsoft Excel binary workbook (OOXML)", () => zip(...rels, "xl/workbook.bin")],
  [
    "xlam",
    "Microsoft Excel macro-enabled add-in (OOXML)",
    () => office(excel("application/vnd.ms-excel.addin.macroEnabled.main+xml", "vbaProject.bin")),
  ],
  [
    "pptx",
    "Microsoft PowerPoint presentation (OOXML)",
    () => office(slides(`${OFFICE}presentationml.presentation.main+xml`)),
  ],
  [
    "pptm",
    "Microsoft PowerPoint macro-enabled presentation (OOXML)",
    () => office(slides("application/vnd.ms-powerpoint.presentation.macroEnabled.main+xml", "vbaProject.bin")),
  ],
  [
    "ppsx",
    "Microsoft PowerPoint slide show (OOXML)",
    () => office(slides(`${OFFICE}presentationml.slideshow.main+xml`)),
  ],
  ["potx", "Microsoft PowerPoint template (OOXML)", () => office(slides(`${OFFICE}presentationml.template.main+xml`))],
  [
    "vsdx",
    "Microsoft Visio drawing (OOXML)",
    () => office({ type: "application/vnd.ms-visio.drawing.main+xml", folder: "visio", main: "document.xml" }),
  ],
  [
    "doc",
    "Microsoft Word 97-2003 document (OLE2)",
    () => compoundFile("0609020000000000c000000000000046", ["WordDocument"]),
  ],
  ["doc without class", "Microsoft Word 97-2003 document (OLE2)", () => compoundFile("", ["1Table", "WordDocument"])],
  [
    "xls",
    "Microsoft Excel 97-2003 workbook (OLE2)",
    () => compoundFile("2008020000000000c000000000000046", ["Workbook"]),
  ],
  ["xls of Excel 95", "Microsoft Excel 97-2003 workbook (OLE2)", () => compoundFile("", ["Book"])],
  [
    "ppt",
    "Microsoft PowerPoint 97-2003 presentation (OLE2)",
    () => compoundFile("108d81649b4fcf1186ea00aa00b929e8", ["PowerPoint Document"]),
  ],
  [
    "msg",
    "Microsoft Outlook message (OLE2)",
    () => compoundFile("", ["__nameid_version1.0", "__properties_version1.0"]),
  ],
  ["msi", "Windows Installer package (MSI)", () => compoundFile("84100c0000000000c000000000000046", ["x"])],
  [
    "encrypted docx",
    "Encrypted Office document (OOXML in OLE2)",
    () => compoundFile("", ["EncryptionInfo", "EncryptedPackage"]),
  ],
  ["other OLE2", "Microsoft compound file (OLE2)", () => compoundFile("", ["Anything"])],
  ["odt", "OpenDocument text (ODT)", () => openDocument("text")],
  ["ods", "OpenDocument spreadsheet (ODS)", () => openDocument("spreadsheet")],
  ["odp", "OpenDocument presentation (ODP)", () => openDocument("presentation")],
  ["odg", "OpenDocument drawing (ODG)", () => openDocument("graphics")],
  ["ott", "OpenDocument text template (OTT)", () => openDocument("text-template")],
  [
    "epub",
    "Electronic publication (EPUB)",
    () =>
      makeZip([
        { name: "mimetype", content: "application/epub+zip", stored: true },
        { name: "META-INF/container.xml" },
      ]),
  ],
  ["xps", "XML Paper Specification document (XPS)", () => zip(...rels, "FixedDocSeq.fdseq")],
  ["zip", "ZIP archive", () => zip("a.txt", "b/c.doc")],
  [
    "zip written to a stream",
    "ZIP archive",
    () => makeZip([{ name: "a", content: "a".repeat(999), streamed: true }, { name: "b" }]),
  ],
  ["zip of nothing", "ZIP archive (empty)", () => makeZip([])],
  ["zip of two documents", "ZIP archive", () => zip("letters/word/document.xml", "letters/xl/workbook.xml")],
  [
    "docx written to a stream",
    "Microsoft Word document (OOXML)",
    () =>
      makeZip([
        { name: "[Content_Types].xml", content: `<Types ContentType="${DOCX}"/>`, streamed: true },
        { name: "word/document.xml", content: "x".repeat(5000), streamed: true },
      ]),
  ],
  ["jar", "Java archive (JAR)", () => zip("META-INF/MANIFEST.MF", "com/example/Main.class")],
  ["war", "Java web application archive (WAR)", () => zip("META-INF/MANIFEST.MF", "WEB-INF/web.xml")],
  ["apk", "Android application package (APK)", () => zip("AndroidManifest.xml", "classes.dex", "META-INF/MANIFEST.MF")],
  ["ipa", "iOS application package (IPA)", () => zip("Payload/Demo.app/Info.plist")],
  ["xpi", "Mozilla extension (XPI)", () => zip("manifest.json", "META-INF/mozilla.rsa", "META-INF/MANIFEST.MF")],
  ["nupkg", "NuGet package", () => zip(...rels, "Demo.nuspec", "lib/net8.0/Demo.dll")],
  ["whl", "Python wheel", () => zip("demo/__init__.py", "demo-1.0.dist-info/WHEEL")],
  ["appx", "Windows application package (APPX)", () => zip("AppxManifest.xml", "[Content_Types].xml", "app.exe")],
  ["kmz", "Keyhole Markup Language archive (KMZ)", () => zip("doc.kml")],
  ["3mf", "3D Manufacturing Format (3MF)", () => zip(...rels, "3D/3dmodel.model")],
  ["rtf", "Rich Text Format (RTF)", () => Buffer.from("{\\rtf1\\ansi\\deff0 {\\fonttbl}Hello\\par}")],
  [
    "OneNote",
    "Microsoft OneNote section",
    () => Buffer.concat([Buffer.from("e4525c7b8cd8a74daeb15378d02996d3", "hex"), Buffer.alloc(99)]),
  ],
];
