import type { Mutant } from "./mutant.ts";
export function rowMutants(_root: string): Mutant[] {
  return [];
}
