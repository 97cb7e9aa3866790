import { crc32 } from "node:zlib";
import { bytes, type Container, containers, glue, latin1, lines, noise, type Wrap } from "./container.ts";

/** Files in letters: base64, hexadecimal, UU and their like, wherever text can stand. */

export const base64 = (content: Uint8Array): string => Buffer.from(content).toString("base64");
export const hex = (content: Uint8Array): string => Buffer.from(content).toString("hex");
const urlSafe = (content: Uint8Array): string => Buffer.from(content).toString("base64url");
const utf16 = (text: string): Buffer => glue(bytes(0xff, 0xfe), Buffer.from(text, "utf16le"));

const text =
  (make: (content: Buffer) => string): Wrap =>
  (content) =>
    latin1(make(content));
/** The encoded content between other words. */
const between = (before: string, encode: (content: Buffer) => string, after: string): Wrap =>
  text((content) => `${before}${encode(content)}${after}`);

const TEXT = { extension: ".txt", readers: ["python-base64"], maxBytes: 600_000 };

const inText = containers("base64 in text", TEXT, {
  "one line alone": text(base64),
  "lines of 76": text((content) => lines(base64(content), 76)),
  "lines of 64, line feeds": text((content) => lines(base64(content), 64, "\n")),
  "lines of 40, carriage returns": text((content) => lines(base64(content), 40, "\r")),
  "behind a sentence": between(
    "Please find the file below.\n\n",
    (content) => lines(base64(content), 76, "\n"),
    "\n\nRegards\n",
  ),
  "between marks": between(
    "-----BEGIN FILE-----\n",
    (content) => lines(base64(content), 64, "\n"),
    "\n-----END FILE-----\n",
  ),
  indented: between("file: |\n    ", (content) => lines(base64(content), 60, "\n    "), "\nnext: 1\n"),
  "quoted as in an answer": between("> ", (content) => lines(base64(content), 60, "\n> "), "\n\nnoted\n"),
  "without its padding": text((content) => base64(content).replace(/=+$/, "")),
  "for addresses": text(urlSafe),
  "for addresses, in one": between("https://example.com/?file=", urlSafe, "&x=1\n"),
  "escaped for an address": between("file=", (content) => encodeURIComponent(base64(content)), "&x=1"),
  "in UTF-16": (content) => utf16(`The file:\r\n${lines(base64(content), 76)}\r\n`),
  "in UTF-16, one line": (content) => utf16(base64(content)),
  "in UTF-16, no mark": (content) => Buffer.from(`file = "${base64(content)}"`, "utf16le"),
  "in UTF-16, big end first": (content) => utf16(base64(content)).swap16(),
  "with a mark of UTF-8": (content) => glue(bytes(0xef, 0xbb, 0xbf), base64(content)),
});

const SCRIPT = { extension: ".js", readers: ["python-base64"], maxBytes: 600_000 };
const pieces = (content: Buffer, width: number, glueing: string): string => lines(base64(content), width, glueing);

const inScripts = containers("base64 in scripts and data", SCRIPT, {
  "a JavaScript string": between('var a = "', base64, '"; save(atob(a));\n'),
  "a JavaScript string in back quotes": between(
    "const a = `\n",
    (content) => lines(base64(content), 80, "\n"),
    "\n`;\n",
  ),
  "a JavaScript string in pieces": between('var a = "', (content) => pieces(content, 70, '" +\n  "'), '";\n'),
  "a JavaScript string in pieces, on one line": between("var a = '", (content) => pieces(content, 90, "'+'"), "';\n"),
  "a JavaScript array": between('var a = ["', (content) => pieces(content, 80, '","'), '"].join("");\n'),
  "a JavaScript string continued": between('var a = "', (content) => pieces(content, 80, "\\\n"), '";\n'),
  "appended line by line": between('a = "', (content) => pieces(content, 80, '"\na += "'), '"\n'),
  "a Visual Basic string": between('a = "', (content) => pieces(content, 80, '" & _\r\n    "'), '"\r\n'),
  "a PowerShell string": between(
    "$a = '",
    base64,
    "'; [IO.File]::WriteAllBytes($p, [Convert]::FromBase64String($a))\r\n",
  ),
  "a PowerShell here-string": between("$a = @'\r\n", (content) => lines(base64(content), 76), "\r\n'@\r\n"),
  "a PowerShell script in UTF-16": (content) => utf16(`$a = '${base64(content)}'\r\n`),
  "a shell document": between("base64 -d <<EOF\n", (content) => lines(base64(content), 76, "\n"), "\nEOF\n"),
  "a Python string": between("a = (b'", (content) => pieces(content, 76, "'\n     b'"), "')\n"),
  "a batch file": between(
    "@echo off\r\necho ",
    (content) => pieces(content, 76, ">>a.b64\r\necho "),
    ">>a.b64\r\ncertutil -decode a.b64 a.exe\r\n",
  ),
  JSON: between('{"name":"a.bin","data":"', base64, '"}\n'),
  "JSON with escaped slashes": between('{"data":"', (content) => base64(content).replaceAll("/", "\\/"), '"}\n'),
  "JSON with line ends": between('{"data":"', (content) => lines(base64(content), 76, "\\r\\n"), '"}\n'),
  XML: between('<?xml version="1.0"?><file>', base64, "</file>\n"),
  "XML in lines": between("<pkg:binaryData>", (content) => lines(base64(content), 76), "</pkg:binaryData>\n"),
  "XML in CDATA": between("<a><![CDATA[", (content) => lines(base64(content), 76, "\n"), "]]></a>\n"),
  "XML with entities": between("<a>", (content) => lines(base64(content), 76, "&#13;\n"), "</a>\n"),
  "a certificate's marks": between(
    "-----BEGIN CERTIFICATE-----\r\n",
    (content) => lines(base64(content), 64),
    "\r\n-----END CERTIFICATE-----\r\n",
  ),
  "an LDIF entry": between("dn: cn=a\njpegPhoto:: ", (content) => lines(base64(content), 76, "\n "), "\n"),
  "a vCard": between(
    "BEGIN:VCARD\r\nPHOTO;ENCODING=b:",
    (content) => lines(base64(content), 74, "\r\n "),
    "\r\nEND:VCARD\r\n",
  ),
});

