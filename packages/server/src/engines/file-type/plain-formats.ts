import type { Kind } from "./kinds.ts";
import type { Text } from "./text.ts";

const MAIL_FIELDS = new Set(
  "received from to cc bcc date subject message-id mime-version return-path delivered-to reply-to sender content-type \
content-transfer-encoding dkim-signature in-reply-to references envelope-to x-mailer user-agent arc-seal \
arc-message-signature authentication-results received-spf x-originating-ip thread-topic thread-index list-unsubscribe".split(
    " ",
  ),
);
const TELLING_MAIL_FIELDS = ["received", "message-id", "mime-version", "return-path", "delivered-to", "subject"];

/** A block of header fields, enough of them those of a mail. */
export function mailKind(start: string): Kind | undefined {
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

/** Text formats that have a form, but are no programs. */
export function structuredKind(start: string): Kind | undefined {
  return iniKind(start) ?? markdownKind(start);
}

/** JSON as far as its first characters and its last one show it; or a line of it after another. */
export function jsonKind({ start, end }: Text): Kind | undefined {
  if (
    !/^\s*(?:\{\s*(?:"[^"\n]*"\s*:|\}\s*$)|\[\s*(?:[[\]{"]|-?\d[\d.eE+-]*\s*[,\]]|true\b|false\b|null\b))/.test(start)
  )
    return undefined;
  if (!/[\]}]\s*$/.test(end)) return undefined;
  const lines = start.trim().split("\n", 2);
  return lines.length > 1 && lines.every(isJson) ? "ndjson" : "json";
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
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

/** A title and a text below it, and more of what Markdown has. */
export function looseMarkdownKind(start: string): Kind | undefined {
  const titled = /^\s*(?:---\r?\n(?:[^\n]*\n){0,20}?---\r?\n\s*)?#{1,3} \S[^\n]*\n\s*\n/.test(start);
  return titled && /\n#{1,5} \S|`[^`\n]+`|\]\(|\*\*\w|\n[*-] \w/.test(start) ? "md" : undefined;
}

/** Programs shown in a text for people do not make it a program. */
function markdownKind(start: string): Kind | undefined {
  const fenced = start.includes("\n```") && /\n```[\w-]*\r?\n/.test(start);
  return fenced || (/^#{1,3} \S/.test(start) && /\]\((?:https?:|\.{0,2}\/|#)/.test(start)) ? "md" : undefined;
}

const TABLE_LINES = 10;

/** Rows of equally many fields. Tried last: prose and programs have commas, too. */
export function tableKind(lines: readonly string[]): Kind | undefined {
  const rows = lines.filter((line) => line !== "").slice(0, TABLE_LINES);
  if (rows.length < 2) return undefined;
  if (equallyMany(rows, "\t")) return "tsv";
  // Nobody writes blanks after these in a table, but people do in lists of other things.
  const semicolons = !rows[0]?.includes("; ") && equallyMany(rows, ";");
  return semicolons || equallyMany(rows, ",") || unevenTable(rows) ? "csv" : undefined;
}

function equallyMany(rows: readonly string[], separator: string): boolean {
  const counts = rows.map((row) => separators(row, separator));
  const [first = 0] = counts;
  if (first === 0 || counts.some((count) => count !== first)) return false;
  // One comma per line is no table yet, unless there are several such lines, and none of them a sentence.
  return first > 1 || (rows.length > 3 && !rows.some((row) => row.includes(`${separator} `)));
}

/** Rows may end early; but people write blanks after commas, and programs none. */
function unevenTable(rows: readonly string[]): boolean {
  return rows.length > 2 && rows.every((row) => separators(row, ",") > 1 && !row.includes(", "));
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
