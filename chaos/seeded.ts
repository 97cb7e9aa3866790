import { createHash } from "node:crypto";

/** From 0 to 1, by name: the same names give the same number in every run of that seed, whoever asks first. */
export type Random = (...names: readonly (string | number)[]) => number;

export function seeded(seed: number): Random {
  return (...names) => {
    const digest = createHash("sha256")
      .update([seed, ...names].join("\0"))
      .digest();
    return digest.readUIntBE(0, 6) / 2 ** 48;
  };
}

/** One of the values, each as likely as its weight says. */
export function pick<T>(weights: readonly (readonly [value: T, weight: number])[], at: number): T {
  const total = weights.reduce((sum, [, weight]) => sum + weight, 0);
  let left = at * total;
  for (const [value, weight] of weights) {
    left -= weight;
    if (left < 0) return value;
  }
  throw new Error("cannot pick one of nothing");
}
