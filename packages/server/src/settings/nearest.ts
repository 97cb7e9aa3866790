/** The candidate that takes the fewest edits to reach, if it is near enough to be what was meant. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  let best: { candidate: string; edits: number } | undefined;
  for (const candidate of candidates) {
    const edits = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (!best || edits < best.edits) best = { candidate, edits };
  }
  return best && best.edits <= Math.max(2, Math.ceil(word.length / 3)) ? best.candidate : undefined;
}

/** Insertions, deletions and replacements of one letter (Levenshtein). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [above, letter] of [...from].entries()) {
    const next = [above + 1];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (letter === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
