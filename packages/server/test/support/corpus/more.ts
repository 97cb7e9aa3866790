import { deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { binHexText } from "../binhex-writer.ts";
import { compoundFile } from "../compound-writer.ts";
import { deflated, zip } from "../zip-writer.ts";
import {
  be32,
  bytes,
  type Container,
  containers,
  glue,
  HARMLESS,
  latin1,
  lines,
  madeBy,
  noise,
  padTo,
  u16,
  u32,
  u64,
  type Wrap,
} from "./container.ts";
import { base64, hex } from "./encodings.ts";
import { mail } from "./mails.ts";
import { ascii85 } from "./old-coders.ts";

/** What else carries files: signed messages, notebooks, installers, numbers in scripts. */

/** A value of ASN.1. */
function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const body = glue(...parts);
  if (body.length < 128) return glue(bytes(tag, body.length), body);
  return glue(bytes(tag, 0x84), be32(body.length), body);
}

/** With no length, but an end: as mail programs write it that do not know yet how long it becomes. */
const open = (tag: number, ...parts: Uint8Array[]): Buffer => glue(bytes(tag, 0x80), ...parts, bytes(0, 0));

const SIGNED_DATA = der(6, Buffer.from("2a864886f70d010702", "hex"));
const DATA = der(6, Buffer.from("2a864886f70d010701", "hex"));

/** Signed by nobody, which is enough to be read. */
const signed = (content: Buffer): Buffer =>
  der(
    0x30,
    SIGNED_DATA,
    der(0xa0, der(0x30, der(2, bytes(1)), der(0x31), der(0x30, DATA, der(0xa0, der(4, content))), der(0x31))),
  );

function signedInPieces(content: Buffer, size: number): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; at < content.length; at += size) pieces.push(der(4, content.subarray(at, at + size)));
  const inside = open(0x30, DATA, open(0xa0, open(0x24, ...pieces)));
  return open(0x30, SIGNED_DATA, open(0xa0, open(0x30, der(2, bytes(1)), der(0x31), inside, der(0x31))));
}

const P7M =
  'From: a@example.com\r\nMIME-Version: 1.0\r\nContent-Type: application/pkcs7-mime; smime-type=signed-data; name="smime.p7m"\r\nContent-Transfer-Encoding: base64\r\n\r\n';

const smimes = containers(
  "signed messages",
  { extension: ".p7m", readers: ["python-der"], ordinary: true },
  {
    "in one piece": signed,
    "in pieces of 1,000": (content) => signedInPieces(content, 1000),
    "in pieces of 100": (content) => signedInPieces(content, 100),
    "in a mail": {
      extension: ".eml",
      readers: ["python-mail-der"],
      wrap: (content) => glue(P7M, lines(base64(signed(content)), 64), "\r\n"),
    },
    "in a mail, in pieces": {
      extension: ".eml",
      readers: ["python-mail-der"],
      wrap: (content) => glue(P7M, lines(base64(signedInPieces(content, 100)), 64), "\r\n"),
    },
    "as PEM": {
      readers: ["python-pem-der"],
      wrap: (content) =>
        latin1(`-----BEGIN CMS-----\n${lines(base64(signed(content)), 64, "\n")}\n-----END CMS-----\n`),
    },
  },
);

/** Outlook's winmail.dat with one attachment. */
function tnef(content: Buffer): Buffer {
  const attribute = (level: number, id: number, value: Buffer): Buffer =>
    glue(bytes(level), u32(id), u32(value.length), value, u16(value.reduce((total, byte) => total + byte, 0)));
  return glue(
    ...[
      u32(0x223e9f78),
      u16(1),
      attribute(1, 0x00089006, u32(0x10000)),
      attribute(1, 0x00069007, glue(u32(1252), u32(0))),
    ],
    attribute(2, 0x00069002, Buffer.alloc(14)),
    attribute(2, 0x00018010, latin1("sample.txt\0")),
    attribute(2, 0x0006800f, content),
  );
}

const tnefs = containers(
  "TNEF",
  { extension: ".dat", readers: ["tnef"] },
  {
    alone: { ordinary: true, wrap: tnef },
    "noise behind": { readers: ["python-tnef"], wrap: (content) => glue(tnef(content), noise(50)) },
    "in a mail": {
      ordinary: true,
      readers: ["python-mail-tnef"],
      wrap: (content) =>
        mail(tnef(content), {
          headers: `Content-Type: application/ms-tnef; name="winmail.dat"\r\nContent-Transfer-Encoding: base64\r\n`,
        }),
    },
  },
);

