/** What a source file imports, types too, as it is written there. */
export function specifiersIn(text: string): string[] {
  const found = text.matchAll(
    /(?:^|\n)(?:import|export)\b[^;"]*?from\s+"([^"]+)"|import\(\s*"([^"]+)"|(?:^|\n)import\s+"([^"]+)"/g,
  );
  return [...found].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
}
