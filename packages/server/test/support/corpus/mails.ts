import { deflated, zip } from "../zip-writer.ts";
import { bytes, type Container, containers, glue, latin1, lines, type Wrap } from "./container.ts";
import { base64, uu, yenc } from "./encodings.ts";

/** Mail, in the forms that mail programs read although nobody should write them. */

const BOUNDARY = "----=_Part_1";
const TOP = "From: a@example.com\r\nTo: b@example.com\r\nSubject: file\r\nMIME-Version: 1.0\r\n";
const NAMED = 'Content-Disposition: attachment; filename="sample.bin"\r\n';
const OCTETS = "Content-Type: application/octet-stream\r\n";
const multipart = (boundary = `"${BOUNDARY}"`): string => `Content-Type: multipart/mixed; boundary=${boundary}\r\n`;
const TEXT_PART = "Content-Type: text/plain\r\n\r\nHello\r\n";

interface Shape {
  top?: string;
  headers?: string;
  body?: Buffer | string;
  boundary?: string;
  delimiter?: string;
  close?: string;
  preamble?: string;
}

const encoded = (content: Buffer): string => lines(base64(content), 76);
const BASE64 = `Content-Transfer-Encoding: base64\r\n`;

/** A text and an attachment. */
export function mail(content: Buffer, shape: Shape = {}): Buffer {
  const delimiter = shape.delimiter ?? `--${BOUNDARY}\r\n`;
  return glue(
    `${(shape.top ?? TOP) + multipart(shape.boundary)}\r\n`,
    shape.preamble ?? "",
    delimiter + TEXT_PART,
    `${delimiter + (shape.headers ?? OCTETS + BASE64 + NAMED)}\r\n`,
    shape.body ?? encoded(content),
    "\r\n",
    shape.close ?? `--${BOUNDARY}--\r\n`,
  );
}

const shaped =
  (shape: Shape): Wrap =>
  (content) =>
    mail(content, shape);
const withHeaders = (headers: string): Wrap => shaped({ headers });
const withBody =
  (body: (content: Buffer) => string): Wrap =>
  (content) =>
    mail(content, { body: body(content) });
const MAIL = { extension: ".eml", readers: ["python-mail", "munpack", "ripmime"] };
const GOOD = { ...MAIL, ordinary: true };

const usual = containers("mail: ordinary", GOOD, {
  "an attachment in base64": (content) => mail(content),
  "line feeds alone": {
    maxBytes: 400_000,
    wrap: (content) => latin1(mail(content).toString("latin1").replaceAll("\r\n", "\n")),
  },
  "no parts, base64": (content) => glue(TOP, OCTETS, BASE64, NAMED, "\r\n", encoded(content), "\r\n"),
  "quoted-printable": (content) =>
    mail(content, {
      headers: `${OCTETS}Content-Transfer-Encoding: quoted-printable\r\n${NAMED}`,
      body: quotedPrintable(content),
    }),
  "parts in parts": (content) => {
    const inner = glue(
      'Content-Type: multipart/related; boundary="in"\r\n\r\n--in\r\n',
      OCTETS,
      BASE64,
      NAMED,
      "\r\n",
      encoded(content),
      "\r\n--in--\r\n",
    );
    return glue(
      TOP,
      multipart(),
      `\r\n--${BOUNDARY}\r\n${TEXT_PART}--${BOUNDARY}\r\n`,
      inner,
      `\r\n--${BOUNDARY}--\r\n`,
    );
  },
  "a mail in a mail": {
    readers: ["python-mail", "ripmime"],
    wrap: (content) =>
      mail(content, {
        headers: "Content-Type: message/rfc822\r\n",
        body: mail(content, { boundary: '"in"', delimiter: "--in\r\n", close: "--in--\r\n" }),
      }),
  },
  "UU in the text": {
    readers: ["python-uu", "munpack", "uudecode"],
    wrap: (content) => glue(TOP, "\r\nHello\r\n\r\n", uu(content).replaceAll("\n", "\r\n"), "\r\nbye\r\n"),
  },
  "yEnc in the text": {
    readers: ["python-yenc"],
    ordinary: false,
    wrap: (content) => glue(TOP, "\r\nHello\r\n\r\n", yenc(content)),
  },
  "a mailbox": {
    extension: ".mbox",
    readers: ["python-mbox"],
    wrap: (content) =>
      glue(
        "From a@example.com Mon Jan  1 00:00:00 2024\r\n",
        TOP,
        "\r\nHello\r\n\r\nFrom b@example.com Mon Jan  1 00:00:00 2024\r\n",
        mail(content),
      ),
  },
  "a saved page": {
    extension: ".mht",
    readers: ["python-mail"],
    wrap: (content) =>
      glue(
        'From: <Saved by Blink>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related;\r\n\ttype="text/html";\r\n\tboundary="----MultipartBoundary--a"\r\n\r\n',
        "------MultipartBoundary--a\r\nContent-Type: text/html\r\nContent-Transfer-Encoding: quoted-printable\r\nContent-Location: http://a/\r\n\r\n<html></html>\r\n",
        "------MultipartBoundary--a\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: base64\r\nContent-Location: http://a/b.png\r\n\r\n",
        `${encoded(content)}\r\n------MultipartBoundary--a--\r\n`,
      ),
  },
  "a delivery report": (content) =>
    glue("Return-Path: <>\r\nReceived: from a by b; Mon, 1 Jan 2024 00:00:00 +0000\r\n", mail(content)),
});

