import type { Verdict } from "../model/verdict.ts";

/**
 * What several engines say together: infected if any says so, clean only if all do. Where more than one has a finding,
 * the first in the list is heard: put the engine whose names people know in front.
 */
export function mergeVerdicts(verdicts: readonly Verdict[]): Verdict {
  const infected = verdicts.find((verdict) => verdict.kind === "infected");
  const unscannable = verdicts.find((verdict) => verdict.kind === "unscannable");
  const clean = verdicts.find((verdict) => verdict.kind === "clean");
  const worst = infected ?? unscannable ?? clean;
  if (!worst) throw new Error("no engine was asked");
  return worst;
}
