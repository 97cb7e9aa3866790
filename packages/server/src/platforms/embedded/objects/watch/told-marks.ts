/** Versions that were told of since the last sweep began, so that the next does not tell of them again. */
export interface ToldMarks {
  has(mark: number): boolean;
  add(mark: number): void;
  sweepBegins(): void;
  /** The sweep has seen all that was told of before it began, and remembers it from now on. */
  sweepEnded(): void;
}

/** Beyond, some are told of twice. */
const MAX_MARKS = 500_000;

export function toldMarks(maxMarks = MAX_MARKS): ToldMarks {
  let before = new Set<number>();
  let since = new Set<number>();
  return {
    has: (mark) => since.has(mark) || before.has(mark),
    add(mark) {
      if (since.size >= maxMarks) since.clear();
      since.add(mark);
    },
    sweepBegins() {
      // What a sweep that failed has left over stays, as long as there is room.
      before = before.size + since.size > maxMarks ? since : before.union(since);
      since = new Set();
    },
    sweepEnded() {
      before = new Set();
    },
  };
}
