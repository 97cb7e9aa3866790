import type { Outcome } from "./chaos.ts";

/** Breaches of one kind that are printed; the rest is counted. */
const SHOWN = 20;

export function inWords(outcome: Outcome): string {
  const { breaches, log } = outcome;
  const share = (100 * outcome.duplicates) / Math.max(1, outcome.delivered);
  const killed = Object.values(outcome.kills).reduce((sum, count) => sum + count, 0);
  const count = (kind: string): number => breaches.filter((breach) => breach.kind === kind).length;
  const lines = [
    `${outcome.platform}, seed ${outcome.seed}, ${outcome.seconds} s`,
    `kills: ${killed} (${listed(outcome.kills)})`,
    `files that kill: ${outcome.killers}, which killed ${outcome.killedByFile} workers`,
    `acknowledged: ${outcome.acknowledged}; unanswered: ${outcome.unanswered}, of which ${outcome.unansweredRun} ran; refused: ${outcome.refused}`,
    `ends: ${outcome.delivered} deliveries, ${outcome.polled} poll results, ${outcome.buried} dead letters`,
    `dead letters: ${outcome.callbackFailed} callback failed, ${outcome.poison} poison`,
    `duplicates: ${outcome.duplicates} (${share.toFixed(2)} % of the deliveries)`,
    `downloads repeated: ${outcome.repeatedDownloads}; after the first callback: ${outcome.ranAgain} jobs`,
    `receivers: ${listed(outcome.receivers)}`,
    `log: ${listed(log)}`,
    `lost: ${count("lost")}, wrong verdicts: ${count("wrong verdict")}, other breaches: ${
      breaches.length - count("lost") - count("wrong verdict")
    }`,
  ];
  for (const [kind, those] of Map.groupBy(breaches, (breach) => breach.kind)) {
    lines.push("", `BROKEN: ${kind}, ${those.length} times (seed ${outcome.seed})`);
    for (const { job, expected, seen } of those.slice(0, SHOWN)) {
      lines.push(`  ${job ?? "-"}: expected ${expected}; seen ${seen}`);
    }
    if (those.length > SHOWN) lines.push(`  and ${those.length - SHOWN} more`);
  }
  return lines.join("\n");
}

function listed(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");
}
