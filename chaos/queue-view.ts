import { askLazaret } from "./lazaret.ts";

/** A dead letter as `lazaret dlq list` shows it. */
export interface DeadLetter {
  id: string;
  reason: string;
  /** Undefined when the job cannot be read. */
  job?: { traceId?: string };
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

export async function deadLetters(env: Env): Promise<DeadLetter[]> {
  const all: DeadLetter[] = [];
  let after: string | undefined;
  do {
    const from = after === undefined ? [] : ["--after", after];
    const page = (await askLazaret(["dlq", "list", ...PAGE, ...from], env)) as Page<DeadLetter>;
    all.push(...page.entries);
    after = page.next;
  } while (after !== undefined);
  return all;
}