/** OpenPGP's packet with a length of four bytes. */
const packet = (tag: number, body: Buffer): Buffer => glue(bytes(0xc0 | tag, 0xff), be32(body.length), body);
const literal = (content: Buffer): Buffer => packet(11, glue("b", bytes(1), "a", u32(0), content));
const armored = (message: Buffer): Buffer =>
  latin1(`-----BEGIN PGP MESSAGE-----\n\n${lines(base64(message), 64, "\n")}\n-----END PGP MESSAGE-----\n`);

const pgps = containers(
  "OpenPGP, not encrypted",
  { extension: ".gpg", readers: ["gpg"], ordinary: true },
  {
    literal,
    "packed by zip": (content) => packet(8, glue(bytes(1), deflateRawSync(literal(content)))),
    "packed by zlib": (content) => packet(8, glue(bytes(2), deflateSync(literal(content)))),
    "in letters": (content) => armored(literal(content)),
    "packed, in letters": (content) => armored(packet(8, glue(bytes(2), deflateSync(literal(content))))),
  },
);

const uuid = (text: string): Buffer => {
  const [a = "", b = "", c = "", ...rest] = text.split("-");
  const little = (part: string): Buffer => Buffer.from(part, "hex").reverse();
  return glue(little(a), little(b), little(c), Buffer.from(rest.join(""), "hex"));
};

/** A section of OneNote with an attached file; the rest of the notebook is left out. */
const notebook = (content: Buffer): Buffer =>
  glue(
    uuid("e4525c7b-8cd8-4da7-aeb1-5378d02996d3"),
    Buffer.alloc(1008, 1),
    uuid("bde316e7-2665-4511-a4c4-8d4d0b7a9eac"),
    ...[u64(content.length), u32(0), u64(0), padTo(content, 8)],
    uuid("71fba722-0f79-4a0b-bb13-899256426b24"),
    noise(300),
  );

const officeXml = (content: Buffer): Buffer => {
  const packed = deflateSync(compoundFile([{ name: "CONTENTS", content }]));
  return glue("ActiveMime", Buffer.alloc(6), u32(0x7a8d), Buffer.alloc(30), packed);
};

const notebooks = containers(
  "OneNote and ActiveMime",
  { readers: ["python-onenote"], ordinary: true },
  {
    OneNote: { extension: ".one", wrap: notebook },
    ActiveMime: { extension: ".mso", readers: ["python-mso"], wrap: officeXml },
    "ActiveMime in Word's XML": {
      extension: ".xml",
      readers: [],
      wrap: (content) =>
        latin1(
          `<?xml version="1.0"?><w:wordDocument><w:binData w:name="editdata.mso">${lines(base64(officeXml(content)), 76)}</w:binData></w:wordDocument>`,
        ),
    },
  },
);

const text =
  (make: (content: Buffer) => string): Wrap =>
  (content) =>
    latin1(make(content));
const numbers = (content: Buffer, separator = ","): string => [...content].join(separator);

