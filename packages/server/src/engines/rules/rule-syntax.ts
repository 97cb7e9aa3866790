/**
 * As much of the YARA language as `requiredLiterals` has to understand. It gives up, and says nothing about a whole file, at
 * the first thing it does not know for certain: then YARA is asked about every content.
 */
export interface ParsedRule {
  name: string;
  /** Its match is not reported. */
  isPrivate: boolean;
  strings: readonly RuleString[];
  condition: readonly Token[];
}

export interface RuleString {
  /** With its dollar sign; several may be called `$`. */
  name: string;
  kind: "text" | "regex" | "hex";
  /** As it stands between its quotes, slashes or braces. */
  source: string;
  modifiers: ReadonlySet<string>;
}

export interface Token {
  kind: "word" | "string" | "count" | "place" | "number" | "text" | "regex" | "hex" | "mark";
  text: string;
}

export function parseRules(text: string): ParsedRule[] | undefined {
  const tokens = tokensOf(text);
  if (!tokens) return undefined;
  try {
    return rulesOf(tokens);
  } catch (error) {
    if (error instanceof NotUnderstood) return undefined;
    throw error;
  }
}

class NotUnderstood extends Error {}

const BLANK = /(?:[ \t\n]|\r\n|\/\/[^\r\n]*|\/\*[\s\S]*?\*\/)+/y;
const HEX = /\{((?:[0-9a-fA-F?~()|[\] \t\n-]|\r\n|\/\/[^\r\n]*|\/\*(?:[^*]|\*(?![*/]))*\*\/)*)\}/y;
const KINDS: readonly (readonly [Token["kind"], RegExp])[] = [
  ["text", /"(?:\\[^\r\n]|[^"\r\n\\])*"/y],
  ["regex", /\/(?:\\[^\r\n]|[^*/\r\n\\])(?:\\[^\r\n]|[^\\/\r\n])*\/[A-Za-z]{0,2}/y],
  ["number", /\d+\.\d+|0x[0-9a-fA-F]+|0o[0-7]+|\d+(?:KB|MB)?/y],
  ["word", /[A-Za-z_]\w*/y],
  ["string", /\$\w*/y],
  ["count", /#\w*/y],
  ["mark", /<<|>>|==|!=|<=|>=|[&*\\:,.=+\-%|^~{}()[\]<>]/y],
  ["place", /[@!]\w*/y],
];

function tokensOf(text: string): Token[] | undefined {
  const tokens: Token[] = [];
  let at = 0;

  function take(kind: RegExp): string | undefined {
    kind.lastIndex = at;
    const found = kind.exec(text)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  }

  for (;;) {
    take(BLANK);
    if (at === text.length) return tokens;
    // What follows `$name =` in braces are bytes, and what is a number there is none elsewhere.
    const isBytes = tokens.at(-1)?.text === "=" && tokens.at(-2)?.kind === "string" && text[at] === "{";
    const token = isBytes
      ? one("hex", HEX)
      : KINDS.reduce<Token | undefined>((found, kind) => found ?? one(...kind), undefined);
    if (!token || isAmbiguous(token, text, at)) return undefined;
    tokens.push(token);
  }

  function one(kind: Token["kind"], how: RegExp): Token | undefined {
    const found = take(how);
    return found === undefined ? undefined : { kind, text: found };
  }
}

/** Where YARA-X might see a longer token than we do: a text in three quotes, an expression that begins with a backslash. */
function isAmbiguous({ kind, text }: Token, source: string, end: number): boolean {
  if (kind === "text") return text === '""' && source[end] === '"';
  if (kind !== "regex" || !text.startsWith("/\\\\")) return false;
  const lineEnd = source.indexOf("\n", end);
  return source.slice(end, lineEnd < 0 ? undefined : lineEnd).includes("/");
}

const MODIFIERS: ReadonlySet<string> = new Set("ascii wide nocase fullword private xor base64 base64wide".split(" "));

function rulesOf(tokens: readonly Token[]): ParsedRule[] {
  let at = 0;
  const next = (): Token | undefined => tokens[at];

  function take(kind: Token["kind"], text?: string): Token {
    const token = tokens[at];
    if (token?.kind !== kind || (text !== undefined && token.text !== text)) throw new NotUnderstood();
    at += 1;
    return token;
  }

  function takeIf(kind: Token["kind"], text?: string): boolean {
    const token = tokens[at];
    const fits = token?.kind === kind && (text === undefined || token.text === text);
    if (fits) at += 1;
    return fits;
  }

  function skipMeta(): void {
    if (!takeIf("word", "meta")) return;
    take("mark", ":");
    while (next()?.kind === "word" && tokens[at + 1]?.text === "=") {
      at += 2;
      takeIf("mark", "-");
      const value = next();
      if (value?.kind !== "text" && value?.kind !== "number" && value?.text !== "true" && value?.text !== "false") {
        throw new NotUnderstood();
      }
      at += 1;
    }
  }

  function modifiersOf(): Set<string> {
    const modifiers = new Set<string>();
    for (let token = next(); token?.kind === "word" && MODIFIERS.has(token.text); token = next()) {
      modifiers.add(token.text);
      at += 1;
      if (takeIf("mark", "(")) {
        while (!takeIf("mark", ")")) {
          const kind = next()?.kind;
          if (kind !== "number" && kind !== "text" && next()?.text !== "-") throw new NotUnderstood();
          at += 1;
        }
      }
    }
    return modifiers;
  }

  function stringsOf(): RuleString[] {
    const strings: RuleString[] = [];
    if (!takeIf("word", "strings")) return strings;
    take("mark", ":");
    while (next()?.kind === "string") {
      const { text: name } = take("string");
      take("mark", "=");
      const token = next();
      if (token?.kind !== "text" && token?.kind !== "regex" && token?.kind !== "hex") throw new NotUnderstood();
      at += 1;
      const source = token.text.slice(1, token.text.lastIndexOf(token.kind === "hex" ? "}" : (token.text[0] ?? "")));
      const flags = token.text.slice(source.length + 2);
      if (!/^[is]*$/.test(flags)) throw new NotUnderstood();
      strings.push({ name, kind: token.kind, source, modifiers: modifiersOf() });
    }
    return strings;
  }

  function conditionOf(): Token[] {
    take("word", "condition");
    take("mark", ":");
    const from = at;
    for (; next()?.text !== "}"; at += 1) {
      if (next() === undefined || next()?.text === "{") throw new NotUnderstood();
    }
    at += 1;
    return tokens.slice(from, at - 1);
  }

  function ruleOf(): ParsedRule {
    let isPrivate = false;
    for (;;) {
      if (takeIf("word", "private")) isPrivate = true;
      else if (!takeIf("word", "global")) break;
    }
    take("word", "rule");
    const { text: name } = take("word");
    if (takeIf("mark", ":")) while (next()?.kind === "word") at += 1;
    take("mark", "{");
    skipMeta();
    const strings = stringsOf();
    return { name, isPrivate, strings, condition: conditionOf() };
  }

  const rules: ParsedRule[] = [];
  while (at < tokens.length) {
    if (takeIf("word", "import")) take("text");
    else rules.push(ruleOf());
  }
  return rules;
}
