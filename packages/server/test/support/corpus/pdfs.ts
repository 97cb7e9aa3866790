import { deflateRawSync, deflateSync } from "node:zlib";
import { deflated, zip } from "../zip-writer.ts";
import { bytes, type Container, containers, glue, latin1, lines, noise, type Wrap } from "./container.ts";
import { hex } from "./encodings.ts";
import { ascii85, pdfLzw, runLength } from "./old-coders.ts";

/** PDF with an attached file, in all the ways in which its stream can be written. */

interface Shape {
  /** What stands in the stream's dictionary besides its length. */
  dictionary?: string;
  packed?: Buffer;
  length?: number | string;
  /** Between the dictionary and the stream. */
  start?: string;
  end?: string;
  before?: string;
  after?: string | Buffer;
  head?: string | Buffer;
  objects?: string;
  xref?: boolean;
}

const FLATE = "/Filter /FlateDecode";

/** A document of one empty page whose attachment is the object 6. */
export function pdf(content: Buffer, shape: Shape = {}): Buffer {
  const packed = shape.packed ?? deflateSync(content);
  const dictionary = shape.dictionary ?? FLATE;
  const length = shape.length === undefined ? packed.length : shape.length;
  const file = glue(
    shape.head ?? "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
    "1 0 obj\n<< /Type /Catalog /Pages 2 0 R /Names << /EmbeddedFiles << /Names [(sample.bin) 5 0 R] >> >> >>\nendobj\n",
    "2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n",
    "3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] >>\nendobj\n",
    "5 0 obj\n<< /Type /Filespec /F (sample.bin) /UF (sample.bin) /EF << /F 6 0 R >> >>\nendobj\n",
    shape.objects ?? "",
    `${shape.before ?? ""}6 0 obj\n<< /Type /EmbeddedFile ${dictionary} /Length ${length} >>${shape.start ?? "\nstream\n"}`,
    packed,
    shape.end ?? "\nendstream\nendobj\n",
  );
  return glue(file, shape.xref === false ? "" : table(file), shape.after ?? "");
}

function table(file: Buffer): string {
  const text = file.toString("latin1");
  const header = text.indexOf("%PDF");
  const places = [...text.matchAll(/(?:^|[\r\n])(\d) 0 obj/g)].map(
    (match) => [Number(match[1]), text.indexOf(`${match[1]} 0 obj`, match.index) - Math.max(0, header)] as const,
  );
  const rows = places.map(([number, at]) => `${number} 1\n${String(at).padStart(10, "0")} 00000 n \n`).join("");
  const start = file.length - Math.max(0, header);
  return `xref\n0 1\n0000000000 65535 f \n${rows}trailer\n<< /Root 1 0 R /Size 9 >>\nstartxref\n${start}\n%%EOF\n`;
}

const PDF = { extension: ".pdf", readers: ["pdfdetach", "qpdf", "mutool"] };
const as =
  (dictionary: string, pack: (content: Buffer) => Buffer | string): Wrap =>
  (content) => {
    const packed = pack(content);
    return pdf(content, { dictionary, packed: typeof packed === "string" ? latin1(packed) : packed });
  };
const flate = (content: Buffer): Buffer => deflateSync(content);
const a85 = (content: Buffer): Buffer => latin1(`${lines(ascii85(content), 75, "\n")}~>`);
const ahx = (content: Buffer): Buffer => latin1(`${lines(hex(content), 72, "\n")}>`);

/** Rows that PNG's predictor "up" was used on. */
function predicted(content: Buffer, columns: number): Buffer {
  const rows: Buffer[] = [];
  let previous = Buffer.alloc(columns);
  for (let at = 0; at < content.length; at += columns) {
    const row = Buffer.from(content.subarray(at, at + columns));
    rows.push(bytes(2), Buffer.from(row.map((byte, index) => byte - (previous[index] ?? 0))));
    previous = Buffer.concat([row, Buffer.alloc(columns)]).subarray(0, columns) as Buffer<ArrayBuffer>;
  }
  return Buffer.concat(rows);
}

