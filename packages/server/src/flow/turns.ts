/**
 * Whose turn it is, of those who share something by weight. Each has had so much for its weight; who has had least is next. Who comes
 * late, or was away, begins with those that are there: nobody saves up turns.
 */
export interface Turns {
  /** The least is next. */
  of(share: string): number;
  /** What was handed out together, by share. */
  served(counts: ReadonlyMap<string, number>, weightOf: (share: string) => number): void;
}

/** Those that fell behind are forgotten: they begin anew, with the others. */
const LOOK_FROM = 1000;

export function turns(): Turns {
  const had = new Map<string, number>();
  let begin = 0;
  let lookFrom = LOOK_FROM;

  const turnOf = (share: string): number => Math.max(had.get(share) ?? 0, begin);

  return {
    of: turnOf,
    served(counts, weightOf) {
      if (counts.size === 0) return;
      const before = [...counts.keys()].map((share) => [share, turnOf(share)] as const);
      for (const [share, turn] of before) had.set(share, turn + (counts.get(share) ?? 0) / weightOf(share));
      begin = Math.min(...before.map(([, turn]) => turn));
      if (had.size < lookFrom) return;
      for (const [share, turn] of had) if (turn <= begin) had.delete(share);
      // While all are new to it none falls behind, and to look each time would take longer than to hand out.
      lookFrom = Math.max(LOOK_FROM, 2 * had.size);
    },
  };
}
