import type { RuleString } from "./rule-syntax.ts";
import { type Piece, piecesOf } from "./string-pieces.ts";

/**
 * Wherever the string of a rule matches, there is one literal of each of these sets. Literals are bytes, as characters up to
 * U+00FF, and in lower case: upper and lower case are not told apart, whatever the string says. No sets, if nothing is certain.
 */
export function literalSets(string: RuleString): string[][] {
  const pieces = piecesOf(string);
  if (!pieces) return [];
  const { whole, sets } = inspect(pieces);
  const all = whole ? [...sets, whole] : sets;
  return all.map((set) => encoded(set, string.modifiers)).filter((set) => shortest(set) >= SHORTEST);
}

/** The search goes by three bytes. */
export const SHORTEST = 3;
/** Longer literals are cut: they are rare enough. */
const LONGEST = 20;
/** So many ways that a stretch may read are followed. */
const WAYS = 32;

interface Inspected {
  /** All that it can read, if that is known. */
  whole: string[] | undefined;
  /** One of each is in it, besides. */
  sets: string[][];
}

function inspect(piece: Piece): Inspected {
  if (piece.kind === "gap") return { whole: undefined, sets: [] };
  if (piece.kind === "byte") {
    return { whole: [...new Set(piece.options.map(folded))], sets: [] };
  }
  return piece.kind === "sequence" ? inspectSequence(piece.pieces) : inspectChoice(piece.pieces);
}

/** Stretches of what is known, put together until something is not. */
function inspectSequence(pieces: readonly Piece[]): Inspected {
  const sets: string[][] = [];
  let stretch: string[] = [""];
  let isWhole = true;

  function end(): void {
    if (stretch.some((way) => way !== "")) sets.push(stretch);
    stretch = [""];
    isWhole = false;
  }

  for (const piece of pieces.flatMap(flattened)) {
    const { whole, sets: inner } = inspect(piece);
    sets.push(...inner);
    if (!whole) end();
    else {
      if (stretch.length * whole.length > WAYS) end();
      stretch = [...new Set(stretch.flatMap((way) => whole.map((next) => way + next)))];
    }
  }
  if (isWhole && stretch.length <= WAYS) return { whole: stretch, sets };
  end();
  return { whole: undefined, sets };
}

function flattened(piece: Piece): readonly Piece[] {
  return piece.kind === "sequence" ? piece.pieces.flatMap(flattened) : [piece];
}

/** One of several: what each of them has, put together. */
function inspectChoice(pieces: readonly Piece[]): Inspected {
  const inspected = pieces.map(inspect);
  const ways = inspected.flatMap(({ whole }) => whole ?? []);
  if (inspected.every(({ whole, sets }) => whole && sets.length === 0) && ways.length <= WAYS) {
    return { whole: [...new Set(ways)], sets: [] };
  }
  const best = inspected.map(({ whole, sets }) => longestSet(whole ? [...sets, whole] : sets));
  const known = best.flatMap((set) => set ?? []);
  return { whole: undefined, sets: best.every((set) => set !== undefined) ? [known] : [] };
}

function longestSet(sets: readonly string[][]): string[] | undefined {
  return sets.toSorted((one, other) => shortest(other) - shortest(one))[0];
}

function shortest(set: readonly string[]): number {
  return Math.min(...set.map(({ length }) => length));
}

/** As the literals stand in a file. The last zero of a wide one tells nothing. */
function encoded(set: readonly string[], modifiers: ReadonlySet<string>): string[] {
  const isWide = modifiers.has("wide");
  const forms = set.flatMap((literal) => [
    ...(!isWide || modifiers.has("ascii") ? [literal] : []),
    ...(isWide ? [[...literal].join("\0")] : []),
  ]);
  return withoutLonger(forms.map((literal) => literal.slice(0, LONGEST)));
}

/** Who finds `shell` need not look for `shellexecute`. */
function withoutLonger(literals: readonly string[]): string[] {
  const all = [...new Set(literals)];
  return all.filter((literal) => !all.some((other) => other !== literal && literal.includes(other)));
}

/** As the search sees a byte: letters in lower case. */
export function folded(literal: string): string {
  return literal.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
