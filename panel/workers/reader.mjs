// Opens files with Node and packages of npm, as reader.py does with Python.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import * as zlib from "node:zlib";
import AdmZip from "adm-zip";
import CFB from "cfb";
import JSZip from "jszip";
import { simpleParser } from "mailparser";
import PostalMime from "postal-mime";
import unzipper from "unzipper";
import yauzl from "yauzl";

const LARGEST = 2 ** 24;
const LARGEST_MAIL = 2 ** 20;
const READER_MS = 1_000;
const binary = { postalMime: { attachmentEncoding: "arraybuffer" } };

/** Returns what a stream gives out until its end, a limit or an error. */
function pieces(stream) {
  const all = [];
  let size = 0;
  return new Promise((resolve) => {
    const end = () => resolve([Buffer.concat(all)]);
    stream.on("data", (piece) => {
      all.push(piece);
      size += piece.length;
      if (size > LARGEST) stream.destroy();
    });
    for (const event of ["end", "error", "close"]) stream.on(event, end);
  });
}

/** In small pieces, so that what comes before an error comes out. */
function decoded(transform) {
  return (data) => {
    const result = pieces(transform);
    for (let at = 0; at < data.length && !transform.destroyed; at += 61) transform.write(data.subarray(at, at + 61));
    transform.end();
    return result;
  };
}

async function readYauzl(data, options) {
  const found = [];
  const archive = await yauzl.fromBufferPromise(data, options);
  for await (const entry of archive.eachEntry()) {
    const stream = await archive.openReadStreamPromise(entry, options).catch(() => undefined);
    if (stream) found.push(...(await pieces(stream)));
  }
  return found;
}

async function readUnzipper(data) {
  const found = [];
  const { files } = await unzipper.Open.buffer(data);
  for (const file of files.slice(0, 200)) found.push(...(await pieces(file.stream())));
  return found;
}

async function readUnzipperStream(data) {
  const found = [];
  const parser = unzipper.Parse();
  const done = new Promise((resolve) => {
    for (const event of ["close", "end", "error"]) parser.on(event, resolve);
  });
  parser.on("entry", (entry) => void pieces(entry).then((content) => found.push(...content)));
  parser.end(data);
  await done;
  return found;
}

async function readJszip(data) {
  const { files } = await JSZip.loadAsync(data);
  const each = Object.values(files).map((file) => file.async("nodebuffer").catch(() => Buffer.alloc(0)));
  return Promise.all(each);
}

function readAdmZip(data) {
  return new AdmZip(data).getEntries().map((entry) => {
    try {
      return entry.getData();
    } catch {
      return Buffer.alloc(0);
    }
  });
}

async function readPostal(data) {
  const { attachments, text, html } = await PostalMime.parse(data, binary.postalMime);
  return [...attachments.map(({ content }) => Buffer.from(content)), Buffer.from(text ?? ""), Buffer.from(html ?? "")];
}

async function readMailparser(data) {
  const { attachments, text, html } = await simpleParser(data);
  return [...attachments.map(({ content }) => content), Buffer.from(text ?? ""), Buffer.from(html || "")];
}

function readCfb(data) {
  const { FileIndex } = CFB.read(data, { type: "buffer" });
  return FileIndex.map(({ content }) => Buffer.from(content ?? []));
}

const isMail = (data) => data.length < LARGEST_MAIL;
const readers = {
  "node gunzip": (data) => decoded(zlib.createGunzip())(data),
  "node inflate": (data) => decoded(zlib.createInflate())(data),
  "node brotli": (data) => decoded(zlib.createBrotliDecompress())(data),
  "node zstd": (data) => decoded(zlib.createZstdDecompress())(data),
  "npm yauzl": (data) => readYauzl(data, { validateEntrySizes: false, strictFileNames: false }),
  "npm unzipper": readUnzipper,
  "npm unzipper, a stream": readUnzipperStream,
  "npm jszip": readJszip,
  "npm adm-zip": readAdmZip,
  "npm cfb": readCfb,
  "npm postal-mime": (data) => (isMail(data) ? readPostal(data) : []),
  "npm mailparser": (data) => (isMail(data) ? readMailparser(data) : []),
};

// Libraries throw where nobody can catch it.
for (const event of ["uncaughtException", "unhandledRejection"]) process.on(event, () => {});

for await (const line of createInterface({ input: process.stdin })) {
  const [path, folder] = line.split("\t");
  const data = readFileSync(path);
  for (const [name, read] of Object.entries(readers)) {
    let timer;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, READER_MS, []);
    });
    const found = await Promise.race([(async () => read(data))().catch(() => []), late]);
    clearTimeout(timer);
    for (const [count, content] of found.entries()) {
      if (content?.length > 0) writeFileSync(join(folder, `${name}~${count}`), content);
    }
  }
  process.stdout.write("done\n");
}