const filters = containers(
  "PDF: filters",
  { ...PDF, ordinary: true },
  {
    none: as("", (content) => content),
    Flate: as(FLATE, flate),
    "Flate in a list": as("/Filter [/FlateDecode]", flate),
    ASCIIHex: as("/Filter /ASCIIHexDecode", ahx),
    ASCII85: as("/Filter /ASCII85Decode", a85),
    LZW: as("/Filter /LZWDecode", pdfLzw),
    RunLength: as("/Filter /RunLengthDecode", runLength),
    "ASCII85 and Flate": as("/Filter [/ASCII85Decode /FlateDecode]", (content) => a85(flate(content))),
    "ASCIIHex and Flate": as("/Filter [/ASCIIHexDecode /FlateDecode]", (content) => ahx(flate(content))),
    "ASCIIHex and ASCII85 and Flate": as("/Filter [/ASCIIHexDecode /ASCII85Decode /FlateDecode]", (content) =>
      ahx(a85(flate(content))),
    ),
    "Flate and Flate": as("/Filter [/FlateDecode /FlateDecode]", (content) => flate(flate(content))),
    "Flate five times": as(`/Filter [${"/FlateDecode ".repeat(5)}]`, (content) =>
      flate(flate(flate(flate(flate(content))))),
    ),
    "Flate and RunLength": as("/Filter [/FlateDecode /RunLengthDecode]", (content) => flate(runLength(content))),
    "LZW and Flate": as("/Filter [/LZWDecode /FlateDecode]", (content) => pdfLzw(flate(content))),
    "ASCII85 and LZW": as("/Filter [/ASCII85Decode /LZWDecode]", (content) => a85(pdfLzw(content))),
    "short names": as("/Filter [/A85 /Fl]", (content) => a85(flate(content))),
    "short names of hex": as("/Filter [/AHx /Fl]", (content) => ahx(flate(content))),
    // clamd has a name of its own for these, whatever is in them.
    "names with escapes": { ordinary: false, wrap: as("/Filter /Fl#61teDecode", flate) },
    "an escaped name of filters": { ordinary: false, wrap: as("/Fil#74er /FlateDecode", flate) },
    "a predictor": as("/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 8 >>", (content) =>
      flate(predicted(content, 8)),
    ),
    "a predictor of nothing": as("/Filter /FlateDecode /DecodeParms << /Predictor 1 >>", flate),
    "parameters of null": as("/Filter [/FlateDecode] /DecodeParms [null]", flate),
    "LZW of the other time of change": as("/Filter /LZWDecode /DecodeParms << /EarlyChange 0 >>", pdfLzw),
    "filters in another object": {
      wrap: (content) => pdf(content, { dictionary: "/Filter 7 0 R", objects: "7 0 obj\n[/FlateDecode]\nendobj\n" }),
    },
    "the crypt filter of nothing": as("/Filter [/Crypt /FlateDecode] /DecodeParms [<< /Name /Identity >> null]", flate),
  },
);

const writings = containers("PDF: dictionaries and streams", PDF, {
  "a dictionary of 30 KB": as(`/Params << /Note (${"n".repeat(30_000)}) >> ${FLATE}`, flate),
  "a dictionary of many lines": as(`${"/A 1\n".repeat(3000)}${FLATE}`, flate),
  "a dictionary in a dictionary": as(`/Params << /A << /B << /C 1 >> >> >> ${FLATE}`, flate),
  "the word stream in a string": as(`/Desc (stream\nendstream\nendobj) ${FLATE}`, flate),
  "the word endstream in a comment": as(`% endstream endobj stream\n${FLATE}`, flate),
  "signs of a dictionary in a string": as(`/Desc (>> stream) ${FLATE}`, flate),
  "no blanks": (content) => pdf(content, { dictionary: "/Filter/FlateDecode", start: "stream\r\n" }),
  "stream and a carriage return": (content) => pdf(content, { start: "\nstream\r" }),
  "stream and both": {
    ordinary: true,
    wrap: (content) => pdf(content, { start: "\r\nstream\r\n", end: "\r\nendstream\r\nendobj\r\n" }),
  },
  "stream and a blank": (content) => pdf(content, { start: "\nstream \n" }),
  "a comment before stream": (content) => pdf(content, { start: "\n% here it comes\nstream\n" }),
  "a length of zero": (content) => pdf(content, { length: 0 }),
  "a length too large": (content) => pdf(content, { length: 999_999 }),
  "a length too small": (content) => pdf(content, { length: 20 }),
  "a length below zero": (content) => pdf(content, { length: -1 }),
  "no length": (content) => pdf(content, { length: "" }),
  "a length in another object": {
    ordinary: true,
    wrap: (content) => pdf(content, { length: "7 0 R", objects: `7 0 obj\n${deflateSync(content).length}\nendobj\n` }),
  },
  "a length in an object that is not there": (content) => pdf(content, { length: "77 0 R" }),
  "no endstream": (content) => pdf(content, { end: "\nendobj\n" }),
  "no end at all": { readers: ["mutool", "qpdf"], wrap: (content) => pdf(content, { end: "\n", xref: false }) },
  "endstream at once": (content) => pdf(content, { end: "endstream endobj\n" }),
  "the word endstream in the stream": (content) => {
    const packed = glue(deflateSync(content, { level: 0 }));
    return pdf(content, { packed: glue(packed, "\nendstream\n"), length: packed.length });
  },
  "no filter named": { readers: [], wrap: (content) => pdf(content, { dictionary: "" }) },
  "an unknown filter": { readers: [], wrap: as("/Filter /Fl4teDecode", flate) },
  "hex with noise": as("/Filter /ASCIIHexDecode", (content) => latin1(`${lines(hex(content), 10, " \r\n\t")} >`)),
  "hex of an odd number": as("/Filter /ASCIIHexDecode", (content) => latin1(`${hex(content)}0>`.replace(/0>$/, ">"))),
  "hex without its end": as("/Filter /ASCIIHexDecode", (content) => latin1(hex(content))),
  "ASCII85 with its beginning": {
    readers: [],
    wrap: as("/Filter /ASCII85Decode", (content) => latin1(`<~${ascii85(content)}~>`)),
  },
  "ASCII85 without its end": as("/Filter /ASCII85Decode", (content) => latin1(ascii85(content))),
  "ASCII85 with blanks": as("/Filter /ASCII85Decode", (content) => latin1(`${lines(ascii85(content), 7, " ")} ~ >`)),
});

