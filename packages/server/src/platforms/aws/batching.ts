/** What became of one entry of a batch. */
export type EntryOutcome<Result> = { kind: "done"; value: Result } | { kind: "failed"; error: unknown };

interface BatchLimits<Entry> {
  /** The most entries that one request takes. */
  largest: number;
  /** What entries weigh, and the most that one request carries of it. */
  weight?: (entry: Entry) => number;
  heaviest?: number;
}

interface BatchOptions<Entry, Result> extends BatchLimits<Entry> {
  /** Asks for all of them at once and answers in their order. Throwing fails all. */
  run(entries: readonly Entry[]): Promise<EntryOutcome<Result>[]>;
}

interface Waiting<Entry, Result> {
  entry: Entry;
  resolve(value: Result): void;
  reject(error: unknown): void;
}

/** Beyond so many, entries wait, and travel in fuller batches: at most for as long as one request takes. */
const REQUESTS_AT_ONCE = 4;

/** Calls that come within one turn of the event loop, or while many requests are under way, share requests. */
export function batched<Entry, Result>(options: BatchOptions<Entry, Result>): (entry: Entry) => Promise<Result> {
  const waiting: Waiting<Entry, Result>[] = [];
  let underWay = 0;
  let scheduled = false;

  function schedule(): void {
    if (scheduled || waiting.length === 0 || underWay >= REQUESTS_AT_ONCE) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      while (waiting.length > 0 && underWay < REQUESTS_AT_ONCE) void send(takeBatch(waiting, options));
    });
  }

  async function send(batch: readonly Waiting<Entry, Result>[]): Promise<void> {
    underWay += 1;
    try {
      const outcomes = await options.run(batch.map(({ entry }) => entry));
      for (const [index, { resolve, reject }] of batch.entries()) {
        const outcome = outcomes[index];
        if (outcome?.kind === "done") resolve(outcome.value);
        else reject(outcome?.error ?? new Error("a batch was answered with too few outcomes"));
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    underWay -= 1;
    schedule();
  }

  return (entry) =>
    new Promise((resolve, reject) => {
      waiting.push({ entry, resolve, reject });
      schedule();
    });
}

/** Takes the first of them out, at least one, and as many more as fit into one request. */
export function takeBatch<Entry, Item extends { entry: Entry }>(waiting: Item[], limits: BatchLimits<Entry>): Item[] {
  const { largest, weight = () => 0, heaviest = Number.POSITIVE_INFINITY } = limits;
  let total = 0;
  let count = 0;
  for (const { entry } of waiting.slice(0, largest)) {
    total += weight(entry);
    if (count > 0 && total > heaviest) break;
    count += 1;
  }
  return waiting.splice(0, count);
}
