import type { RuleSource } from "./compile-rules.ts";

/**
 * The rules, made looser, so that they can be asked about many small files at once, one behind the other: a relaxed rule
 * matches the whole whenever the rule it was made from matches one of the files. Nothing matches, most of the time, and
 * one scan has done for all.
 *
 * That holds when a condition only asks for strings, joined by `and`, `or` and `of`; conditions on the size of the file and
 * on where in it a string is are dropped. A rule that asks for anything else (`not`, modules, other rules, bytes at an
 * offset) cannot be relaxed, and then none is: the answer is nothing, and every file is looked at by itself.
 *
 * Rules are recognised by their layout, which is the usual one: see `RULE`. What is laid out differently is not relaxed.
 */
export function relaxedRules(sources: readonly RuleSource[]): RuleSource[] | undefined {
  const relaxed: RuleSource[] = [];
  for (const { name, text } of sources) {
    const rules = relaxedText(text);
    if (rules === undefined) return undefined;
    relaxed.push({ name, text: rules });
  }
  return relaxed;
}

/** Comments and blank lines; then one rule: its parts on lines of their own, its last brace at the beginning of one. */
const BETWEEN = /^(?:[ \t]*(?:\/\/[^\n]*)?\n|\/\*(?:(?!\*\/)[\s\S])*\*\/[ \t]*\n)*/;
const RULE =
  /^(rule \w+(?: *: *[\w ]+)?\s*\{\n(?:[ \t]+meta:\n(?:[ \t]+\w+ = (?:"(?:[^"\\\n]|\\.)*"|\w+)\n)*)?)([ \t]+strings:\n(?:[ \t]+[^\n]*\n|\n)*?)([ \t]+condition:\n)((?:[ \t]+[^\n]*\n)+)\}\n/;

function relaxedText(text: string): string | undefined {
  let rest = `${text.replaceAll("\r\n", "\n").trimEnd()}\n`;
  let made = "";
  for (rest = rest.replace(BETWEEN, ""); rest !== ""; rest = rest.replace(BETWEEN, "")) {
    const rule = rest.match(RULE);
    const [whole = "", head, strings = "", keyword, condition = ""] = rule ?? [];
    const relaxed = relaxedCondition(condition);
    if (!rule || relaxed === undefined || isAnchored(strings)) return undefined;
    made += `${head}${strings}${keyword}        ${relaxed}\n}\n`;
    rest = rest.slice(whole.length);
  }
  return made;
}

/** An expression bound to the beginning or the end of the file would not be found in the middle of many. */
function isAnchored(strings: string): boolean {
  const expressions = strings.match(/=[ \t]*\/.*/g) ?? [];
  return expressions.some((expression) => /(^|[^\\[])\^|(^|[^\\])\$/.test(expression.replace(/\\\\/g, "")));
}

/**
 * Nothing, if not every part of the condition is known to hold for the whole when it holds for a file.
 * @internal tested by table
 */
export function relaxedCondition(condition: string): string | undefined {
  const kept: string[] = [];
  for (const term of conjuncts(condition.trim())) {
    const place = term.match(/^(\$\w+) (?:at|in) [\w().]+$/)?.[1];
    if (place !== undefined) kept.push(place);
    else if (/^filesize (<|<=|>|>=) \w+$/.test(term)) continue;
    else if (!OF_STRINGS.test(term)) return undefined;
    else kept.push(term);
  }
  return kept.length > 0 ? kept.join(" and ") : undefined;
}

/** Strings, `of`, `and`, `or` and brackets: more text can only make these true, never false. */
const OF_STRINGS = /^(?:\$\w+\*?|\b(?:any|all|[1-9]\d*) of|them|and|or|[(), \t\n])+$/;

/** The parts that are joined by `and`, outside all brackets; a single one if there is an `or` there as well. */
function conjuncts(condition: string): string[] {
  const words = condition.split(/(\(|\)|\s+)/);
  const terms: string[] = [""];
  let depth = 0;
  for (const word of words) {
    if (word === "(") depth += 1;
    if (word === ")") depth -= 1;
    if (depth === 0 && word === "or") return [condition.replace(/\s+/g, " ")];
    if (depth === 0 && word === "and") terms.push("");
    else terms[terms.length - 1] += /^\s+$/.test(word) ? " " : word;
  }
  return terms.map((term) => term.trim());
}