const scripts = containers(
  "numbers in scripts",
  { extension: ".js", readers: ["python-numbers"], maxBytes: 100_000 },
  {
    "an array of JavaScript": text((content) => `var a = new Uint8Array([${numbers(content)}]);\n`),
    "an array of JavaScript in lines": text((content) =>
      `var a = [\n${lines(numbers(content, ", "), 78, "\n")}\n];\n`.replaceAll(/(\d)\n(\d)/g, "$1$2"),
    ),
    "codes of letters": text((content) => `eval(String.fromCharCode(${numbers(content)}));\n`),
    "an array of PowerShell": text((content) => `[Byte[]] $a = @(${numbers(content)})\r\n`),
    "an array of Visual Basic": text((content) => `a = Array(${numbers(content, ", ")})\r\n`),
    "letters of Visual Basic": text((content) => `a = ${[...content].map((byte) => `Chr(${byte})`).join(" & ")}\r\n`),
    "entities of HTML": {
      extension: ".html",
      wrap: text((content) => `<p>${[...content].map((byte) => `&#${byte};`).join("")}</p>\n`),
    },
    "octal escapes": {
      readers: [],
      wrap: text(
        (content) => `printf '${[...content].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("")}'\n`,
      ),
    },
    percents: { readers: [], wrap: text((content) => `a = unescape("${hex(content).replaceAll(/../g, "%$&")}");\n`) },
    "escapes of four digits": {
      readers: [],
      wrap: text((content) => `a = "${hex(content).replaceAll(/../g, "\\u00$&")}";\n`),
    },
  },
);

const letters = containers(
  "BinHex, ASCII85 and quoted-printable",
  { extension: ".txt", readers: [] },
  {
    BinHex: {
      extension: ".hqx",
      readers: ["unar"],
      wrap: (content) => binHexText({ data: content, resources: Buffer.alloc(0) }),
    },
    "ASCII85 with its marks": {
      readers: ["python-a85"],
      wrap: text((content) => `<~${lines(ascii85(content), 72, "\n")}~>\n`),
    },
    "ASCII85 behind a sentence": {
      readers: ["python-a85"],
      wrap: text((content) => `The file:\n\n<~${ascii85(content)}~>\n\nbye\n`),
    },
    "quoted-printable without a mail": {
      readers: ["python-qp"],
      wrap: text((content) => lines(hex(content).toUpperCase().replaceAll(/../g, "=$&"), 72, "=\r\n")),
    },
    "PostScript in ASCII85": {
      readers: ["python-a85"],
      wrap: text(
        (content) =>
          `%!PS-Adobe-3.0\ncurrentfile /ASCII85Decode filter\n<~${lines(ascii85(content), 72, "\n")}~>\nshowpage\n`,
      ),
    },
  },
);

const command =
  (script: string): Wrap =>
  (content, name) =>
    madeBy([["sh", "-c", script]], { content, name, target: "OUT" });
const nsis = (compressor: string): { needs: string[]; wrap: Wrap } => ({
  needs: ["makensis"],
  wrap: command(
    `printf 'OutFile OUT\\nName a\\nSetCompressor ${compressor}\\nSection\\nSetOutPath $TEMP\\nFile /r in\\nSectionEnd\\n' > a.nsi && makensis -V1 a.nsi`,
  ),
});

const installers = containers(
  "installers",
  { extension: ".exe", readers: ["7z", "7z-twice"], ordinary: true },
  {
    "NSIS by zlib": nsis("zlib"),
    "NSIS by bzip2": nsis("bzip2"),
    "NSIS by LZMA": nsis("lzma"),
    "NSIS by LZMA, solid": nsis("/SOLID lzma"),
    "7-Zip that unpacks itself": {
      needs: ["7z"],
      wrap: command("7z a -bso0 -bsp0 -sfx7zCon.sfx OUT.exe ./in/* && mv OUT.exe OUT"),
    },
    "a shell installer": {
      extension: ".run",
      readers: [],
      wrap: (content, name) =>
        glue("#!/bin/sh\ntail -c +60 $0 | gzip -dc | sh\nexit 0\n", gzipSync(zip([deflated(name, content)]))),
    },
  },
);

const disks = containers(
  "disks",
  { extension: ".img", readers: ["7z-twice"], ordinary: true, needs: ["mformat", "mcopy"] },
  {
    "a disk with a partition": (content, name) => glue(partitionTable(), Buffer.alloc(62 * 512), floppy(content, name)),
    "a virtual disk": {
      extension: ".vhd",
      wrap: (content, name) => fixedDisk(glue(partitionTable(), Buffer.alloc(62 * 512), floppy(content, name))),
    },
  },
);

const floppy = (content: Buffer, name: string): Buffer =>
  madeBy(
    [
      ["truncate", "-s", "1440K", "OUT"],
      ["mformat", "-i", "OUT", "-f", "1440", "::"],
      ["mcopy", "-i", "OUT", `in/${name}`, "::"],
    ],
    { content, name, target: "OUT" },
  );

/** The first entry alone: FAT12, from the 64th sector on. */
const partitionTable = (): Buffer =>
  glue(Buffer.alloc(446), bytes(0x80, 1, 1, 0, 1, 1, 18, 79), u32(63), u32(2880), Buffer.alloc(48), bytes(0x55, 0xaa));

function fixedDisk(disk: Buffer): Buffer {
  const footer = glue(
    ...["conectix", be32(2), be32(0x10000), Buffer.alloc(8, 0xff), be32(0), "laza", be32(0x10000), "Wi2k"],
    ...[be32(0), be32(disk.length), be32(0), be32(disk.length), bytes(0, 46, 4, 17), be32(2), be32(0), noise(16)],
    Buffer.alloc(428),
  );
  footer.writeUInt32BE(~footer.reduce((total, byte) => total + byte, 0) >>> 0, 64);
  return glue(disk, footer);
}

export const more: readonly Container[] = [
  ...[...smimes, ...tnefs, ...pgps, ...notebooks, ...scripts, ...letters, ...installers, ...disks],
  ...containers(
    "leftovers",
    { readers: [] },
    {
      "a mail in a zip in a mail": {
        ordinary: true,
        wrap: (content) => mail(zip([deflated("inner.eml", mail(content))])),
      },
      "a payload behind a line of text": (content) => glue("hello\n", gzipSync(content)),
      "two gzips with text between": (content) => glue(gzipSync(HARMLESS), "text", gzipSync(content)),
      "a tag of Windows": (content) =>
        glue("RIFF", u32(content.length + 12), "XXXX", "zdat", u32(content.length), gzipSync(content), u16(0)),
    },
  ),
];
