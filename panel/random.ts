import { createHash } from "node:crypto";

/** Numbers that follow from the words alone: the same in every run, on every machine. */
export interface Random {
  below(limit: number): number;
  pick<Item>(items: readonly Item[]): Item;
  /** True once in so many times. */
  once(every: number): boolean;
}

export function randomOf(...words: (string | number)[]): Random {
  let state = createHash("sha256").update(words.join(" ")).digest().readUInt32LE(0);
  // Mulberry32.
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    below,
    pick: (items) => {
      if (items.length === 0) throw new Error("nothing to pick from");
      return items[below(items.length)] as (typeof items)[number];
    },
    once: (every) => below(every) === 0,
  };
}
