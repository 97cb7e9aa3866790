import type { Blob } from "../blob.ts";
import type { MemberSink } from "../seven-zip/emscripten-files.ts";
import type { UnpackOutcome } from "../seven-zip/unpack-outcome.ts";
import { findAll, findFirst } from "./text-search.ts";

/** Whether a file begins like a mail, or like a folder of mails: header fields, one of which only mails have. */
export function isMail(head: Buffer): boolean {
  const text = head.toString("latin1", 0, 8192);
  return (
    /^(From \S[^\r\n]*\r?\n)?([A-Za-z][A-Za-z-]*:[^\r\n]*(\r?\n[ \t][^\r\n]*)*\r?\n){2}/.test(text) &&
    MAIL_FIELD.test(text)
  );
}

const MAIL_FIELD = /^(MIME-Version|Content-Transfer-Encoding|Received|Return-Path|Message-ID|Delivered-To):/im;
const ENCODED = /content-transfer-encoding:[ \t]*(base64|quoted-printable|x-uuencode|x-uue|uuencode)/gi;

/** Decodes the parts of a mail, also of the mails in it. Text that is not encoded has been seen as it is. */
export function unpackMail(mail: Blob, sink: MemberSink): UnpackOutcome {
  for (const { position, text } of findAll(mail, ENCODED)) {
    const blank = findFirst(mail, /\n\r?\n/g, position);
    if (!blank) continue;
    sink.begin("");
    const body = blank.position + blank.text.length;
    if (/base64/i.test(text)) decodeBase64(mail, body, sink);
    else if (/uu/i.test(text)) sink.write(decodeUu(upToBoundary(mail, body)));
    else sink.write(decodeQuotedPrintable(upToBoundary(mail, body)));
    sink.end();
  }
  return { kind: "unpacked", tailBytes: 0 };
}

const PIECE = 1024 * 1024;
/** Other encodings than base64 are for text; more of it than this is left as it is. */
const TEXT_AT_MOST = 16 * PIECE;

/** Up to the first character that is not in the alphabet, piece by piece: attachments may be large. */
function decodeBase64(mail: Blob, start: number, sink: MemberSink): void {
  let kept = "";
  for (let at = start; at < mail.size; at += PIECE) {
    const text = mail.bytes(at, PIECE).toString("latin1");
    const end = text.search(/[^A-Za-z0-9+/=\s]/);
    const letters = kept + (end < 0 ? text : text.slice(0, end)).replace(/\s+/g, "");
    const whole = letters.length - (letters.length % 4);
    kept = letters.slice(whole);
    sink.write(Buffer.from(letters.slice(0, whole), "base64"));
    if (end >= 0) break;
  }
  if (kept !== "") sink.write(Buffer.from(kept, "base64"));
}

function upToBoundary(mail: Blob, start: number): string {
  const text = mail.bytes(start, TEXT_AT_MOST).toString("latin1");
  const end = text.search(/\r?\n--/);
  return end < 0 ? text : text.slice(0, end);
}

function decodeQuotedPrintable(text: string): Buffer {
  const joined = text.replace(/=[ \t]*\r?\n/g, "");
  return Buffer.from(
    joined.replace(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  );
}

/** Lines of up to 45 bytes, their number in front, four characters for three bytes. */
function decodeUu(text: string): Buffer {
  const lines = text.split(/\r?\n/);
  const first = lines.findIndex((line) => /^begin [0-7]{3,4} /.test(line));
  const decoded: number[] = [];
  for (const line of first < 0 ? [] : lines.slice(first + 1)) {
    const count = (line.charCodeAt(0) - 32) & 63;
    if (line === "end" || !(count > 0)) break;
    const bytes: number[] = [];
    for (let at = 1; bytes.length < count; at += 4) {
      const [a = 0, b = 0, c = 0, d = 0] = [0, 1, 2, 3].map((offset) => (line.charCodeAt(at + offset) - 32) & 63);
      bytes.push((a << 2) | (b >> 4), ((b & 15) << 4) | (c >> 2), ((c & 3) << 6) | d);
    }
    decoded.push(...bytes.slice(0, count));
  }
  return Buffer.from(decoded);
}
