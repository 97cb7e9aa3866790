import { deflateSync } from "node:zlib";
import { compoundFile } from "../../packages/server/test/fixtures/compound-writer.ts";
import { deflated, type Member, stored, zip } from "../../packages/server/test/fixtures/zip-writer.ts";
import { jpeg, png } from "./pictures.ts";
import type { Random } from "./random.ts";

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';

/** The three kinds of office documents: a zip of XML and pictures. */
export function officeXml(
  kind: "docx" | "xlsx" | "pptx",
  random: Random,
  size: { textBytes: number; pictures: number },
): Buffer {
  const { textBytes, pictures } = size;
  const folder = { docx: "word", xlsx: "xl", pptx: "ppt" }[kind];
  const parts: [name: string, xml: string][] = [];
  if (kind === "docx") parts.push(["document", paragraphs(random, textBytes)], ["styles", paragraphs(random, 28_000)]);
  if (kind === "xlsx") {
    for (let sheet = 1; sheet <= 3; sheet += 1) parts.push([`worksheets/sheet${sheet}`, cells(random, textBytes / 3)]);
    parts.push(["workbook", paragraphs(random, 2_000)], ["sharedStrings", paragraphs(random, 40_000)]);
  }
  if (kind === "pptx") {
    const slides = Math.ceil(textBytes / 12_000);
    for (let slide = 1; slide <= slides; slide += 1) parts.push([`slides/slide${slide}`, paragraphs(random, 12_000)]);
    parts.push(["presentation", paragraphs(random, 5_000)], ["theme/theme1", paragraphs(random, 7_000)]);
  }
  const media = Array.from({ length: pictures }, (_, index): Member => {
    const name = `${folder}/media/image${index + 1}`;
    return index % 3 === 2
      ? deflated(`${name}.png`, png(random, 320, 200))
      : stored(`${name}.jpeg`, jpeg(random, 480 + random.next(320), 360));
  });
  return zip([
    deflated("[Content_Types].xml", Buffer.from(`${XML}<Types>${contentTypes(folder, parts)}</Types>`)),
    deflated(
      "_rels/.rels",
      Buffer.from(`${XML}<Relationships>${contentTypes(folder, parts.slice(0, 2))}</Relationships>`),
    ),
    deflated("docProps/core.xml", Buffer.from(XML + paragraphs(random, 700))),
    ...parts.map(([name, xml]) => deflated(`${folder}/${name}.xml`, Buffer.from(XML + xml))),
    ...media,
  ]);
}

function contentTypes(folder: string, parts: readonly (readonly [string, string])[]): string {
  const type = "application/vnd.openxmlformats-officedocument";
  return parts.map(([name]) => `<Override PartName="/${folder}/${name}.xml" ContentType="${type}.main+xml"/>`).join("");
}

function paragraphs(random: Random, bytes: number): string {
  const runs: string[] = [];
  for (let length = 0; length < bytes; length += 200) {
    const text = random.text(60 + random.next(80));
    runs.push(
      `<w:p w:rsidR="00${random.next(10_000)}"><w:r><w:rPr><w:lang w:val="en-GB"/></w:rPr><w:t>${text}</w:t></w:r></w:p>`,
    );
  }
  return `<w:body>${runs.join("")}</w:body>`;
}

function cells(random: Random, bytes: number): string {
  const rows: string[] = [];
  for (let row = 1, length = 0; length < bytes; row += 1) {
    const values = ["A", "B", "C", "D", "E"].map(
      (column) => `<c r="${column}${row}" s="${random.next(9)}"><v>${random.next(1_000_000) / 100}</v></c>`,
    );
    rows.push(`<row r="${row}" spans="1:5">${values.join("")}</row>`);
    length += 200;
  }
  return `<worksheet><sheetData>${rows.join("")}</sheetData></worksheet>`;
}

/** Pages of text, packed with Flate, and pictures. */
export function pdf(random: Random, size: { pages: number; pictures: number }): Buffer {
  const objects: Buffer[] = [];
  const add = (...pieces: (string | Buffer)[]): number => {
    objects.push(
      Buffer.concat(pieces.map((piece) => (typeof piece === "string" ? Buffer.from(piece, "latin1") : piece))),
    );
    return objects.length;
  };
  const stream = (dictionary: string, content: Buffer): number =>
    add(`<< ${dictionary} /Length ${content.length} >>\nstream\n`, content, "\nendstream");
  add("<< /Type /Catalog /Pages 2 0 R >>");
  add("");
  add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>");
  const kids: number[] = [];
  for (let page = 0; page < size.pages; page += 1) {
    const lines = random
      .text(3_000)
      .split("\n")
      .map((line, index) => `BT /F1 11 Tf 50 ${780 - 14 * index} Td (${line}) Tj ET`);
    const contents = stream("/Filter /FlateDecode", deflateSync(Buffer.from(lines.join("\n"), "latin1")));
    kids.push(
      add(
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents ${contents} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
      ),
    );
  }
  for (let picture = 0; picture < size.pictures; picture += 1) {
    const form = "/Type /XObject /Subtype /Image /Width 640 /Height 400 /ColorSpace /DeviceRGB /BitsPerComponent 8";
    stream(`${form} /Filter /DCTDecode`, jpeg(random, 640, 400));
  }
  objects[1] = Buffer.from(
    `<< /Type /Pages /Count ${kids.length} /Kids [${kids.map((kid) => `${kid} 0 R`).join(" ")}] >>`,
  );

  const pieces: Buffer[] = [Buffer.from("%PDF-1.6\n%\xe2\xe3\xcf\xd3\n", "latin1")];
  const offsets: number[] = [];
  let written = pieces[0]?.length ?? 0;
  for (const [index, object] of objects.entries()) {
    offsets.push(written);
    const piece = Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), object, Buffer.from("\nendobj\n")]);
    pieces.push(piece);
    written += piece.length;
  }
  const entries = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  const count = objects.length + 1;
  const trailer = `trailer\n<< /Size ${count} /Root 1 0 R >>\nstartxref\n${written}\n%%EOF\n`;
  return Buffer.concat([...pieces, Buffer.from(`xref\n0 ${count}\n0000000000 65535 f \n${entries}${trailer}`)]);
}

/** An old Word document, as far as its container goes: a compound file with the streams that Word writes. */
export function oldWord(random: Random, textBytes: number): Buffer {
  const start = Buffer.concat([Buffer.of(0xec, 0xa5, 0xc1, 0), Buffer.alloc(1_532)]);
  const text = Buffer.from(random.text(textBytes), "utf16le");
  const summary = Buffer.concat([Buffer.of(0xfe, 0xff, 0, 0), Buffer.alloc(4_092)]);
  return compoundFile([
    { name: "1Table", content: Buffer.concat([random.noise(3_000), Buffer.alloc(9_000)]) },
    { name: "WordDocument", content: Buffer.concat([start, text]) },
    { name: "\x05SummaryInformation", content: summary },
  ]);
}
