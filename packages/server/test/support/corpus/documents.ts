import { deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { compoundFile } from "../compound-writer.ts";
import { encryptedBy97, encryptedBy2003, encryptedBy2010, workbookStream } from "../office-writer.ts";
import { deflated, stored, zip } from "../zip-writer.ts";
import {
  bytes,
  type Container,
  containers,
  glue,
  HARMLESS,
  latin1,
  lines,
  noise,
  u16,
  u32,
  type Wrap,
} from "./container.ts";
import { hex } from "./encodings.ts";
import { lzmaRaw } from "./lzma-writer.ts";

/** Office documents, RTF and Flash that carry a file. */

/** The stream in which a file lies that was dragged into a document. */
function ole10Native(content: Buffer, name: string): Buffer {
  const inside = glue(
    ...[u16(2), `${name}\0`, `C:\\${name}\0`, u32(0x30000), u32(name.length + 4), `C:\\${name}\0`],
    ...[u32(content.length), content],
  );
  return glue(u32(inside.length), inside);
}

const WORD = { name: "WordDocument", content: glue(u16(0xa5ec), Buffer.alloc(4100)) };
const NATIVE = "\x01Ole10Native";
const packaged = (content: Buffer, name: string): Buffer =>
  compoundFile([{ name: NATIVE, content: ole10Native(content, name) }]);

const record = (type: number, instance: number, body: Buffer): Buffer =>
  glue(u16(instance << 4), u16(type), u32(body.length), body);

/** A presentation whose embedded object is packed by zlib. */
const presentation = (object: Buffer): Buffer =>
  compoundFile([
    {
      name: "PowerPoint Document",
      content: glue(
        record(0x03e8, 0xf, Buffer.alloc(32)),
        record(0x1011, 1, glue(u32(object.length), deflateSync(object))),
        Buffer.alloc(4096),
      ),
    },
    { name: "Current User", content: Buffer.alloc(60, 1) },
  ]);

/** A presentation with these zips in its records. */
const presentationOf = (zips: readonly Buffer[]): Buffer =>
  compoundFile([
    {
      name: "PowerPoint Document",
      content: glue(
        record(0x03e8, 0xf, Buffer.alloc(32)),
        ...zips.map((one) => record(0x040e, 0, one)),
        Buffer.alloc(4096),
      ),
    },
    { name: "Current User", content: Buffer.alloc(60, 1) },
  ]);
const themes = (count: number): Buffer[] =>
  Array.from({ length: count }, (_, index) => zip([deflated("theme/theme.xml", latin1(`<theme number="${index}"/>`))]));

const types = deflated("[Content_Types].xml", latin1('<?xml version="1.0"?><Types/>'));
/** What Excel encrypts with where a workbook is only protected against changes. */
const KNOWN_PASSWORD = "VelvetSweatshop";
const LOCKED = { ordinary: false, locked: true, readers: [] };
const packageOf = ({ info, content }: { info: Buffer; content: Buffer }): Buffer =>
  compoundFile([
    { name: "EncryptionInfo", content: info },
    { name: "EncryptedPackage", content },
  ]);

const OLE = { extension: ".doc", readers: ["7z-twice", "7z"], ordinary: true };

const compounds = containers("OLE compound", OLE, {
  "a stream": (content) => compoundFile([WORD, { name: "Data", content }]),
  "a stream, backwards": (content) => compoundFile([WORD, { name: "Data", content }], { order: "backwards" }),
  "a file dragged into a document": {
    readers: ["python-ole"],
    wrap: (content, name) => compoundFile([WORD, { name: NATIVE, content: ole10Native(content, name) }]),
  },
  "a file dragged into a document, backwards": {
    readers: ["python-ole"],
    wrap: (content, name) =>
      compoundFile([WORD, { name: NATIVE, content: ole10Native(content, name) }], { order: "backwards" }),
  },
  "an installer's stream": {
    extension: ".msi",
    wrap: (content) => compoundFile([{ name: "\u4840\u3f3f\u4577\u446c\u3e6a\u44b2\u482f", content }]),
  },
  "an object of a presentation": {
    extension: ".ppt",
    readers: [],
    wrap: (content, name) => presentation(packaged(content, name)),
  },
  "an object's stream of a presentation": {
    extension: ".ppt",
    readers: [],
    wrap: (content) => presentation(compoundFile([{ name: "CONTENTS", content }])),
  },
  "a storage in a storage, version 4": (content) =>
    compoundFile([WORD, { name: "ObjectPool/_1/CONTENTS", content }], { sectorBytes: 4096, order: "even first" }),
  "the last of forty zips in a presentation": {
    extension: ".ppt",
    readers: [],
    wrap: (content, name) => presentationOf([...themes(39), zip([deflated(name, content)])]),
  },
  "a record of a workbook": {
    extension: ".xls",
    readers: [],
    wrap: (content, name) =>
      compoundFile([{ name: "Workbook", content: workbookStream(zip([stored(name, content)])) }]),
  },
  "a workbook that opens without its password": {
    extension: ".xls",
    readers: [],
    // A stored zip would need no key: nobody finds the content without one.
    wrap: (content, name) =>
      compoundFile([
        { name: "Workbook", content: workbookStream(zip([deflated(name, content)]), encryptedBy97(KNOWN_PASSWORD)) },
      ]),
  },
  "a package that opens without its password": {
    extension: ".xlsx",
    readers: [],
    wrap: (content, name) => packageOf(encryptedBy2010(zip([types, deflated(name, content)]), KNOWN_PASSWORD)),
  },
  "a package with a password": {
    ...LOCKED,
    extension: ".docx",
    wrap: (content, name) => packageOf(encryptedBy2010(zip([types, deflated(name, content)]), "secret")),
  },
  "a workbook with a password": {
    ...LOCKED,
    extension: ".xls",
    wrap: (content, name) =>
      compoundFile([
        { name: "Workbook", content: workbookStream(zip([deflated(name, content)]), encryptedBy2003("secret")) },
      ]),
  },
  "a text with a password": {
    ...LOCKED,
    // Word's flag is what counts; what it has encrypted looks like noise.
    wrap: (content) =>
      compoundFile([
        {
          name: "WordDocument",
          content: glue(u16(0xa5ec), u16(0xc1), Buffer.alloc(6), u16(0x0100), Buffer.alloc(500)),
        },
        { name: "1Table", content: noise(5000, hex(content.subarray(0, 9))) },
      ]),
  },
  "a presentation with a password": {
    ...LOCKED,
    extension: ".ppt",
    wrap: (content) =>
      compoundFile([
        {
          name: "Current User",
          content: glue(u16(0), u16(0x0ff6), u32(40), u32(20), u32(0xf3d1c4df), Buffer.alloc(28)),
        },
        { name: "PowerPoint Document", content: noise(5000, hex(content.subarray(0, 9))) },
      ]),
  },
  "a deflated stream of Hangul Word Processor": {
    extension: ".hwp",
    readers: [],
    wrap: (content) =>
      compoundFile([
        {
          name: "FileHeader",
          content: glue("HWP Document File", Buffer.alloc(15), u32(0x05000300), u32(1), Buffer.alloc(216)),
        },
        { name: "BinData/BIN0001.bin", content: deflateRawSync(content) },
      ]),
  },
  "free sectors": {
    ordinary: false,
    readers: [],
    wrap: (content, name) => compoundFile([WORD], { free: zip([deflated(name, content)]) }),
  },
  "behind the end of a stream": {
    ordinary: false,
    readers: [],
    maxBytes: 3500,
    wrap: (content) => compoundFile([WORD], { slack: gzipSync(content), sectorBytes: 4096 }),
  },
  "noise behind": {
    ordinary: false,
    wrap: (content) => glue(compoundFile([WORD, { name: "Data", content }]), noise(700)),
  },
  "a zip behind": {
    ordinary: false,
    readers: ["unzip", "bsdtar"],
    wrap: (content, name) =>
      glue(compoundFile([WORD, { name: "Data", content: HARMLESS }]), zip([deflated(name, content)])),
  },
});

const part = deflated("word/document.xml", latin1("<w:document/>"));

const packages = containers(
  "OOXML embedding",
  { extension: ".docx", readers: ["7z-twice", "unzip"], ordinary: true },
  {
    "an object": {
      readers: ["python-ole-in-zip"],
      wrap: (content, name) => zip([types, part, deflated("word/embeddings/oleObject1.bin", packaged(content, name))]),
    },
    "an object's stream": (content) =>
      zip([types, part, deflated("word/embeddings/oleObject1.bin", compoundFile([{ name: "CONTENTS", content }]))]),
    "a package": (content) => zip([types, part, deflated("word/embeddings/Microsoft_Excel_Sheet.xlsx", content)]),
    "a stored package": (content) => zip([types, stored("xl/embeddings/package.bin", content)]),
    "a package in XML": {
      extension: ".xml",
      readers: ["python-base64"],
      wrap: (content) =>
        latin1(
          `<?xml version="1.0"?><pkg:package><pkg:part pkg:name="/word/embeddings/a.bin"><pkg:binaryData>${lines(content.toString("base64"), 76)}</pkg:binaryData></pkg:part></pkg:package>`,
        ),
    },
  },
);

/** An object of the first OLE: its class, and its bytes. */
const ole1 = (name: string, content: Buffer): Buffer =>
  glue(u32(0x501), u32(2), u32(name.length + 1), `${name}\0`, u32(0), u32(0), u32(content.length), content);
const packageObject = (content: Buffer, name: string): Buffer =>
  ole1("Package", ole10Native(content, name).subarray(4));
const rtf = (object: string | Buffer): Buffer =>
  glue("{\\rtf1\\ansi hello {\\object\\objemb{\\*\\objdata ", object, "}}\\par}\n");

const asPackage =
  (write: (object: Buffer) => string | Buffer): Wrap =>
  (content, name) =>
    rtf(write(packageObject(content, name)));

const rtfs = containers(
  "RTF",
  { extension: ".rtf", maxBytes: 300_000, readers: ["python-rtf"], ordinary: true },
  {
    "a packaged file": asPackage(hex),
    "a packaged file in capitals": asPackage((object) => hex(object).toUpperCase()),
    "a packaged file in lines": asPackage((object) => lines(hex(object), 64)),
    "a packaged file in binary": asPackage((object) => glue(`\\bin${object.length} `, object)),
    "a packaged file with blanks": { ordinary: false, wrap: asPackage((object) => lines(hex(object), 1, " ")) },
    "a packaged file with groups between": {
      ordinary: false,
      wrap: asPackage((object) => lines(hex(object), 100, "{\\*\\x 1}\r\n")),
    },
    "a packaged file with words between": {
      ordinary: false,
      wrap: asPackage((object) => lines(hex(object), 100, "\\par\r\n")),
    },
    "a packaged file in a compound file": asPackage((object) =>
      hex(compoundFile([{ name: NATIVE, content: glue(u32(0), object) }])),
    ),
    "an object of the second OLE": (content, name) => rtf(hex(ole1("Word.Document.8", packaged(content, name)))),
    "a picture": {
      readers: ["python-hex"],
      wrap: (content) => latin1(`{\\rtf1{\\pict\\pngblip\\picw1\\pich1 ${lines(hex(content), 128, "\n")}}}`),
    },
    "a picture in binary": {
      readers: [],
      wrap: (content) => glue(`{\\rtf1{\\pict\\pngblip\\bin${content.length} `, content, "}}"),
    },
    "a data store": { readers: ["python-hex"], wrap: (content) => latin1(`{\\rtf1{\\*\\datastore ${hex(content)}}}`) },
    "a header that is short": {
      ordinary: false,
      wrap: (content, name) => glue("{\\rt", rtf(hex(packageObject(content, name))).subarray(6)),
    },
    "text behind": {
      ordinary: false,
      wrap: (content, name) => glue(rtf(hex(packageObject(content, name))), "\nsome text behind\n"),
    },
  },
);

/** Flash with a file in a tag for binary data. */
function flash(content: Buffer, name: string): Buffer {
  const file = zip([deflated(name, content)]);
  return glue(bytes(0x08, 0, 0, 24, 1, 0), u16((87 << 6) | 63), u32(file.length + 6), u16(1), u32(0), file, u16(0));
}
const swf = (mark: string, body: Buffer, packed: Buffer): Buffer => glue(mark, bytes(13), u32(body.length + 8), packed);

const flashes = containers(
  "Flash",
  { extension: ".swf", readers: ["7z-thrice"] },
  {
    "not packed": (content, name) => swf("FWS", flash(content, name), flash(content, name)),
    "packed by zlib": {
      ordinary: true,
      wrap: (content, name) => swf("CWS", flash(content, name), deflateSync(flash(content, name))),
    },
    "packed by LZMA": {
      ordinary: true,
      wrap: (content, name) => {
        const body = flash(content, name);
        const packed = lzmaRaw(body);
        return swf("ZWS", body, glue(u32(packed.length), bytes(0x5d), u32(1 << 16), packed));
      },
    },
  },
);

export const documents: readonly Container[] = [...compounds, ...packages, ...rtfs, ...flashes];
