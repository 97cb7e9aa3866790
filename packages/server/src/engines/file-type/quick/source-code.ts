import type { Kind } from "../kinds.ts";
import { LANGUAGES, type LineSign, type Sign, type TextSign } from "./languages.ts";

const INTERPRETERS: readonly (readonly [RegExp, Kind])[] = [
  [/^(?:ba|da|z|k|mk|pdk|a|c|tc|fi)?sh$|^busybox$/, "sh"],
  [/^(?:python|pypy)[\d.]*$/, "py"],
  [/^perl[\d.]*$/, "perl"],
  [/^(?:ruby|jruby)[\d.]*$/, "ruby"],
  [/^php[\d.]*$/, "php"],
  [/^(?:node|nodejs|deno|bun|js)$/, "js"],
  [/^ts-node$/, "ts"],
  [/^lua(?:jit)?[\d.]*$/, "lua"],
  [/^(?:g|m|n)?awk$/, "awk"],
  [/^(?:tclsh|wish|expect)[\d.]*$/, "tcl"],
  [/^(?:pwsh|powershell)$/, "ps1"],
  [/^make$/, "makefile"],
];

/** The language that a first line `#!` names. */
export function interpreterKind(start: string): Kind | undefined {
  const line = /^#![ \t]*([^\n\r]{1,200})/.exec(start)?.[1];
  if (line === undefined) return undefined;
  const words = line.split(/\s+/).filter((word) => !/^-|=/.test(word));
  const programs = words.map((word) => word.slice(word.lastIndexOf("/") + 1));
  const name = (programs[0] === "env" ? programs[1] : programs[0]) ?? "";
  return INTERPRETERS.find(([pattern]) => pattern.test(name))?.[1] ?? "script";
}

const ENOUGH = 3;
const LONGEST_LINE = 240;

const SEARCHED_CHARACTERS = 2048;

const lineSigns = new Map<string, LineSign[]>();
for (const sign of LANGUAGES.flatMap(([, signs]) => signs)) {
  if (!("words" in sign)) continue;
  for (const word of sign.words.split(" ")) lineSigns.set(word, [...(lineSigns.get(word) ?? []), sign]);
}

/** The language a program is written in, if enough of its signs are there and none of another's tell more. */
export function sourceKind(start: string, lines: readonly string[]): Kind | undefined {
  const found = signsOfLines(lines);
  const searched = start.slice(0, SEARCHED_CHARACTERS);
  let best: Kind | undefined;
  let most = ENOUGH - 1;
  for (const [language, signs] of LANGUAGES) {
    let weight = 0;
    let possible = 0;
    for (const sign of signs) {
      if (found.has(sign)) weight += sign.worth;
      if ("literals" in sign) possible += sign.worth;
    }
    for (const sign of signs) {
      // Searching is what costs: not done for a language that cannot win by it.
      if (weight + possible <= most) break;
      if (!("literals" in sign)) continue;
      possible -= sign.worth;
      if (occurs(sign, searched)) weight += sign.worth;
    }
    if (weight > most) [best, most] = [language, weight];
  }
  return best;
}

function signsOfLines(lines: readonly string[]): ReadonlySet<Sign> {
  const found = new Set<Sign>();
  for (const whole of lines) {
    const line = whole.slice(0, LONGEST_LINE).trim();
    for (const sign of lineSigns.get(firstWord(line)) ?? []) {
      if (!found.has(sign) && sign.pattern.test(line)) found.add(sign);
    }
  }
  return found;
}

function occurs({ literals, pattern }: TextSign, searched: string): boolean {
  return literals.some((literal) => searched.includes(literal)) && (pattern?.test(searched) ?? true);
}

/** What a line starts with: a word and the sign before it, `$` for any variable, `verb-noun` for any such pair. */
function firstWord(line: string): string {
  if (line.startsWith("$")) return "$";
  const word = /^(?:#\s*|[@.[])?[A-Za-z_][\w-]*|^#/.exec(line)?.[0] ?? "";
  if (word.includes("-") && /^[A-Za-z]+-[A-Z]/.test(word)) return "verb-noun";
  return word.startsWith("#") && word.length > 1 && !lineSigns.has(word) ? hashed(word) : word.toLowerCase();
}

/** A directive of C may have blanks after its `#`, a comment is just that. */
function hashed(word: string): string {
  const directive = `#${word.slice(1).trim().toLowerCase()}`;
  return lineSigns.has(directive) ? directive : "#";
}
