import type { RuleString } from "./rule-syntax.ts";

/** What a string of a rule matches, as far as it is certain. Bytes are the characters up to U+00FF. */
export type Piece =
  /** One of these bytes. */
  | { kind: "byte"; options: readonly string[] }
  /** Anything, of any length, nothing included. */
  | { kind: "gap" }
  | { kind: "sequence"; pieces: readonly Piece[] }
  | { kind: "choice"; pieces: readonly Piece[] };

const GAP: Piece = { kind: "gap" };
const EMPTY: Piece = { kind: "sequence", pieces: [] };

/** Nothing, if it is not understood for certain. `xor` and `base64` are looked for in too many forms. */
export function piecesOf({ kind, source, modifiers }: RuleString): Piece | undefined {
  if (["xor", "base64", "base64wide"].some((modifier) => modifiers.has(modifier))) return undefined;
  if (kind === "text") return textPieces(source);
  return kind === "hex" ? hexPieces(source) : regexPieces(source);
}

function byte(...options: readonly string[]): Piece {
  return { kind: "byte", options };
}

const TEXT_ESCAPES: Readonly<Record<string, string>> = { '"': '"', "\\": "\\", n: "\n", r: "\r", t: "\t" };

function textPieces(source: string): Piece | undefined {
  const pieces: Piece[] = [];
  const parts = source.match(/\\x[0-9a-fA-F]{2}|\\?[\s\S]/g) ?? [];
  for (const part of parts) {
    const character = part.startsWith("\\x") && part.length === 4 ? hexByte(part.slice(2)) : unescaped(part);
    if (character === undefined) return undefined;
    pieces.push(byte(character));
  }
  return { kind: "sequence", pieces };
}

function unescaped(part: string): string | undefined {
  if (part.length === 2) return TEXT_ESCAPES[part[1] ?? ""];
  return isAscii(part) ? part : undefined;
}

/** What is not ASCII is several bytes in the file, and which ones is not for us to say. */
function isAscii(character: string): boolean {
  return character < "\x80";
}

function hexByte(digits: string): string {
  return String.fromCharCode(Number.parseInt(digits, 16));
}

const HEX_PARTS = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|\s+|\[[^\]]*\]|~?[0-9a-fA-F?]{2}|[(|)]/y;

function hexPieces(source: string): Piece | undefined {
  const parts: string[] = [];
  for (let at = 0; at < source.length; ) {
    HEX_PARTS.lastIndex = at;
    const part = HEX_PARTS.exec(source)?.[0];
    if (part === undefined) return undefined;
    at += part.length;
    if (!/^[\s/]/.test(part)) parts.push(part);
  }
  return grouped(parts, (part) => (/^[0-9a-fA-F]{2}$/.test(part) ? byte(hexByte(part)) : GAP));
}

interface Group {
  choices: Piece[];
  sequence: Piece[];
}

/** Puts brackets and bars to their use; nothing, if brackets do not match. */
function grouped(parts: readonly string[], piece: (part: string) => Piece): Piece | undefined {
  const open: Group[] = [{ choices: [], sequence: [] }];
  const closed = ({ choices, sequence }: Group): Piece => {
    const last: Piece = { kind: "sequence", pieces: sequence };
    return choices.length === 0 ? last : { kind: "choice", pieces: [...choices, last] };
  };
  for (const part of parts) {
    const inner = open.at(-1);
    if (!inner) return undefined;
    if (part === "(") open.push({ choices: [], sequence: [] });
    else if (part === "|") {
      inner.choices.push({ kind: "sequence", pieces: inner.sequence });
      inner.sequence = [];
    } else if (part === ")") {
      open.pop();
      open.at(-1)?.sequence.push(closed(inner));
    } else inner.sequence.push(piece(part));
  }
  const [whole, ...others] = open;
  return whole && others.length === 0 ? closed(whole) : undefined;
}

/** Characters that stand for themselves when a backslash is before them; `\<` and `\>`, for instance, are borders of words. */
const QUOTED = /^[.+*?()|[\]{}^$\\/#&\-~"'`:;,!@%=_ ]$/;
const CONTROL: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };
/** More copies than this tell no more. */
const COPIES = 4;

