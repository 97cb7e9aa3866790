import type { RuleSource } from "./rule-files.ts";
import { type ParsedRule, parseRules, type RuleString, type Token } from "./rule-syntax.ts";
import { literalSets } from "./string-literals.ts";

/**
 * What must hold for a content that a rule matches. Only ever implied by the rule, never the other way round: what is not
 * understood is `ANYTHING`.
 */
export type Needs =
  | { kind: "anything" }
  /** One of these literals is in it: see `literalSets`. */
  | { kind: "literals"; literals: readonly string[] }
  /** It has so many bytes. */
  | { kind: "size"; least: number; most: number }
  /** So many of these hold. */
  | { kind: "some"; count: number; of: readonly Needs[] };

const ANYTHING: Needs = { kind: "anything" };

/** What the rules of some files need, or why nothing is known. Can be sent to another thread. */
export type Requirements =
  | { kind: "known"; rules: readonly { name: string; needs: Needs }[] }
  /** YARA has to be asked about every content. */
  | { kind: "unknown"; why: string };

/** Of the rules that can be reported. One that needs nothing is enough to know nothing of all. */
export function requiredLiterals(sources: readonly RuleSource[]): Requirements {
  const rules: { name: string; needs: Needs }[] = [];
  for (const { name: file, text } of sources) {
    const parsed = parseRules(text);
    if (!parsed) return { kind: "unknown", why: `${file} is not understood` };
    for (const rule of parsed.filter(({ isPrivate }) => !isPrivate)) {
      const needs = needsOf(rule);
      if (needs.kind === "anything") return { kind: "unknown", why: `${rule.name} in ${file} needs no literal` };
      rules.push({ name: rule.name, needs });
    }
  }
  return { kind: "known", rules };
}

/** Other rules, global ones too, can only keep this one from matching: they are left out. */
function needsOf({ strings, condition }: ParsedRule): Needs {
  const known = strings.map((string) => ({ name: string.name, needs: needsOfString(string) }));
  return conditionNeeds(condition, { strings: known });
}

function needsOfString(string: RuleString): Needs {
  return allOf(literalSets(string).map((literals) => ({ kind: "literals", literals })));
}

interface Scope {
  strings: readonly { name: string; needs: Needs }[];
  /** What `$` stands for, in a loop over strings. */
  current?: Needs;
}

/** `or` binds less than `and`, and everything else more. */
function conditionNeeds(tokens: readonly Token[], scope: Scope): Needs {
  const choices = split(tokens, "or").map((choice) =>
    allOf(split(choice, "and").map((term) => termNeeds(term, scope))),
  );
  return some(1, choices);
}

/** Where the word stands outside all brackets. */
function split(tokens: readonly Token[], word: string): Token[][] {
  const parts: Token[][] = [[]];
  let depth = 0;
  for (const token of tokens) {
    if (isMark(token, "([")) depth += 1;
    if (isMark(token, ")]")) depth -= 1;
    if (depth === 0 && token.kind === "word" && token.text === word) parts.push([]);
    else parts.at(-1)?.push(token);
  }
  return parts;
}

function isMark({ kind, text }: Token, marks: string): boolean {
  return kind === "mark" && marks.includes(text);
}

/** Only what has exactly one of these forms says anything. */
function termNeeds(term: readonly Token[], scope: Scope): Needs {
  const [first, second] = term;
  if (!first) return ANYTHING;
  if (isMark(first, "("))
    return closingOf(term, 0) === term.length - 1 ? conditionNeeds(term.slice(1, -1), scope) : ANYTHING;
  if (first.kind === "string") return isPlacement(term.slice(1)) ? stringNeeds(first.text, scope) : ANYTHING;
  if (first.kind === "count") return countNeeds(term, scope);
  if (first.text === "filesize") return sizeNeeds(term);
  if (first.text === "for") return loopNeeds(term.slice(1), scope);
  return second?.text === "of" ? ofNeeds(term, scope) : ANYTHING;
}

/** Index of the bracket that closes the one at `from`. */
function closingOf(tokens: readonly Token[], from: number): number {
  let depth = 0;
  for (let at = from; at < tokens.length; at += 1) {
    const token = tokens[at];
    if (token && isMark(token, "([")) depth += 1;
    if (token && isMark(token, ")]")) depth -= 1;
    if (depth === 0) return at;
  }
  return -1;
}

/** Nothing, `at` and a place, or `in` and a range; nothing behind that could turn its meaning round. */
function isPlacement(tokens: readonly Token[]): boolean {
  const [word, open] = tokens;
  if (!word) return true;
  if (word.kind !== "word") return false;
  if (word.text === "in") return open !== undefined && isMark(open, "(") && closingOf(tokens, 1) === tokens.length - 1;
  return word.text === "at" && tokens.length > 1 && tokens.slice(1).every(isArithmetic);
}

function isArithmetic({ kind, text }: Token): boolean {
  if (kind === "number" || kind === "place") return true;
  if (kind === "mark") return "+-*.()[]".includes(text);
  return kind === "word" && !KEYWORDS.has(text);
}

const KEYWORDS: ReadonlySet<string> = new Set(
  "all and any at contains defined endswith false for icontains iendswith iequals in istartswith matches none not of or startswith them true with".split(
    " ",
  ),
);

function stringNeeds(name: string, { strings, current }: Scope): Needs {
  if (name === "$") return current ?? ANYTHING;
  return strings.find((string) => string.name === name)?.needs ?? ANYTHING;
}

