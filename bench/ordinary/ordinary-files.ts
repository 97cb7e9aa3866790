import { gzipSync } from "node:zlib";
import { tar } from "../../packages/server/test/fixtures/tar-writer.ts";
import { deflated, zip } from "../../packages/server/test/fixtures/zip-writer.ts";
import { officeXml, oldWord, pdf } from "./documents.ts";
import { jpeg, png } from "./pictures.ts";
import { type Random, random } from "./random.ts";

export interface OrdinaryFile {
  name: string;
  content: Buffer;
}

type Make = (random: Random, step: number) => Buffer;

/**
 * What people upload, by kind: how many, and how to make each; `step` goes from 0 up, for small ones and larger ones. 10 KB to
 * 2 MB, most of them documents and pictures. Made here, so that every run and every machine has the same bytes.
 */
const KINDS: Record<string, [count: number, make: Make]> = {
  docx: [7, (r, step) => officeXml("docx", r, { textBytes: 30_000 + 60_000 * step, pictures: step })],
  xlsx: [5, (r, step) => officeXml("xlsx", r, { textBytes: 60_000 + 400_000 * step, pictures: 0 })],
  pptx: [4, (r, step) => officeXml("pptx", r, { textBytes: 90_000 + 60_000 * step, pictures: 2 + 2 * step })],
  pdf: [9, (r, step) => pdf(r, { pages: 2 + 9 * step, pictures: step % 3 === 0 ? 0 : step })],
  jpg: [9, (r, step) => jpeg(r, 320 + 360 * step, 240 + 240 * step)],
  png: [5, (r, step) => png(r, 200 + 200 * step, 150 + 150 * step)],
  jar: [3, (r, step) => zip(classFiles(r, 120 + 180 * step))],
  zip: [3, (r, step) => zip([deflated("readme.txt", Buffer.from(r.text(4_000))), ...mixedFiles(r, 4 + 5 * step)])],
  "tar.gz": [3, (r, step) => gzipSync(tar(sourceFiles(r, 20 + 60 * step)))],
  eml: [6, (r, step) => mail(r, step)],
  txt: [2, (r, step) => Buffer.from(r.text(12_000 + 300_000 * step))],
  csv: [2, (r, step) => Buffer.from(table(r, 500 + 6_000 * step))],
  html: [2, (r, step) => Buffer.from(page(r, 20 + 150 * step))],
  json: [2, (r, step) => Buffer.from(JSON.stringify(records(r, 100 + 1_500 * step), null, 2))],
  doc: [3, (r, step) => oldWord(r, 15_000 + 90_000 * step)],
  elf: [2, (r, step) => program(r, 150_000 + 700_000 * step)],
};

/** All of them, kinds mixed, in the same order every time. */
export function ordinaryFiles(): OrdinaryFile[] {
  const files = Object.entries(KINDS).flatMap(([kind, [count, make]], seed) =>
    Array.from({ length: count }, (_, step) => ({
      name: `${kind}-${step + 1}.${kind}`,
      content: make(random(1000 * seed + step), step),
    })),
  );
  const order = random(7);
  for (let at = files.length - 1; at > 0; at -= 1) {
    const other = order.next(at + 1);
    [files[at], files[other]] = [files[other] as OrdinaryFile, files[at] as OrdinaryFile];
  }
  return files;
}

/** As far as a compiler's constants go; what follows them is noise, as dense as code is. */
function classFiles(r: Random, count: number): ReturnType<typeof deflated>[] {
  const manifest = deflated(
    "META-INF/MANIFEST.MF",
    Buffer.from("Manifest-Version: 1.0\r\nCreated-By: 21 (bench)\r\n\r\n"),
  );
  const classes = Array.from({ length: count }, (_, index) => {
    const constants = Array.from({ length: 20 + r.next(120) }, () => {
      const text = Buffer.from(r.text(6 + r.next(40)).trim());
      return Buffer.concat([Buffer.of(1, text.length >> 8, text.length & 0xff), text]);
    });
    const head = Buffer.from([
      0xca,
      0xfe,
      0xba,
      0xbe,
      0,
      0,
      0,
      65,
      (constants.length + 1) >> 8,
      (constants.length + 1) & 0xff,
    ]);
    const content = Buffer.concat([head, ...constants, r.noise(200 + r.next(2_000))]);
    return deflated(`org/example/part${index % 12}/Class${index}.class`, content);
  });
  return [manifest, ...classes];
}

function mixedFiles(r: Random, count: number): ReturnType<typeof deflated>[] {
  return Array.from({ length: count }, (_, index) => {
    if (index % 4 === 0) return deflated(`scans/page-${index}.jpg`, jpeg(r, 500, 400));
    if (index % 4 === 1)
      return deflated(`letter-${index}.docx`, officeXml("docx", r, { textBytes: 40_000, pictures: 1 }));
    if (index % 4 === 2) return deflated(`offer-${index}.pdf`, pdf(r, { pages: 3, pictures: 1 }));
    return deflated(`notes/${index}.txt`, Buffer.from(r.text(20_000)));
  });
}