const damaged = containers("PDF: damaged and hidden", PDF, {
  "a wrong checksum of Flate": (content) =>
    pdf(content, { packed: glue(deflateSync(content).subarray(0, -4), noise(4)) }),
  "no checksum of Flate": (content) => pdf(content, { packed: deflateSync(content).subarray(0, -4) }),
  "Flate without its header": {
    readers: [],
    wrap: (content) => pdf(content, { packed: deflateRawSync(content) }),
  },
  "Flate with a line end first": {
    readers: [],
    wrap: (content) => pdf(content, { packed: glue("\n", deflateSync(content)) }),
  },
  "Flate with noise behind": (content) => pdf(content, { packed: glue(deflateSync(content), noise(60)) }),
  "Flate that is cut": {
    readers: [],
    // In a zip, which does not mind what stands behind it.
    wrap: (content, name) => {
      const packed = deflateSync(glue(zip([deflated(name, content)]), noise(200)));
      return pdf(content, { packed: packed.subarray(0, -100) });
    },
  },
  "noise of a kilobyte first": (content) => pdf(content, { head: glue(latin1("x".repeat(900)), "\n%PDF-1.4\n") }),
  "a header of no version": (content) => pdf(content, { head: "%PDF-\n" }),
  "a header of the old kind": {
    readers: ["mutool", "pdfdetach"],
    wrap: (content) => pdf(content, { head: "%!PS-Adobe-3.0 PDF-1.4\n%PDF-1.4\n" }),
  },
  "no table": (content) => pdf(content, { xref: false }),
  "a table that is wrong": (content) =>
    latin1(
      pdf(content)
        .toString("latin1")
        .replace(/startxref\n\d+/, "startxref\n3"),
    ),
  "line ends of the Macintosh": (content) =>
    pdf(content, { head: "%PDF-1.3\r", start: "\rstream\r\n", end: "\rendstream\rendobj\r" }),
  "an update behind": { ordinary: true, wrap: (content) => pdf(content, { after: "8 0 obj\n<< /A 1 >>\nendobj\n" }) },
  "the payload in an update": {
    readers: [],
    wrap: (content) =>
      glue(
        pdf(Buffer.from("harmless")),
        "6 0 obj\n<< /Type /EmbeddedFile /Filter /FlateDecode /Length 1 >>\nstream\n",
        deflateSync(content),
        "\nendstream\nendobj\n",
      ),
  },
  "the payload raw behind": { readers: [], wrap: (content) => pdf(Buffer.from("harmless"), { after: content }) },
  "an object that nobody uses": {
    readers: ["mutool", "qpdf"],
    wrap: (content) => latin1(pdf(content).toString("latin1").replace("/EF << /F 6 0 R >>", "")),
  },
  "a stream in a picture": {
    readers: ["mutool", "qpdf"],
    wrap: (content) =>
      latin1(pdf(content).toString("latin1").replace("/Type /EmbeddedFile", "/Type /XObject /Subtype /Image")),
  },
  "a script in hex": {
    readers: [],
    maxBytes: 100_000,
    wrap: (content) =>
      pdf(Buffer.from("harmless"), { objects: `7 0 obj\n<< /S /JavaScript /JS <${hex(content)}> >>\nendobj\n` }),
  },
  "a script as text": {
    readers: [],
    maxBytes: 100_000,
    wrap: (content) =>
      pdf(Buffer.from("harmless"), {
        objects: `7 0 obj\n<< /S /JavaScript /JS (a = "${content.toString("base64")}") >>\nendobj\n`,
      }),
  },
  "a hundred streams before": {
    ordinary: true,
    wrap: (content) =>
      pdf(content, {
        objects: Array.from(
          { length: 100 },
          (_, index) => `${100 + index} 0 obj\n<< /Length 5 >>\nstream\nhello\nendstream\nendobj\n`,
        ).join(""),
      }),
  },
});

export const pdfs: readonly Container[] = [...filters, ...writings, ...damaged];