function regexPieces(source: string): Piece | undefined {
  let at = 0;

  function take(pattern: RegExp): string | undefined {
    pattern.lastIndex = at;
    const found = pattern.exec(source)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  }

  function choice(): Piece | undefined {
    const choices: Piece[] = [];
    do {
      const sequence: Piece[] = [];
      while (at < source.length && source[at] !== "|" && source[at] !== ")") {
        const piece = repeated();
        if (!piece) return undefined;
        sequence.push(piece);
      }
      choices.push({ kind: "sequence", pieces: sequence });
    } while (take(/\|/y) !== undefined);
    return choices.length === 1 ? choices[0] : { kind: "choice", pieces: choices };
  }

  function repeated(): Piece | undefined {
    const piece = single();
    if (!piece) return undefined;
    const many = take(/[*+?]|\{\d*,?\d*\}/y);
    if (many === undefined) return piece;
    // Lazy or not, it matches the same.
    take(/\?/y);
    if (/[*+?{]/y.test(source[at] ?? "")) return undefined;
    return times(piece, many);
  }

  function single(): Piece | undefined {
    if (take(/\(/y) !== undefined) {
      // Groups with a question mark are of many kinds.
      if (source[at] === "?") return undefined;
      const inner = choice();
      return take(/\)/y) === undefined ? undefined : inner;
    }
    if (take(/\[/y) !== undefined) return oneOf();
    if (take(/[\^$]/y) !== undefined) return EMPTY;
    if (take(/\./y) !== undefined) return GAP;
    if (take(/\\/y) !== undefined) return escaped();
    const character = take(/[^*+?{}\]]/y);
    return character !== undefined && isAscii(character) ? byte(character) : undefined;
  }

  function escaped(): Piece | undefined {
    const code = take(/x[0-9a-fA-F]{2}/y);
    if (code !== undefined) return byte(hexByte(code.slice(1)));
    const character = take(/[\s\S]/y) ?? "";
    if (QUOTED.test(character)) return byte(character);
    if (CONTROL[character] !== undefined) return byte(CONTROL[character]);
    if (character === "s") return byte("\t", "\n", "\x0b", "\x0c", "\r", " ");
    if (character === "b" || character === "B") return EMPTY;
    return /^[wWdDSafv]$/.test(character) ? GAP : undefined;
  }

  /** What is in square brackets; a gap, unless it is a few plain characters. */
  function oneOf(): Piece | undefined {
    const negated = take(/\^/y) !== undefined;
    const options: string[] = [];
    let plain = !negated;
    for (let first = true; ; first = false) {
      if (take(/\]/y) !== undefined) return first ? undefined : plain ? byte(...options) : GAP;
      // Classes in classes, and what is done with them.
      if (take(/\[|&&|--|~~/y) !== undefined) return undefined;
      const character = take(/\\x[0-9a-fA-F]{2}|\\[\s\S]|[\s\S]/y);
      if (character === undefined) return undefined;
      if (character === "-" && !first && source[at] !== "]") plain = false;
      const meaning = plainCharacter(character);
      if (meaning === undefined) plain = false;
      else options.push(meaning);
    }
  }

  const whole = choice();
  return at === source.length ? whole : undefined;
}

function plainCharacter(character: string): string | undefined {
  if (character.startsWith("\\x") && character.length === 4) return hexByte(character.slice(2));
  if (!character.startsWith("\\")) return isAscii(character) ? character : undefined;
  const quoted = character.slice(1);
  return QUOTED.test(quoted) ? quoted : CONTROL[quoted];
}

function times(piece: Piece, how: string): Piece | undefined {
  if (how === "*" || how === "?") return how === "*" ? GAP : { kind: "choice", pieces: [piece, EMPTY] };
  if (how === "+") return { kind: "sequence", pieces: [piece, GAP] };
  const [, least = "", comma, most] = how.match(/^\{(\d*)(,?)(\d*)\}$/) ?? [];
  if (least === "" && comma === "") return undefined;
  const count = Number(least);
  const copies = Array<Piece>(Math.min(count, COPIES)).fill(piece);
  const isExact = count <= COPIES && (comma === "" || (most !== "" && most === least));
  return { kind: "sequence", pieces: isExact ? copies : [...copies, GAP] };
}