function sourceFiles(r: Random, count: number): { name: string; content: Buffer }[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `package/lib/module-${index}.js`,
    content: Buffer.from(`"use strict";\n${r.text(500 + r.next(20_000)).replaceAll(". ", ";\n")}`),
  }));
}

/** Text, the same as HTML, and a file or two. */
function mail(r: Random, step: number): Buffer {
  const boundary = `=_bench_${step}`;
  const part = (headers: string, body: string): string => `--${boundary}\r\n${headers}\r\n\r\n${body}\r\n`;
  const lines = (content: Buffer): string => content.toString("base64").replace(/.{76}/g, "$&\r\n");
  const attached = [
    ["letter.docx", () => officeXml("docx", r, { textBytes: 30_000 * step, pictures: step })],
    ["scan.pdf", () => pdf(r, { pages: 2 * step, pictures: step })],
    ["photo.jpg", () => jpeg(r, 400 + 150 * step, 400)],
  ] as const;
  const files = attached.filter((_, index) => step > 0 && (step + index) % 3 !== 0);
  const text = r.text(1_500 + 12_000 * (step % 2)).replaceAll("\n", "\r\n");
  return Buffer.from(
    `From: Ada <ada@example.com>\r\nTo: Team <team@example.com>\r\nSubject: ${r.text(30).replaceAll("\n", " ").trim()}\r\n` +
      `Date: Mon, 2 Nov 2026 10:00:00 +0000\r\nMessage-ID: <${r.next(1e9)}@example.com>\r\nMIME-Version: 1.0\r\n` +
      `Content-Type: multipart/mixed; boundary="${boundary}"\r\n\r\n` +
      part('Content-Type: text/plain; charset="utf-8"\r\nContent-Transfer-Encoding: 8bit', text) +
      part(
        'Content-Type: text/html; charset="utf-8"\r\nContent-Transfer-Encoding: 8bit',
        `<html><body><p>${text}</p></body></html>`,
      ) +
      files
        .map(([name, make]) => {
          const type = `Content-Type: application/octet-stream; name="${name}"`;
          const headers = `${type}\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename="${name}"`;
          return part(headers, lines(make()));
        })
        .join("") +
      `--${boundary}--\r\n`,
  );
}

function table(r: Random, rows: number): string {
  const line = (): string =>
    `${r.next(1e6)},"${r.text(30).replaceAll("\n", " ")}",${r.next(1e5) / 100},2026-0${1 + r.next(9)}-1${r.next(9)}`;
  return `id,what,amount,day\n${Array.from({ length: rows }, line).join("\n")}\n`;
}

function page(r: Random, paragraphs: number): string {
  const script = `<script>var shown=${r.next(99)};function toggle(i){document.getElementById("p"+i).hidden=!shown}</script>`;
  const body = Array.from(
    { length: paragraphs },
    (_, index) => `<p id="p${index}" class="text">${r.text(900)}</p>`,
  ).join("\n");
  return `<!doctype html>\n<html lang="en"><head><title>Report</title>${script}</head><body>\n${body}\n</body></html>\n`;
}

function records(r: Random, count: number): object[] {
  return Array.from({ length: count }, (_, id) => ({
    id,
    name: r.text(20),
    tags: [r.text(8), r.text(9)],
    amount: r.next(1e6) / 100,
  }));
}

/** A header of 64 bits, one segment, and what stands for code and strings. */
function program(r: Random, bytes: number): Buffer {
  const head = Buffer.alloc(64 + 56);
  head.write("7f454c46020101", 0, "hex");
  head.writeUInt16LE(2, 16);
  head.writeUInt16LE(183, 18);
  head.writeUInt32LE(1, 20);
  head.writeBigUInt64LE(0x400078n, 24);
  head.writeBigUInt64LE(64n, 32);
  for (const [at, value] of [
    [52, 64],
    [54, 56],
    [56, 1],
    [58, 64],
  ] as const)
    head.writeUInt16LE(value, at);
  head.writeUInt32LE(1, 64);
  head.writeUInt32LE(5, 68);
  head.writeBigUInt64LE(0x400000n, 80);
  head.writeBigUInt64LE(BigInt(bytes), 96);
  head.writeBigUInt64LE(BigInt(bytes), 104);
  return Buffer.concat([
    head,
    r.noise(Math.floor(bytes * 0.7)),
    Buffer.from(r.text(Math.floor(bytes * 0.2))),
    Buffer.alloc(Math.floor(bytes * 0.1)),
  ]);
}
