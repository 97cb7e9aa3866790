export interface Bits {
  take(count: number): number;
  /** More was taken than there is. */
  isOver(): boolean;
}

/** From the highest bit of each byte down; zeros behind the end. */
export function bitsOf(bytes: Buffer): Bits {
  let at = 0;
  return {
    take(count) {
      let value = 0;
      for (let left = count; left > 0; ) {
        const here = Math.min(left, 8 - (at & 7));
        const byte = bytes[at >> 3] ?? 0;
        value = (value << here) | ((byte >> (8 - (at & 7) - here)) & ((1 << here) - 1));
        at += here;
        left -= here;
      }
      return value;
    },
    isOver: () => at > bytes.length * 8,
  };
}

const SYMBOLS = 314;
const ROOT = 2 * SYMBOLS - 2;
const FREQUENCY_LIMIT = 0x8000;

/**
 * The code of LHarc 1, a tree that changes with each symbol, so that frequent ones get short words. Nodes stand in order of
 * their frequency.
 */
export function adaptiveTree(): { next(bits: Bits): number } {
  const frequency = new Uint32Array(ROOT + 2);
  /** The first of a node's two children; for a leaf its symbol and `ROOT + 1`. */
  const child = new Uint16Array(ROOT + 1);
  /** Of nodes, and behind these of symbols. */
  const parent = new Uint16Array(ROOT + 1 + SYMBOLS);
  const leaf = ROOT + 1;
  for (let symbol = 0; symbol < SYMBOLS; symbol += 1) {
    frequency[symbol] = 1;
    child[symbol] = leaf + symbol;
    parent[leaf + symbol] = symbol;
  }
  for (let node = SYMBOLS, pair = 0; node <= ROOT; node += 1, pair += 2) {
    frequency[node] = (frequency[pair] as number) + (frequency[pair + 1] as number);
    child[node] = pair;
    adopt(pair, node);
  }
  frequency[ROOT + 1] = 0xffff_ffff;

  /** When numbers become too large they are halved, and the tree is made anew from its leaves. */
  function halve(): void {
    let leaves = 0;
    for (let node = 0; node <= ROOT; node += 1) {
      if ((child[node] as number) < leaf) continue;
      frequency[leaves] = ((frequency[node] as number) + 1) >> 1;
      child[leaves] = child[node] as number;
      leaves += 1;
    }
    for (let pair = 0, node = SYMBOLS; node <= ROOT; pair += 2, node += 1) {
      const sum = (frequency[pair] as number) + (frequency[pair + 1] as number);
      let place = node;
      while (place > 0 && sum < (frequency[place - 1] as number)) place -= 1;
      frequency.copyWithin(place + 1, place, node);
      child.copyWithin(place + 1, place, node);
      frequency[place] = sum;
      child[place] = pair;
    }
    for (let node = 0; node <= ROOT; node += 1) adopt(child[node] as number, node);
  }

  function adopt(below: number, node: number): void {
    parent[below] = node;
    if (below < leaf) parent[below + 1] = node;
  }

  function count(symbol: number): void {
    if (frequency[ROOT] === FREQUENCY_LIMIT) halve();
    for (let node = parent[leaf + symbol] as number; ; node = parent[node] as number) {
      const now = (frequency[node] as number) + 1;
      frequency[node] = now;
      let last = node;
      while (now > (frequency[last + 1] as number)) last += 1;
      if (last !== node) {
        frequency[node] = frequency[last] as number;
        frequency[last] = now;
        const one = child[node] as number;
        const other = child[last] as number;
        child[node] = other;
        child[last] = one;
        adopt(one, last);
        adopt(other, node);
        node = last;
      }
      if (node === ROOT) return;
    }
  }

  return {
    next(bits) {
      let node = child[ROOT] as number;
      while (node < leaf) node = child[node + bits.take(1)] as number;
      count(node - leaf);
      return node - leaf;
    },
  };
}
