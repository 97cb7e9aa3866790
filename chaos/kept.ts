import { createHash } from "node:crypto";
import { sampleOf } from "./files.ts";
import type { Breach } from "./judge.ts";
import type { Entry } from "./ledger.ts";
import type { DeadLetter, KeptFinding, KeptJob } from "./queue-view.ts";

export interface Kept {
  entries: Iterable<Entry>;
  deadLetters: readonly DeadLetter[];
  finished: readonly KeptJob[];
  findings: readonly KeptFinding[];
}

/** Whether history and findings tell of every job what became of it: each once, and the truth. */
export function judgeKept({ entries, deadLetters, finished, findings }: Kept): Breach[] {
  const buried = new Set(deadLetters.map(({ job }) => job?.traceId));
  const jobsOf = Map.groupBy(finished, ({ job }) => job?.traceId);
  const findingsOf = Map.groupBy(findings, ({ traceId }) => traceId);
  return [...entries].flatMap((entry) => {
    const { traceId, file } = entry.job;
    const jobs = jobsOf.get(traceId) ?? [];
    const found = findingsOf.get(traceId) ?? [];
    const isDone = !buried.has(traceId) && (entry.acknowledged || jobs.length > 0);
    const breaches = jobs.flatMap((job) => wrongLife(traceId, job));
    if (jobs.length !== (isDone ? 1 : 0)) {
      breaches.push(wrong(traceId, `${isDone ? 1 : 0} in the history`, `${jobs.length}`));
    }
    // Nobody heard what a killer is; one that nobody heard of was perhaps never scanned.
    if (file === "killer" || (!entry.acknowledged && !isDone)) return breaches;
    const expected = expectedOf(file);
    const seen = found.map(({ verdict, finding, sizeBytes, sha256 }) => inWords(verdict, finding, sizeBytes, sha256));
    if (seen.join(" and ") !== expected) breaches.push(wrong(traceId, `the findings: ${expected}`, seen.join(" and ")));
    return breaches;
  });
}

function expectedOf(file: Entry["job"]["file"]): string {
  const { status, finding, bytes } = sampleOf(file);
  if (status === "clean") return "";
  return inWords(status, finding, bytes?.length ?? 0, bytes && createHash("sha256").update(bytes).digest("hex"));
}

function inWords(...words: readonly (string | number | undefined)[]): string {
  return words.join(" ");
}

const MOST_STEPS = 48;

function wrongLife(traceId: string, { life: { steps } }: KeptJob): Breach[] {
  const whats = steps.map(({ what }) => what);
  const inOrder = steps.every(({ at }, place) => at >= (steps[place - 1]?.at ?? 0));
  const isWhole = whats[0] === "accepted" && whats.at(-1) === "done" && whats.lastIndexOf("accepted") === 0;
  if (inOrder && isWhole && whats.includes("taken") && steps.length <= MOST_STEPS) return [];
  return [wrong(traceId, "a life from accepted to done, in order", JSON.stringify(steps))];
}

function wrong(job: string, expected: string, seen: string): Breach {
  return { kind: "kept wrong", job, expected, seen };
}
