/** One small break of one file, and the tests that ought to notice it. */
export interface Mutant {
  /** For people, and for --only: `limits.ts: 12 → 13 in export const OBJECT_LINK_HOURS = 12;`, or a row of docs/spec-map.md. */
  name: string;
  /** From the root of the repository. */
  file: string;
  /** Where it begins, counted in UTF-16 units. */
  at: number;
  from: string;
  to: string;
  /** Asked one after the other, until one of them notices. */
  tests: readonly TestChoice[];
}

/** A test file, or those tests of it whose names match. */
export interface TestChoice {
  file: string;
  pattern?: string;
}

/** The source with the break in it. Throws when the text is not where it was. */
export function broken(source: string, { at, from, to, name }: Mutant): string {
  if (source.slice(at, at + from.length) !== from) throw new Error(`cannot break ${name}: ${from} is not there`);
  return source.slice(0, at) + to + source.slice(at + from.length);
}
