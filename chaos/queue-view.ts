import { askForLines, askLazaret } from "./lazaret.ts";

/** A dead letter as `lazaret dlq list` shows it. */
export interface DeadLetter {
  id: string;
  reason: string;
  /** Undefined when the job cannot be read. */
  job?: { traceId?: string };
}

/** A job that is done, as `lazaret jobs list --state done` shows it. */
export interface KeptJob {
  id: string;
  job?: { traceId?: string };
  life: { steps: readonly { at: number; what: string }[] };
}

/** As `lazaret findings` shows it. */
export interface KeptFinding {
  traceId?: string;
  verdict: string;
  finding: string;
  sizeBytes: number;
  sha256?: string;
}

interface Page<Entry> {
  entries: Entry[];
  next?: string;
}

/** Where the queue is. */
type Env = Readonly<Record<string, string>>;

const PAGE = ["--limit", "1000"];

/** Longer than any job is due while all workers are up and have little to do. */
const GHOST_MS = 120_000;

/**
 * How many jobs wait, are delayed or under way, as `lazaret jobs list` shows them; of many, the newest thousand. On AWS not what
 * has been due for long: an API that dies between table and queue leaves an item without a message, of a job that was not acknowledged.
 */
export async function unfinishedJobs(env: Env): Promise<number> {
  const { entries } = (await askLazaret(["jobs", "list", ...PAGE], env)) as Page<{ state: string; dueAt?: number }>;
  const mayBe = env.LAZARET_PLATFORM === "aws";
  const isGhost = (dueAt = Date.now()): boolean => mayBe && dueAt < Date.now() - GHOST_MS;
  return entries.filter(({ state, dueAt }) => state !== "buried" && !isGhost(dueAt)).length;
}

export function deadLetters(env: Env): Promise<DeadLetter[]> {
  return allOf(["dlq", "list"], env);
}

export function finishedJobs(env: Env): Promise<KeptJob[]> {
  return allOf(["jobs", "list", "--state", "done"], env);
}

export async function keptFindings(env: Env): Promise<KeptFinding[]> {
  return (await askForLines(["findings"], env)) as KeptFinding[];
}

async function allOf<Entry>(command: readonly string[], env: Env): Promise<Entry[]> {
  const all: Entry[] = [];
  let after: string | undefined;
  do {
    const from = after === undefined ? [] : ["--after", after];
    const page = (await askLazaret([...command, ...PAGE, ...from], env)) as Page<Entry>;
    all.push(...page.entries);
    after = page.next;
  } while (after !== undefined);
  return all;
}
