/** Words and numbers as people read them. */

const NAMES: Readonly<Record<string, string>> = {
  "\u061c": "ALM",
  "\u200b": "ZWSP",
  "\u200e": "LRM",
  "\u200f": "RLM",
  "\u202a": "LRE",
  "\u202b": "RLE",
  "\u202c": "PDF",
  "\u202d": "LRO",
  "\u202e": "RLO",
  "\u2028": "LS",
  "\u2029": "PS",
  "\u2060": "WJ",
  "\u2066": "LRI",
  "\u2067": "RLI",
  "\u2068": "FSI",
  "\u2069": "PDI",
  "\ufeff": "BOM",
};
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]/;

/** Text of strangers in pieces: what turns or hides text is a piece of its own, by name. */
export function pieces(text: string): { text: string; control: boolean }[] {
  const found: { text: string; control: boolean }[] = [];
  for (const part of text.split(new RegExp(`(${UNSEEN.source})`))) {
    if (part === "") continue;
    const control = part.length === 1 && UNSEEN.test(part);
    found.push({ text: control ? `⟦${NAMES[part] ?? codePoint(part)}⟧` : part, control });
  }
  return found;
}

/** The same as one string, for titles and what is copied into messages. */
export function visible(text: string): string {
  return pieces(text)
    .map((piece) => piece.text)
    .join("");
}

function codePoint(character: string): string {
  return `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

export function bytes(size: number): string {
  if (size < 1024) return `${size} B`;
  const units = ["KB", "MB", "GB", "TB"];
  let value = size / 1024;
  let unit = 0;
  for (; value >= 1024 && unit < units.length - 1; unit += 1) value /= 1024;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3600)} h`;
}

export function ago(at: number, now: number): string {
  const seconds = Math.round((now - at) / 1000);
  if (seconds < 0) return `in ${distance(-seconds)}`;
  return seconds < 5 ? "just now" : `${distance(seconds)} ago`;
}

function distance(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

export function exactTime(at: number): string {
  return new Date(at).toISOString().replace("T", " ").replace("Z", " UTC");
}

export function count(value: number): string {
  return value.toLocaleString("en");
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** One argument for a POSIX shell, whatever is in it. */
export function shellWord(text: string): string {
  // A terminal obeys these while it is pasted into, quotes or not: one of them drops the line, and what follows is a command.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
  if (/[\u0000-\u001f\u007f-\u009f]/.test(text))
    return `$'${Array.from(new TextEncoder().encode(text), escaped).join("")}'`;
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A byte as a shell reads it between $' and '. */
function escaped(byte: number): string {
  const character = String.fromCharCode(byte);
  return /[\w@%+=:,./ -]/.test(character) ? character : `\\x${byte.toString(16).padStart(2, "0")}`;
}