/** Every byte that is not a plain letter by its number, in lines of 70. */
function quotedPrintable(content: Buffer): string {
  let line = "";
  let out = "";
  for (const byte of content) {
    const plain = (byte > 32 && byte < 127 && byte !== 61) || false;
    line += plain ? String.fromCharCode(byte) : `=${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    if (line.length > 70) {
      out += `${line}=\r\n`;
      line = "";
    }
  }
  return out + line;
}

const QP = `${OCTETS}Content-Transfer-Encoding: quoted-printable\r\n${NAMED}`;
const long = "X-Long: ".concat(lines("a".repeat(20_000), 70, "\r\n "), "\r\n");

const heads = containers("mail: headers", MAIL, {
  "a folded encoding": withHeaders(`${OCTETS}Content-Transfer-Encoding:\r\n base64\r\n${NAMED}`),
  "an encoding folded by a tab": withHeaders(`${OCTETS}Content-Transfer-Encoding:\r\n\tbase64\r\n${NAMED}`),
  "an encoding with a comment": withHeaders(`${OCTETS}Content-Transfer-Encoding: base64 (as usual)\r\n${NAMED}`),
  "an encoding with a comment first": withHeaders(`${OCTETS}Content-Transfer-Encoding: (as usual) base64\r\n${NAMED}`),
  "an encoding in capitals": withHeaders(`${OCTETS}CONTENT-TRANSFER-ENCODING: BASE64\r\n${NAMED}`),
  "an encoding in quotes": withHeaders(`${OCTETS}Content-Transfer-Encoding: "base64"\r\n${NAMED}`),
  "an encoding with a semicolon": withHeaders(`${OCTETS}Content-Transfer-Encoding: base64;\r\n${NAMED}`),
  "an encoding without a blank": withHeaders(`${OCTETS}Content-Transfer-Encoding:base64\r\n${NAMED}`),
  "an encoding with a blank before the colon": withHeaders(`${OCTETS}Content-Transfer-Encoding : base64\r\n${NAMED}`),
  "two encodings, the right one first": withHeaders(`${OCTETS}${BASE64}Content-Transfer-Encoding: 7bit\r\n${NAMED}`),
  "two encodings, the right one last": withHeaders(`${OCTETS}Content-Transfer-Encoding: 7bit\r\n${BASE64}${NAMED}`),
  "an unknown encoding": { readers: [], wrap: withHeaders(`${OCTETS}Content-Transfer-Encoding: base46\r\n${NAMED}`) },
  "no encoding": { readers: [], wrap: withHeaders(`${OCTETS}${NAMED}`) },
  "headers of 20 KB": shaped({ top: TOP + long }),
  "headers of 20 KB before the attachment": withHeaders(`${long}${OCTETS}${BASE64}${NAMED}`),
  "a header line of 20 KB": shaped({ top: `${TOP}X-Long: ${"b".repeat(20_000)}\r\n` }),
  "two hundred headers": shaped({ top: TOP + Array.from({ length: 200 }, (_, index) => `X-${index}: a\r\n`).join("") }),
  "blank lines first": {
    readers: ["ripmime", "munpack", "python-mail-trimmed"],
    wrap: (content) => glue("\r\n\r\n\r\n", mail(content)),
  },
  "blanks first": {
    readers: ["ripmime", "munpack", "python-mail-trimmed"],
    wrap: (content) => glue("   \r\n", mail(content)),
  },
  "no MIME version": shaped({ top: "From: a@example.com\r\nSubject: file\r\n" }),
  "nothing but parts": shaped({ top: "" }),
  "a mark of UTF-8 first": {
    readers: ["ripmime", "munpack", "python-mail-trimmed"],
    wrap: (content) => glue(bytes(0xef, 0xbb, 0xbf), mail(content)),
  },
  "a mailbox line first": (content) => glue("From a@example.com Mon Jan  1 00:00:00 2024\r\n", mail(content)),
  "a quoted mailbox line first": (content) => glue(">From a@example.com Mon Jan  1 00:00:00 2024\r\n", mail(content)),
  "a broken header first": {
    readers: ["ripmime", "munpack"],
    wrap: (content) => glue("this is no header\r\n", mail(content)),
  },
  "a zero byte in a header": shaped({ top: `${TOP}X-Zero: a\0b\r\n` }),
  "headers in a language": shaped({ top: `${TOP}Subject: =?utf-8?B?w6k=?=\r\nX-A: \xe9\xe8\r\n` }),
  "a type without a name": withHeaders(`Content-Type: application/zip\r\n${BASE64}`),
  "no type": withHeaders(BASE64 + NAMED),
  "a text's type": withHeaders(`Content-Type: text/plain; charset=utf-8\r\n${BASE64}${NAMED}`),
  "a picture's type": withHeaders(`Content-Type: image/png\r\n${BASE64}`),
});

const marks = containers("mail: boundaries", MAIL, {
  "no quotes": shaped({
    boundary: BOUNDARY.replaceAll("=", "_"),
    delimiter: `--${BOUNDARY.replaceAll("=", "_")}\r\n`,
    close: `--${BOUNDARY.replaceAll("=", "_")}--\r\n`,
  }),
  folded: shaped({ boundary: `\r\n\t"${BOUNDARY}"` }),
  "a comment before it": shaped({ boundary: `"${BOUNDARY}" (a comment)` }),
  "blanks around the sign": (content) => latin1(mail(content).toString("latin1").replace("boundary=", "boundary = ")),
  "two boundaries in the header": shaped({ boundary: `"${BOUNDARY}"; boundary="other"` }),
  "in parts, of RFC 2231": (content) =>
    latin1(
      mail(content).toString("latin1").replace(`boundary="${BOUNDARY}"`, `boundary*0="----=_"; boundary*1="Part_1"`),
    ),
  "blanks behind": shaped({ delimiter: `--${BOUNDARY}   \r\n` }),
  "no closing one": shaped({ close: "" }),
  "a preamble": shaped({ preamble: "This is a message of several parts.\r\n" }),
  "a preamble of 20 KB": shaped({ preamble: `${lines("p".repeat(20_000), 70)}\r\n` }),
  "one in another": shaped({ boundary: '"b"', delimiter: "--b\r\n", close: "--b--\r\n", preamble: "--bb\r\n\r\n" }),
  "a blank line missing": {
    readers: ["munpack", "ripmime"],
    wrap: (content) =>
      mail(content, { headers: `${OCTETS}${BASE64}Content-Disposition: attachment`, body: `\r\n${encoded(content)}` }),
  },
  "an epilogue with the payload": {
    readers: [],
    wrap: (content) => glue(mail(Buffer.from("harmless")), OCTETS, BASE64, NAMED, "\r\n", encoded(content), "\r\n"),
  },
  "the payload in the preamble": {
    readers: [],
    wrap: (content) => mail(Buffer.from("harmless"), { preamble: `${OCTETS}${BASE64}\r\n${encoded(content)}\r\n` }),
  },
  "parts that are not announced": {
    readers: [],
    wrap: (content) => latin1(mail(content).toString("latin1").replace("multipart/mixed", "text/plain")),
  },
  "carriage returns alone": {
    readers: [],
    wrap: (content) => latin1(mail(content).toString("latin1").replaceAll("\r\n", "\r")),
  },
  "twelve layers of parts": (content) => {
    let part = glue(OCTETS, BASE64, NAMED, "\r\n", encoded(content), "\r\n");
    for (let layer = 0; layer < 12; layer += 1)
      part = glue(
        `Content-Type: multipart/mixed; boundary="l${layer}"\r\n\r\n--l${layer}\r\n`,
        part,
        `\r\n--l${layer}--\r\n`,
      );
    return glue(TOP, part);
  },
});

const junky =
  (insert: string, every: number): ((content: Buffer) => string) =>
  (content) =>
    lines(base64(content), every, insert);

const bodies = containers("mail: encoded bodies", MAIL, {
  "one long line": withBody(base64),
  "lines of four": withBody((content) => lines(base64(content), 4)),
  "lines of 75, uneven": withBody((content) => lines(base64(content), 75)),
  "blanks in the lines": withBody(junky(" ", 10)),
  "blank lines between": withBody((content) => lines(base64(content), 60, "\r\n\r\n")),
  "exclamation marks between": withBody(junky("!", 61)),
  "letters of no alphabet between": withBody(junky("\r\n\xff*", 61)),
  "dots and dashes": withBody(junky("\r\n.", 60)),
  "no padding": { readers: ["python-mail"], wrap: withBody((content) => encoded(content).replace(/=+$/, "")) },
  "too much padding": withBody((content) => `${encoded(content)}====`),
  "padding in the middle": {
    readers: [],
    wrap: withBody((content) => `${base64(content.subarray(0, 100))}\r\n${base64(content.subarray(100))}`),
  },
  "a signature line behind": withBody((content) => `${encoded(content)}\r\n\r\n-- \r\nsent from my telephone\r\n`),
  "a list's footer behind": withBody(
    (content) => `${encoded(content)}\r\n_______________________________________________\r\nlist mailing list\r\n`,
  ),
  "quoted-printable, small letters": (content) =>
    mail(content, {
      headers: QP,
      body: quotedPrintable(content).replaceAll(/=[0-9A-F]{2}/g, (all) => all.toLowerCase()),
    }),
  "quoted-printable, all bytes": (content) =>
    mail(content, {
      headers: QP,
      body: lines(content.toString("hex").toUpperCase().replaceAll(/../g, "=$&"), 72, "=\r\n"),
    }),
  "quoted-printable, blanks after the soft end": {
    readers: [],
    wrap: (content) => mail(content, { headers: QP, body: quotedPrintable(content).replaceAll("=\r\n", "= \r\n") }),
  },
  "quoted-printable, a signature line": {
    readers: ["python-mail-zip"],
    // In a zip, which does not mind what stands behind it.
    wrap: (content, name) => {
      const body = quotedPrintable(zip([deflated(name, content)]));
      return mail(content, { headers: QP, body: `${body}\r\n-- \r\nsent from my telephone` });
    },
  },
  "eight bits": {
    readers: [],
    wrap: (content) =>
      mail(content, { headers: `${OCTETS}Content-Transfer-Encoding: 8bit\r\n${NAMED}`, body: content }),
  },
  binary: {
    readers: [],
    wrap: (content) =>
      mail(content, { headers: `${OCTETS}Content-Transfer-Encoding: binary\r\n${NAMED}`, body: content }),
  },
  "UU by the header": (content) =>
    mail(content, {
      headers: `${OCTETS}Content-Transfer-Encoding: x-uuencode\r\n${NAMED}`,
      body: uu(content).replaceAll("\n", "\r\n"),
    }),
  "UU without its frame": {
    readers: [],
    wrap: (content) =>
      mail(content, {
        headers: `${OCTETS}Content-Transfer-Encoding: x-uuencode\r\n${NAMED}`,
        body: uu(content).split("\n").slice(1, -3).join("\r\n"),
      }),
  },
  "a mail in a mail in base64": {
    readers: ["python-mail-twice", "ripmime"],
    wrap: (content) =>
      mail(content, {
        headers: `Content-Type: message/rfc822\r\n${BASE64}`,
        body: encoded(mail(content, { boundary: '"in"', delimiter: "--in\r\n", close: "--in--\r\n" })),
      }),
  },
});

export const mails: readonly Container[] = [...usual, ...heads, ...marks, ...bodies];