/** `#a > 0`, `#a in (0..100) >= 2`: at least one. */
function countNeeds(term: readonly Token[], scope: Scope): Needs {
  const name = `$${term[0]?.text.slice(1)}`;
  const range = term[1]?.text === "in" && term[2] && isMark(term[2], "(") ? closingOf(term, 2) : 0;
  const [comparison, number, ...rest] = range < 0 ? [] : term.slice(range + 1);
  const value = number && numberOf(number);
  if (value === undefined || rest.length > 0) return ANYTHING;
  const isPositive =
    comparison?.text === ">" || ((comparison?.text === ">=" || comparison?.text === "==") && value > 0);
  return isPositive ? stringNeeds(name, scope) : ANYTHING;
}

function sizeNeeds([, comparison, number, ...rest]: readonly Token[]): Needs {
  const value = number && numberOf(number);
  if (value === undefined || rest.length > 0) return ANYTHING;
  const most = Number.POSITIVE_INFINITY;
  if (comparison?.text === "<") return { kind: "size", least: 0, most: value - 1 };
  if (comparison?.text === "<=") return { kind: "size", least: 0, most: value };
  if (comparison?.text === ">") return { kind: "size", least: value + 1, most };
  if (comparison?.text === ">=") return { kind: "size", least: value, most };
  return comparison?.text === "==" ? { kind: "size", least: value, most: value } : ANYTHING;
}

function numberOf({ kind, text }: Token): number | undefined {
  if (kind !== "number") return undefined;
  const [, digits, unit] = text.match(/^(0x[0-9a-fA-F]+|0o[0-7]+|\d+)(KB|MB)?$/) ?? [];
  const value = Number(digits) * (unit === "KB" ? 1024 : unit === "MB" ? 1024 * 1024 : 1);
  return Number.isSafeInteger(value) ? value : undefined;
}

/** `any of them`, `2 of ($a*, $b)`, where they are included. */
function ofNeeds(term: readonly Token[], scope: Scope): Needs {
  const set = stringSet(term.slice(2), scope);
  return set && isPlacement(term.slice(2 + set.length)) ? quantified(term[0], set.needs) : ANYTHING;
}

/** `for any of them : ( … )` and `for any i in … : ( … )`, in which strings are what they are outside. */
function loopNeeds(term: readonly Token[], scope: Scope): Needs {
  const colon = term.findIndex((token) => isMark(token, ":"));
  const open = term[colon + 1];
  if (colon < 0 || !open || !isMark(open, "(") || closingOf(term, colon + 1) !== term.length - 1) return ANYTHING;
  const body = term.slice(colon + 2, -1);
  if (term[1]?.text === "of") {
    const set = stringSet(term.slice(2, colon), scope);
    if (!set || set.length !== colon - 2) return ANYTHING;
    return quantified(
      term[0],
      set.needs.map((current) => conditionNeeds(body, { ...scope, current })),
    );
  }
  // What holds for all of nothing needs nothing.
  return term[0]?.text === "any" && term[1]?.kind === "word" ? conditionNeeds(body, scope) : ANYTHING;
}

/** `them`, or names in brackets; nothing, if there is anything else in them. `length` is that of its tokens. */
function stringSet(tokens: readonly Token[], { strings }: Scope): { needs: Needs[]; length: number } | undefined {
  const [first] = tokens;
  if (!first) return undefined;
  if (first.text === "them") return { needs: strings.map(({ needs }) => needs), length: 1 };
  const end = isMark(first, "(") ? closingOf(tokens, 0) : -1;
  if (end < 0) return undefined;
  const chosen: Needs[] = [];
  for (let at = 1; at < end; at += 1) {
    const name = tokens[at];
    if (name?.kind !== "string") return undefined;
    const isPrefix = tokens[at + 1]?.text === "*";
    if (isPrefix) at += 1;
    const found = strings.filter((string) =>
      isPrefix ? string.name.startsWith(name.text) : string.name === name.text,
    );
    if (found.length === 0) return undefined;
    chosen.push(...found.map(({ needs }) => needs));
    at += 1;
    if (at < end && tokens[at]?.text !== ",") return undefined;
  }
  return { needs: chosen, length: end + 1 };
}

function quantified(quantifier: Token | undefined, parts: readonly Needs[]): Needs {
  if (quantifier?.kind === "word" && quantifier.text === "any") return some(1, parts);
  if (quantifier?.kind === "word" && quantifier.text === "all") return allOf(parts);
  const count = quantifier && numberOf(quantifier);
  return count === undefined ? ANYTHING : some(count, parts);
}

/** Shorter literals are in too many files to be worth a search, if there is anything better. */
const GOOD_LENGTH = 4;

/** All of them; of those with short literals only the best, and only if there are no others. */
function allOf(parts: readonly Needs[]): Needs {
  const lengths = parts.map(shortestIn);
  const best = Math.max(...lengths.filter((length) => length < Number.POSITIVE_INFINITY));
  const chosen = best < GOOD_LENGTH ? lengths.indexOf(best) : -1;
  const kept = parts.filter((_, index) => {
    const length = lengths[index] ?? 0;
    return length === Number.POSITIVE_INFINITY || length >= GOOD_LENGTH || index === chosen;
  });
  return some(kept.length, kept);
}

/** Of all literals that may stand for it; infinite, if it has none. */
function shortestIn(needs: Needs): number {
  if (needs.kind === "literals") return Math.min(...needs.literals.map(({ length }) => length));
  return needs.kind === "some" ? Math.min(...needs.of.map(shortestIn)) : Number.POSITIVE_INFINITY;
}

function some(count: number, parts: readonly Needs[]): Needs {
  const [of, met] = [parts.filter(({ kind }) => kind !== "anything"), parts.filter(({ kind }) => kind === "anything")];
  const left = count - met.length;
  const [only, ...others] = of;
  if (left <= 0 || !only) return ANYTHING;
  return others.length === 0 && left === 1 ? only : { kind: "some", count: left, of };
}
