import type { Range } from "../blob.ts";

/**
 * Encoded data mostly stands in lines of equal length with a shorter one at its end. A line before it that happens to
 * consist of the same characters would shift all of it. So where lengths disagree, the lines of equal length are a
 * reading of their own, besides the one of all lines together.
 */
export interface LineBlocks {
  /** A line and how many letters it has. */
  line(start: number, end: number, letters: number): void;
  /** What comes next is not the same data. */
  cut(): void;
  /** What comes next is most likely something else: the lines so far are a reading too. */
  pause(): void;
  /** All lines are there. */
  finish(): void;
}

export interface Reading extends Range {
  letters: number;
}

/** Calls `found` for each reading when its last line is there: blocks as they end, all lines together at last. */
export function lineBlocks(found: (reading: Reading) => void): LineBlocks {
  let all: Reading | undefined;
  let block: Reading | undefined;
  let length = 0;
  let short: Reading | undefined;
  let last: Reading | undefined;
  let early = 0;

  function give(reading: Reading): void {
    last = reading;
    found(reading);
  }
  function endBlock(): void {
    if (block) give(short ? joined(block, short) : block);
    block = undefined;
    short = undefined;
  }

  function pause(): void {
    endBlock();
    if (all && !(last?.start === all.start && last.end === all.end)) give(all);
  }

  /**
   * What stands behind a name begins with a shorter line, and a word may follow, with or without pads between: all lines
   * before this one are a reading too.
   */
  function giveBefore(): void {
    if (!all || !block || early === EARLY_AT_MOST) return;
    early += 1;
    if (!short) give(block);
    if (all.start !== block.start) give(all);
  }

  return {
    line(start, end, letters) {
      const line = { start, end, letters };
      if (short || letters < Math.min(length, WORD_LETTERS)) giveBefore();
      if (short && letters <= short.letters) {
        // The shorter line was the last of the block, or the first of the next one.
        const first: Reading = short;
        const before = block;
        endBlock();
        if (before && letters === first.letters) give(before);
        block = letters === first.letters ? joined(first, line) : first;
        short = letters === first.letters ? undefined : line;
        length = first.letters;
      } else if (short || (block && letters > length)) {
        endBlock();
        block = line;
        length = letters;
      } else if (!block) {
        block = line;
        length = letters;
      } else if (letters === length) block = joined(block, line);
      else short = line;
      all = all ? joined(all, line) : line;
    },
    cut() {
      if (short) giveBefore();
      endBlock();
    },
    pause,
    finish() {
      pause();
      all = undefined;
      last = undefined;
      early = 0;
    },
  };
}

/** In each run: these readings begin where it does, and more of them would be read again and again. */
const EARLY_AT_MOST = 3;
/** A shorter line than this may be a word that follows: `END`. */
const WORD_LETTERS = 16;

function joined(first: Reading, second: Reading): Reading {
  return { start: first.start, end: second.end, letters: first.letters + second.letters };
}
