import { gzipSync } from "node:zlib";
import { cab, iso } from "../../../src/engines/rules/samples/archives.ts";
import { deflated, stored, zip } from "../zip-writer.ts";
import {
  bytes,
  type Container,
  containers,
  glue,
  HARMLESS,
  latin1,
  noise,
  patched,
  u16,
  u32,
  type Wrap,
} from "./container.ts";
import { base64 } from "./encodings.ts";
import { pdf } from "./pdfs.ts";
import { sevenZip } from "./rar-and-7z.ts";
import { entry, tarOf } from "./tars.ts";
import { STUB } from "./zip-oddities.ts";

/** Files that are two things at once, and files with something behind their end. */

const GIF = glue(
  "GIF89a",
  u16(1),
  u16(1),
  bytes(0, 0, 0, 0x2c),
  u16(0),
  u16(0),
  u16(1),
  u16(1),
  bytes(0, 2, 2, 0x4c, 1, 0, 0x3b),
);
const JPEG = glue(bytes(0xff, 0xd8, 0xff, 0xe0, 0, 16), "JFIF\0", bytes(1, 1, 0, 0, 1, 0, 1, 0, 0, 0xff, 0xd9));
const PNG = glue(
  latin1("\x89PNG\r\n\x1a\n"),
  Buffer.from("0000000d4948445200000001000000010802000000907753de", "hex"),
  Buffer.from("0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082", "hex"),
);
const WAV = glue(
  "RIFF",
  u32(44),
  "WAVEfmt ",
  u32(16),
  u16(1),
  u16(1),
  u32(8000),
  u32(8000),
  u16(1),
  u16(8),
  "data",
  u32(8),
  Buffer.alloc(8, 128),
);

const archives: Readonly<Record<string, Wrap>> = {
  zip: (content, name) => zip([deflated(name, content)]),
  "7z": (content) => sevenZip(content, { lzma: true }),
  gzip: (content) => gzipSync(content),
  cab: (content) => cab(content),
  tar: tarOf,
};
const carriers: Readonly<Record<string, Buffer>> = { GIF, JPEG, PNG, WAV, program: STUB, "empty PDF": pdf(HARMLESS) };
const READERS = ["7z", "unzip", "bsdtar", "7z-any"];

const behind = containers(
  "polyglots: behind a picture or program",
  { readers: READERS, maxBytes: 30_000 },
  Object.fromEntries(
    Object.entries(carriers).flatMap(([carrier, front]) =>
      Object.entries(archives).map(([archive, wrap]) => [
        `${archive} behind ${carrier}`,
        {
          // Nobody looks for gzip and tar behind something else; we do.
          readers: ["gzip", "tar"].includes(archive) ? [] : READERS,
          wrap: (content: Buffer, name: string) => glue(front, wrap(content, name)),
        },
      ]),
    ),
  ),
);

const twice = containers(
  "polyglots: two in one",
  { readers: READERS, maxBytes: 30_000 },
  {
    "a zip in a chunk of PNG": (content, name) => {
      const file = zip([deflated(name, content)]);
      const size = u32(file.length).reverse();
      return glue(PNG.subarray(0, -12), size, "zTXt", file, u32(0), PNG.subarray(-12));
    },
    "a zip in a comment of JPEG": (content, name) => {
      const file = zip([deflated(name, content)]);
      return glue(JPEG.subarray(0, 20), bytes(0xff, 0xfe), u16(file.length + 2).reverse(), file, bytes(0xff, 0xd9));
    },
    "a tar and a zip, the payload in the zip": (content, name) =>
      glue(tarOf(HARMLESS, "notes.txt"), zip([deflated(name, content)])),
    "a tar and a zip, the payload in the tar": {
      readers: ["tar", "bsdtar"],
      wrap: (content, name) => glue(tarOf(content, name), zip([deflated("notes.txt", HARMLESS)])),
    },
    "a tar whose first name begins a zip": {
      readers: ["tar", "7z-any"],
      wrap: (content, name) => glue(entry({ name: "PK\x03\x04" }, HARMLESS), tarOf(content, name)),
    },
    "a zip that begins a PDF": {
      readers: ["pdfdetach", "mutool", "qpdf"],
      wrap: (content) => glue(zip([stored("a.txt", HARMLESS)]), "\n", pdf(content)),
    },
    "a page and a zip": (content, name) => glue("<html><body>hello</body></html>\n", zip([deflated(name, content)])),
    "a mail and a zip": (content, name) =>
      glue("From: a@example.com\r\nSubject: a\r\n\r\nhello\r\n", zip([deflated(name, content)])),
    "an RTF and a zip": (content, name) => glue("{\\rtf1 hello}", zip([deflated(name, content)])),
    "an iso and a zip": (content, name) => glue(iso(HARMLESS), zip([deflated(name, content)])),
    "a zip in an iso's first sectors": (content, name) => {
      const file = zip([deflated(name, content)], { prefix: Buffer.alloc(0) });
      return patched(iso(HARMLESS), 0, file.subarray(0, 32_768));
    },
    "a script and base64": {
      readers: ["python-base64"],
      wrap: (content) => latin1(`#!/bin/sh\ntail -n +4 "$0" | base64 -d > a\nexit\n${base64(content)}\n`),
    },
    "a script and a gzip": {
      readers: ["7z-any"],
      wrap: (content) => glue('#!/bin/sh\ntail -n +3 "$0" | gzip -d > a; exit\n', gzipSync(content)),
    },
    "a script and a tar of gzip": {
      readers: [],
      wrap: (content, name) => glue("#!/bin/sh\nexit\n", noise(300), gzipSync(tarOf(content, name))),
    },
  },
);

export const polyglots: readonly Container[] = [...behind, ...twice];
