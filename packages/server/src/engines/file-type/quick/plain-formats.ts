import type { Kind } from "../kinds.ts";
import type { Text } from "./text.ts";

/** Text formats that their first characters give away. */
const OPENINGS: readonly (readonly [Kind, RegExp])[] = [
  ["rtf", /^\{\\rtf/],
  ["eps", /^%!PS-Adobe-[\d.]+ EPSF/],
  ["ps", /^%!(?:PS|\s)/],
  ["vcf", /^BEGIN:VCARD\b/i],
  ["ics", /^BEGIN:VCALENDAR\b/i],
  ["vtt", /^WEBVTT(?=\s|$)/],
  ["srt", /^\s*\d+\s*\n\d\d:\d\d:\d\d[,.]\d{1,3} --> \d\d:\d\d/],
  ["m3u", /^#EXTM3U/],
  ["uu", /^begin(?:-base64)? [0-7]{3,4} \S[^\n]*\n/],
  ["binhex", /^[^\n]{0,20}\(This file must be converted with BinHex/],
  ["pem-certificate", /^-----BEGIN (?:TRUSTED )?CERTIFICATE-----/m],
  ["pem-key", /^-----BEGIN (?:[A-Z0-9]+ ){0,2}PRIVATE KEY-----/m],
  ["pgp", /^-----BEGIN PGP [A-Z ]+-----/],
  ["pem", /^-----BEGIN [A-Z0-9 ]{3,40}-----/],
  ["ssh-key", /^(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-nistp\d+|sk-[\w.@-]+) AAAA[A-Za-z0-9+/=]+/],
  ["reg", /^(?:Windows Registry Editor Version |REGEDIT4)/],
  ["url", /^\s*\[(?:InternetShortcut|\{000214A0[^\]]*\})\]/i],
  ["desktop", /^(?:\s*#[^\n]*\n)*\s*\[Desktop Entry\]/],
  ["diff", /^(?:diff (?:--git|-[a-zA-Z]+) |Index: [^\n]+\n=|--- [^\n]+\n\+\+\+ [^\n]+\n@@ )/],
  ["tex", /^(?:\s*%[^\n]*\n)*\s*\\(?:documentclass|documentstyle|begin\{document\}|NeedsTeXFormat)/],
  ["mbox", /^From \S+ +(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d/],
];

/** Text formats that have a form, but are no programs. */
export function plainFormatKind(text: Text): Kind | undefined {
  const opening = OPENINGS.find(([, pattern]) => pattern.test(text.start));
  if (opening) return opening[0];
  return mailKind(text.start) ?? iniKind(text.start) ?? markdownKind(text.start);
}

const MAIL_FIELDS = new Set(
  "received from to cc bcc date subject message-id mime-version return-path delivered-to reply-to sender content-type \
content-transfer-encoding dkim-signature in-reply-to references envelope-to x-mailer user-agent arc-seal \
arc-message-signature authentication-results received-spf x-originating-ip thread-topic thread-index list-unsubscribe".split(
    " ",
  ),
);
const TELLING_MAIL_FIELDS = ["received", "message-id", "mime-version", "return-path", "delivered-to", "subject"];

/** A block of header fields, enough of them those of a mail. */
function mailKind(start: string): Kind | undefined {
  if (!/^[A-Za-z][\w-]*:/.test(start)) return undefined;
  const fields = new Set<string>();
  for (const line of start.split("\n", 80)) {
    if (line.trim() === "") break;
    const name = /^([A-Za-z][\w-]*):/.exec(line)?.[1]?.toLowerCase();
    if (!name && !/^[ \t]/.test(line)) return undefined;
    if (name && MAIL_FIELDS.has(name)) fields.add(name);
  }
  if (fields.size < 2 || !TELLING_MAIL_FIELDS.some((field) => fields.has(field))) return undefined;
  const saved = /^content-type:\s*multipart\/related/im.test(start) && /^(?:snapshot-)?content-location:/im.test(start);
  return saved ? "mhtml" : "eml";
}

/** Sections in brackets, with keys and values below. */
function iniKind(start: string): Kind | undefined {
  if (!/^\s*[[#;]/.test(start)) return undefined;
  const lines = start
    .split("\n", 40)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !/^[#;]/.test(line));
  if (!/^\[[\w .:/@"'\\-]{1,80}\]$/.test(lines[0] ?? "")) return undefined;
  return lines.slice(1).some((line) => /^[\w.-]{1,60}\s*=/.test(line)) ? "ini" : undefined;
}

/** Programs shown in a text for people do not make it a program. */
function markdownKind(start: string): Kind | undefined {
  const fenced = start.includes("\n```") && /\n```[\w-]*\r?\n/.test(start);
  return fenced || (/^#{1,3} \S/.test(start) && /\]\((?:https?:|\.{0,2}\/|#)/.test(start)) ? "md" : undefined;
}

const TABLE_LINES = 10;

/** Rows of equally many fields. Tried last: prose and programs have commas, too. */
export function tableKind(lines: readonly string[]): Kind | undefined {
  const rows = lines.slice(0, TABLE_LINES);
  if (rows.length < 2) return undefined;
  if (equallyMany(rows, "\t")) return "tsv";
  // Nobody writes blanks after these in a table, but people do in lists of other things.
  const semicolons = !rows[0]?.includes("; ") && equallyMany(rows, ";");
  return semicolons || equallyMany(rows, ",") ? "csv" : undefined;
}

function equallyMany(rows: readonly string[], separator: string): boolean {
  const counts = rows.map((row) => separators(row, separator));
  const [first = 0] = counts;
  // One comma per line is no table yet, unless there are several such lines.
  return first > 0 && (first > 1 || rows.length > 3) && counts.every((count) => count === first);
}

/** Separators outside quotes. */
function separators(row: string, separator: string): number {
  let count = 0;
  let quoted = false;
  for (let at = 0; at < row.length; at++) {
    const character = row[at];
    if (character === '"') quoted = !quoted;
    else if (character === separator && !quoted) count++;
  }
  return count;
}

const YAML_LINES = 60;

/** Keys and values, lists and comments, line by line. */
export function yamlKind(lines: readonly string[]): Kind | undefined {
  let keys = 0;
  let hangingUnder = -1;
  for (const line of lines.slice(0, YAML_LINES)) {
    const depth = line.search(/\S/);
    if (depth < 0 || line[depth] === "#") continue;
    // Text of several lines hangs under its key.
    if (hangingUnder >= 0 && depth > hangingUnder) continue;
    hangingUnder = /:\s*[|>][+-]?\s*$/.test(line) ? depth : -1;
    if (/^(?:---|\.\.\.|%YAML)/.test(line)) continue;
    const isKey = /^\s*(?:- +)*(?:[\w./$-]{1,80}|"[^"]{1,80}"):(?:\s|$)/.test(line);
    if (!isKey && !/^\s*- /.test(line)) return undefined;
    if (isKey) keys++;
  }
  return keys >= 2 ? "yaml" : undefined;
}
