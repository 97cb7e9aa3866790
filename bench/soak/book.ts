import { type Expected, wrongAbout } from "./files.ts";

/** Of all that is wrong, so many are kept to be shown; the rest is counted. */
const SHOWN = 20;

interface Entry {
  expected: Expected;
  /** `unanswered` is what the client does not know: it may run or not. */
  state: "sent" | "acknowledged" | "unanswered";
  ended: () => void;
}

/** What was submitted, and what became of it; and all that was not as it should be. */
export interface Book {
  readonly counts: Readonly<Record<"acknowledged" | "unanswered" | "refused" | "ended" | "wrong", number>>;
  /** The first that were wrong. */
  readonly wrong: readonly string[];
  /** Acknowledged jobs that have not ended. */
  readonly owed: number;
  note(wrong: string): void;
  /** Before a job is sent. `ended` resolves when it has. */
  submitting(expected: Expected): { number: number; ended: Promise<void> };
  answered(number: number, how: "acknowledged" | "unanswered" | "refused"): void;
  /** Its result came, by callback or by poll. */
  result(number: number, said: unknown): void;
  /** Writes down what is still owed as lost. */
  close(): void;
}

export function book(): Book {
  const counts = { acknowledged: 0, unanswered: 0, refused: 0, ended: 0, wrong: 0 };
  const wrong: string[] = [];
  const open = new Map<number, Entry>();
  /** Those that have ended: a second result for one of them must be noticed for as long as the run lasts. */
  const over = new Set<number>();
  let last = 0;

  function note(what: string): void {
    counts.wrong += 1;
    if (wrong.length < SHOWN) wrong.push(what);
  }
  const owedOnes = (): [number, Entry][] => [...open].filter(([, { state }]) => state === "acknowledged");

  return {
    counts,
    wrong,
    note,
    get owed() {
      return owedOnes().length;
    },
    submitting(expected) {
      last += 1;
      const { promise, resolve } = Promise.withResolvers<void>();
      open.set(last, { expected, state: "sent", ended: resolve });
      return { number: last, ended: promise };
    },
    answered(number, how) {
      counts[how] += 1;
      const entry = open.get(number);
      if (how === "refused") {
        entry?.ended();
        open.delete(number);
        if (over.has(number)) note(`job ${number} was refused, and run all the same`);
      } else if (entry) entry.state = how;
    },
    result(number, said) {
      const entry = open.get(number);
      if (!entry) {
        note(over.has(number) ? `job ${number} ended twice` : `job ${number} ended, and was never accepted`);
        return;
      }
      open.delete(number);
      over.add(number);
      counts.ended += 1;
      const wrongResult = wrongAbout(entry.expected, said);
      if (wrongResult) note(`job ${number}: ${wrongResult}`);
      entry.ended();
    },
    close() {
      for (const [number] of owedOnes()) note(`job ${number} was acknowledged, and has not ended`);
    },
  };
}
