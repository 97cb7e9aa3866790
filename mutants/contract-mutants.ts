import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Mutant, TestChoice } from "./mutant.ts";

const FOLDER = "packages/contract/src";
/** They hold types, names of others, or samples: nothing in them is said on the wire. */
const WITHOUT_WORDS: readonly string[] = ["index.ts", "schema.ts", "signature-vectors.ts", "version-number.ts"];

/** Prose for people, who would not miss a letter. */
const PROSE = /\b(?:description|title|what): *$|failedErrorSchema\($/;
const FIELD =
  /(?<=[{,]\s*)([a-zA-Z]+(?:_[a-z]+)*)(?=: (?:\{|downloadUrl|downloadHeaders|traceIdSchema|customDataSchema|failedErrorSchema))/g;

/** Every number and every word of the contract, broken once. `testsFor` says who ought to notice. */
export function contractMutants(
  root: string,
  testsFor: (file: string, breakName: string) => readonly TestChoice[],
): Mutant[] {
  const names = readdirSync(join(root, FOLDER)).filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
  return names
    .filter((name) => !WITHOUT_WORDS.includes(name))
    .sort()
    .flatMap((name) => {
      const file = `${FOLDER}/${name}`;
      const seen = new Map<string, number>();
      return breaksIn(readFileSync(join(root, file), "utf8")).map((found) => {
        const times = (seen.get(found.name) ?? 0) + 1;
        seen.set(found.name, times);
        const place = times === 1 ? "" : ` (${times})`;
        return { ...found, name: `${name}: ${found.name}${place}`, file, tests: testsFor(name, found.name) };
      });
    });
}

type Found = Pick<Mutant, "name" | "at" | "from" | "to">;

function breaksIn(source: string): Found[] {
  const code = onlyCode(source);
  const found: Found[] = [];
  for (const match of code.matchAll(/"([^"\n]*)"|(?<![\w.])\d[\d_]*(?:\.\d+)?\b/g)) {
    const [blanked, word] = match;
    const text = source.slice(match.index, match.index + blanked.length);
    const before = code.slice(code.lastIndexOf("\n", match.index) + 1, match.index);
    if (word !== undefined && (word === "" || isProse(code, match.index, before))) continue;
    const to = word === undefined ? String(Number(text.replaceAll("_", "")) + 1) : `"${otherWord(text.slice(1, -1))}"`;
    found.push(breakAt(source, { at: match.index, from: text, to }));
  }
  for (const match of code.matchAll(FIELD)) {
    const [from] = match;
    if (from === "properties" || from === "additionalProperties") continue;
    found.push(breakAt(source, { at: match.index, from, to: `${from}_x` }));
  }
  return found.sort((a, b) => a.at - b.at);
}

/** The same length, with comments, imports and all that is only a type as blanks: none of it is there at run time. */
function onlyCode(source: string): string {
  const blank = (text: string): string => text.replace(/[^\n]/g, " ");
  return source
    .replace(/\/\*[\s\S]*?\*\/|(?<!:)\/\/[^\n]*/g, blank)
    .replace(/^(?:import|export \{)[\s\S]*?;$/gm, blank)
    .replace(/^(?:export )?interface [\s\S]*?^\}$/gm, blank)
    .replace(/^(?:export )?type [\s\S]*?;$/gm, blank)
    .replace(/ satisfies [^;{]*;/g, blank)
    .replace(/(?<=[)\w]): (?:"\w+" \| )*"\w+"(?= \{)/g, blank)
    .replace(/(?:Omit|Pick|Partial|Record|Extract)<[^;={}]*>/g, blank)
    .replace(/examples: \[[^\]]*\]/g, blank)
    .replace(/ObjectSchema\["properties"\]/g, blank)
    .replace(/`[^`]*`/g, blank);
}

function isProse(code: string, at: number, before: string): boolean {
  if (PROSE.test(before)) return true;
  // The value of a description may stand on a line of its own.
  const lineBefore = code.slice(0, at).trimEnd().split("\n").at(-1) ?? "";
  return before.trim() === "" && /\b(?:description|what):$/.test(lineBefore);
}

/** A version becomes a later one, any other word another. */
function otherWord(word: string): string {
  const version = /^(\d+)\.(\d+)\.(\d+)$/.exec(word);
  if (version) return `${version[1]}.${version[2]}.${Number(version[3]) + 1}`;
  return `${word}x`;
}

function breakAt(source: string, { at, from, to }: Omit<Found, "name">): Found {
  const line = source.slice(source.lastIndexOf("\n", at) + 1, source.indexOf("\n", at)).trim();
  return { at, from, to, name: `${from} → ${to} in ${line.slice(0, 80)}` };
}
