import type { ScanResult } from "../packages/contract/src/index.ts";
import { sampleOf } from "./files.ts";
import type { Entry, Post } from "./ledger.ts";
import type { DeadLetter } from "./queue-view.ts";

/** A promise that was broken. */
export interface Breach {
  kind:
    | "lost"
    | "wrong verdict"
    | "ended twice"
    | "not signed"
    | "changed on the way"
    | "another delivery id"
    | "scanned again"
    | "no stored result"
    | "buried in vain"
    | "not buried"
    | "too many duplicates"
    | "kept wrong"
    | "strange";
  /** The trace id, where it is about one job. */
  job?: string;
  expected: string;
  seen: string;
}

export interface Evidence {
  entries: Iterable<Entry>;
  deadLetters: readonly DeadLetter[];
  /** Second deliveries, as a share of the jobs that were delivered. */
  duplicateShare: number;
  /** A job that is done may run as a whole once more: queue and table of AWS are not written together. */
  mayRunAgain?: boolean;
}

export interface Verdict {
  breaches: Breach[];
  acknowledged: number;
  /** Jobs by how they ended. */
  delivered: number;
  polled: number;
  buried: number;
  /** Dead letters by reason. */
  poison: number;
  callbackFailed: number;
  /** 2xx deliveries after the first of the same job. */
  duplicates: number;
  /** Submissions that were not acknowledged, and those of them that were run all the same. */
  unanswered: number;
  unansweredRun: number;
  /** Downloads after the first of the same job. */
  repeatedDownloads: number;
  /** Jobs whose file was fetched again after their first callback. */
  ranAgain: number;
}

/** Its worker died over it alone, three times. */
const POISON = "poison";
const CALLBACK_FAILED = "scanner:callback-failed";

/** Whether every promise was kept, of all that was seen. No job may still be under way. */
export function judge({ entries, deadLetters, duplicateShare, mayRunAgain = false }: Evidence): Verdict {
  const all = [...entries];
  const letters = new Map(deadLetters.map((letter) => [letter.job?.traceId, letter]));
  const known = new Set(all.map(({ job }) => job.traceId));
  const breaches: Breach[] = all
    .flatMap((entry) => breachesOf(entry, letters.get(entry.job.traceId)))
    .filter(({ kind }) => !(mayRunAgain && kind === "scanned again"));
  for (const { id, job } of deadLetters) {
    if (job?.traceId !== undefined && known.has(job.traceId)) continue;
    breaches.push({ kind: "strange", expected: "dead letters of submitted jobs", seen: `${id}: ${job?.traceId}` });
  }
  if (letters.size < deadLetters.length) {
    breaches.push({
      kind: "strange",
      expected: "one dead letter of a job at most",
      seen: `${deadLetters.length} dead letters of ${letters.size} jobs`,
    });
  }

  const owed = all.filter(({ acknowledged }) => acknowledged);
  const delivered = all.filter((entry) => acceptedOf(entry).length > 0);
  const duplicates = delivered.reduce((sum, entry) => sum + acceptedOf(entry).length - 1, 0);
  if (duplicates > 0 && duplicates >= duplicateShare * delivered.length) {
    breaches.push({
      kind: "too many duplicates",
      expected: `fewer than ${(duplicateShare * 100).toFixed(0)} % of ${delivered.length} deliveries`,
      seen: String(duplicates),
    });
  }
  const unanswered = all.filter(({ acknowledged }) => !acknowledged);
  return {
    breaches,
    acknowledged: owed.length,
    delivered: owed.filter((entry) => acceptedOf(entry).length > 0).length,
    polled: owed.filter(({ job, results }) => job.answer === "poll" && results.length > 0).length,
    buried: owed.filter(({ job }) => letters.has(job.traceId)).length,
    poison: deadLetters.filter(({ reason }) => reason === POISON).length,
    callbackFailed: deadLetters.filter(({ reason }) => reason.startsWith(CALLBACK_FAILED)).length,
    duplicates,
    unanswered: unanswered.length,
    unansweredRun: unanswered.filter(({ downloads }) => downloads > 0).length,
    ranAgain: all.filter(({ downloadsAfterCallback }) => downloadsAfterCallback > 0).length,
    repeatedDownloads: all.reduce((sum, { downloads }) => sum + Math.max(0, downloads - 1), 0),
  };
}