const HTML = { extension: ".html", readers: ["python-base64"], maxBytes: 600_000 };
const page = (body: string): string =>
  `<!DOCTYPE html><html><head><title>a</title></head><body>${body}</body></html>\n`;
const percent = (content: Uint8Array): string => hex(content).replaceAll(/../g, "%$&");

const dataUrls = containers("data URLs", HTML, {
  "a link of HTML": text((content) =>
    page(`<a download="a.bin" href="data:application/octet-stream;base64,${base64(content)}">a</a>`),
  ),
  "a link of HTML in single quotes": text((content) => page(`<a href='data:;base64,${base64(content)}'>a</a>`)),
  "a link of HTML without quotes": text((content) =>
    page(`<a href=data:application/zip;base64,${base64(content)}>a</a>`),
  ),
  "a link of HTML with line ends": text((content) =>
    page(`<a href="data:application/zip;base64,\n${lines(base64(content), 76, "\n")}">a</a>`),
  ),
  "a link of HTML, escaped": text((content) =>
    page(`<a href="data:application/zip;base64,${encodeURIComponent(base64(content))}">a</a>`),
  ),
  "a link of HTML, by entities": text((content) =>
    page(
      `<a href="&#100;ata:application/zip;base64,${base64(content).replaceAll("+", "&#43;").replaceAll("=", "&#61;")}">a</a>`,
    ),
  ),
  "a link of HTML, in percents": text((content) =>
    page(`<a href="data:application/octet-stream,${percent(content)}">a</a>`),
  ),
  "a link of HTML, parameters": text((content) =>
    page(`<a href="data:application/zip;name=a.zip;charset=utf-8;base64,${base64(content)}">a</a>`),
  ),
  "a link of HTML, capitals": text((content) => page(`<a href="DATA:Application/ZIP;BASE64,${base64(content)}">a</a>`)),
  "a style sheet": text((content) => `@font-face{src:url(data:font/woff2;base64,${base64(content)})}\n`),
  "a drawing": text(
    (content) =>
      `<svg xmlns="http://www.w3.org/2000/svg"><image href="data:image/png;base64,${base64(content)}"/></svg>\n`,
  ),
  "a script of a drawing": text(
    (content) => `<svg xmlns="http://www.w3.org/2000/svg"><script>a="${base64(content)}"</script></svg>\n`,
  ),
  "a script of HTML": text((content) => page(`<script>var b=new Blob([atob("${base64(content)}")]);</script>`)),
  "an attribute of HTML": text((content) => page(`<div id="f" data-file="${base64(content)}"></div>`)),
  "a comment of HTML": text((content) => page(`<!-- ${base64(content)} -->`)),
  "HTML in UTF-16": (content) => utf16(page(`<a href="data:application/zip;base64,${base64(content)}">a</a>`)),
  Markdown: text((content) => `# Notes\n\n![a](data:image/png;base64,${base64(content)})\n`),
});

const HEX = { extension: ".txt", readers: ["python-hex"], maxBytes: 300_000 };
const spaced = (content: Uint8Array): string => hex(content).replaceAll(/../g, "$& ").trim();

const hexes = containers("hex in text", HEX, {
  "one line alone": text(hex),
  capitals: text((content) => hex(content).toUpperCase()),
  "in lines": text((content) => lines(hex(content), 64, "\n")),
  "with blanks": text(spaced),
  "with blanks, in lines": text((content) => lines(`${spaced(content)} `, 48, "\n")),
  "a JavaScript string": text((content) => `var a = "${hex(content)}";\n`),
  "a JavaScript string of escapes": text((content) => `var a = "${hex(content).replaceAll(/../g, "\\x$&")}";\n`),
  "an array of C": text((content) => `unsigned char a[] = {\n${hex(content).replaceAll(/../g, "0x$&, ")}\n};\n`),
  "an array of C in lines": text(
    (content) => `unsigned char a[] = {\n  ${lines(hex(content).replaceAll(/../g, "0x$&, "), 72, "\n  ")}\n};\n`,
  ),
  "a PowerShell array": text((content) => `[Byte[]] $a = ${hex(content).replaceAll(/../g, "0x$&,").slice(0, -1)}\r\n`),
  "a database literal": text((content) => `INSERT INTO f VALUES (X'${hex(content)}');\n`),
  "of a registry file": (content) =>
    utf16(
      `Windows Registry Editor Version 5.00\r\n\r\n[HKEY_CURRENT_USER\\a]\r\n"b"=hex:${lines(hex(content).replaceAll(/../g, "$&,"), 75, "\\\r\n  ").slice(0, -1)}\r\n`,
    ),
  "in UTF-16": (content) => utf16(hex(content)),
  "of Intel": { readers: ["7z", "python-ihex"], wrap: intelHex },
});