function breachesOf(entry: Entry, letter: DeadLetter | undefined): Breach[] {
  return [
    ...wrongResults(entry),
    ...entry.posts.flatMap((post) => wrongPost(entry, post)),
    ...wrongIds(entry),
    ...wrongEnd(entry, letter),
  ];
}

function wrongResults(entry: Entry): Breach[] {
  return entry.results
    .filter((result) => !isRight(entry, result))
    .map((result) => breach(entry, "wrong verdict", { expected: verdictOf(entry), seen: JSON.stringify(result) }));
}

function wrongPost(entry: Entry, { payload, signed }: Post): Breach[] {
  const found: Breach[] = [];
  const seen = JSON.stringify(payload);
  const { traceId, customData } = entry.job;
  if (!signed) found.push(breach(entry, "not signed", { expected: "a signature that fits", seen }));
  if (!isRight(entry, payload)) found.push(breach(entry, "wrong verdict", { expected: verdictOf(entry), seen }));
  const echoes = { trace_id: traceId, custom_data: customData, download_url: entry.downloadUrl };
  if (Object.entries(echoes).some(([name, value]) => payload[name] !== value)) {
    found.push(breach(entry, "changed on the way", { expected: JSON.stringify(echoes), seen }));
  }
  return found;
}

function wrongIds(entry: Entry): Breach[] {
  const found: Breach[] = [];
  const ids = new Set(entry.posts.map(({ deliveryId }) => deliveryId));
  if (ids.size > 1 || ids.has("")) {
    found.push(breach(entry, "another delivery id", { expected: "one for all POSTs", seen: [...ids].join(", ") }));
  }
  if (entry.downloadsAfterCallback > 0) {
    const seen = `${entry.downloadsAfterCallback} downloads after the first callback`;
    found.push(breach(entry, "scanned again", { expected: "none", seen }));
  }
  return found;
}

function wrongEnd(entry: Entry, letter: DeadLetter | undefined): Breach[] {
  const { answer } = entry.job;
  const deliveries = acceptedOf(entry).length;
  const ends = [
    ...(deliveries > 0 ? [`${deliveries} deliveries`] : []),
    ...(answer === "poll" && entry.results.length > 0 ? ["a poll result"] : []),
    ...(letter ? [`a dead letter (${letter.reason})`] : []),
  ];
  const found: Breach[] = [];
  const expected = answer === "poll" ? "a poll result or a dead letter" : "a 2xx delivery or a dead letter";
  if (entry.acknowledged && ends.length === 0) {
    const seen = `${entry.downloads} downloads, ${entry.posts.length} POSTs, ${entry.results.length} results`;
    found.push(breach(entry, "lost", { expected, seen }));
  }
  if (ends.length > 1) found.push(breach(entry, "ended twice", { expected, seen: ends.join(" and ") }));
  const kills = entry.job.file === "killer";
  if (kills && entry.acknowledged && letter?.reason !== POISON) {
    found.push(breach(entry, "not buried", { expected: "a dead letter as poison", seen: letter?.reason ?? "none" }));
  }
  if (letter && !kills && (answer !== "deaf" || letter.reason === POISON)) {
    const buried = { expected: "a delivery: its receiver takes three of four POSTs", seen: letter.reason };
    if (letter.reason === POISON) buried.expected = "to be no bystander: another file kills";
    found.push(breach(entry, "buried in vain", buried));
  }
  if (entry.posts.length > 0 && entry.results.length === 0) {
    found.push(breach(entry, "no stored result", { expected: "kept before the first callback", seen: "404" }));
  }
  return found;
}

function acceptedOf({ posts }: Entry): Post[] {
  return posts.filter(({ accepted }) => accepted);
}

function isRight({ job }: Entry, seen: Partial<Record<keyof ScanResult, unknown>>): boolean {
  const { status, finding, bytes } = sampleOf(job.file);
  if (seen.status !== status || seen.finding !== finding) return false;
  return bytes ? seen.size === bytes.length : !seen.size;
}

function verdictOf({ job }: Entry): string {
  const { status, finding, bytes } = sampleOf(job.file);
  return `${status}${finding === undefined ? "" : ` (${finding})`} of ${bytes?.length ?? 0} bytes`;
}

function breach({ job }: Entry, kind: Breach["kind"], rest: { expected: string; seen: string }): Breach {
  return { kind, job: job.traceId, ...rest };
}