function intelHex(content: Buffer): Buffer {
  const record = (address: number, type: number, part: Uint8Array): string => {
    const line = glue(bytes(part.length, (address >> 8) & 0xff, address & 0xff, type), part);
    const sum = -line.reduce((total, byte) => total + byte, 0) & 0xff;
    return `:${hex(line).toUpperCase()}${sum.toString(16).toUpperCase().padStart(2, "0")}\n`;
  };
  let out = "";
  for (let at = 0; at < content.length; at += 16) {
    if (at % 0x10000 === 0) out += record(0, 4, bytes((at >> 24) & 0xff, (at >> 16) & 0xff));
    out += record(at & 0xffff, 0, content.subarray(at, at + 16));
  }
  return latin1(out + record(0, 1, bytes()));
}

/** Three bytes in four letters of an alphabet, lines of 45 bytes that begin with their length. */
function linesOf(content: Buffer, letter: (six: number) => string): string {
  let out = "";
  for (let at = 0; at < content.length; at += 45) {
    const line = content.subarray(at, at + 45);
    const filled = glue(line, Buffer.alloc((3 - (line.length % 3)) % 3));
    let letters = letter(line.length);
    for (let index = 0; index < filled.length; index += 3) {
      const word = filled.readUIntBE(index, 3);
      for (const shift of [18, 12, 6, 0]) letters += letter((word >> shift) & 63);
    }
    out += `${letters}\n`;
  }
  return out;
}

const XX = "+-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const uuLetter = (six: number): string => (six === 0 ? "`" : String.fromCharCode(32 + six));
export const uu = (content: Buffer): string => `begin 644 sample.txt\n${linesOf(content, uuLetter)}\`\nend\n`;

export function yenc(content: Buffer, part = ""): Buffer {
  const out: Buffer[] = [];
  for (let at = 0; at < content.length; at += 128) {
    const line = [...content.subarray(at, at + 128)].flatMap((byte) => {
      const moved = (byte + 42) & 0xff;
      return [0, 9, 10, 13, 32, 46, 61].includes(moved) ? [61, (moved + 64) & 0xff] : [moved];
    });
    out.push(bytes(...line), latin1("\r\n"));
  }
  const check = crc32(content).toString(16).padStart(8, "0");
  return glue(
    `=ybegin line=128 size=${content.length}${part} name=sample.txt\r\n`,
    ...out,
    `=yend size=${content.length} crc32=${check}\r\n`,
  );
}

const uus = containers(
  "uu, xx and yEnc",
  { extension: ".uue", readers: ["uudecode", "python-uu"] },
  {
    plain: text(uu),
    "blanks for zeros": text((content) => uu(content).replaceAll("`", " ")),
    "line ends of DOS": text((content) => uu(content).replaceAll("\n", "\r\n")),
    "behind a letter": between("Dear all,\n\nthe file is below.\n\n", uu, "\nRegards\n"),
    "blanks cut": text((content) => uu(content).replaceAll("`", " ").replaceAll(/ +\n/g, "\n")),
    "no end": { readers: ["python-uu", "uudeview"], wrap: text((content) => uu(content).slice(0, -6)) },
    "two, the payload in the second": { readers: ["python-uu", "uudeview"], wrap: between(uu(noise(100)), uu, "") },
    "in base64": text((content) => `begin-base64 644 sample.txt\n${lines(base64(content), 60, "\n")}\n====\n`),
    xx: {
      readers: ["uudeview"],
      wrap: text((content) => `begin 644 sample.txt\n${linesOf(content, (six) => XX[six] ?? "")}+\nend\n`),
    },
    yEnc: { extension: ".yenc", readers: ["uudeview", "python-yenc"], wrap: (content) => yenc(content) },
    "yEnc behind a letter": {
      extension: ".yenc",
      readers: ["uudeview", "python-yenc"],
      wrap: (content) => glue("Hello\r\n\r\n", yenc(content), "bye\r\n"),
    },
    "yEnc without its end": {
      extension: ".yenc",
      readers: ["python-yenc"],
      wrap: (content) => {
        const file = yenc(content);
        return file.subarray(0, file.lastIndexOf("=yend"));
      },
    },
  },
);

export const encodings: readonly Container[] = [...inText, ...inScripts, ...dataUrls, ...hexes, ...uus];
